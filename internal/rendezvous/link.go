package rendezvous

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// link is a connection that carries lines in both directions once HTTP has handed it over.
// Each end sends an empty line now and then: a link on which nothing arrives is closed.
type link struct {
	net.Conn
	in     io.Reader
	within time.Duration // the heartbeat

	writing sync.Mutex
	heard   atomic.Bool // since the last tick
	silent  atomic.Bool // it was closed because nothing arrived
}

// ticks is the number of a link's ticks in a heartbeat. An end sends at every second tick. It gives
// the other end up after missedTicks without a byte: between 5/6 of a heartbeat and a whole one.
const (
	ticks       = 6
	missedTicks = ticks - 1
)

// farewell is the last line of a process that leaves on its own.
const farewell = "{}"

var errFarewell = errors.New("it leaves")

func (l *link) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if n > 0 {
		l.heard.Store(true)
	}
	return n, err
}

func (l *link) Write(p []byte) (int, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.Conn.Write(p)
}

// keep sends heartbeats and watches for those of the other end until ctx ends.
func (l *link) keep(ctx context.Context) {
	tick := time.NewTicker(max(l.within/ticks, time.Millisecond))
	defer tick.Stop()
	for n, missed := 1, 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if missed++; l.heard.Swap(false) {
			missed = 0
		}
		if missed == missedTicks {
			l.silent.Store(true)
			_ = l.Close() // its reader tells
			return
		}
		if n%2 == 0 {
			go l.beat() // it can wait for the other end to read
		}
	}
}

// beat sends an empty line, unless another message is being written.
func (l *link) beat() {
	if l.writing.TryLock() {
		defer l.writing.Unlock()
		_, _ = l.Conn.Write([]byte{'\n'}) // the reader tells of a failure
	}
}

// upgrade is the protocol that both ends change to after the request for a stream.
const upgrade = "zbench"

// takeOver takes a request's connection from HTTP.
func takeOver(w http.ResponseWriter, within time.Duration) (*link, error) {
	conn, buffers, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	early, _ := buffers.Peek(buffers.Reader.Buffered()) // no more than there is
	l := &link{Conn: conn, in: conn, within: within}
	if len(early) > 0 {
		l.in = io.MultiReader(bytes.NewReader(early), conn)
	}
	_, err = io.WriteString(l, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+upgrade+"\r\n\r\n")
	return l, err
}

// readLines calls do with each line of at most limit bytes, until do fails.
func readLines(from io.Reader, limit int, do func([]byte) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, limit)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) { return bufio.ScanLines(data, false) }) // no part of a line
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := do(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
