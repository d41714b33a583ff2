package rendezvous

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is a connection that carries lines in both directions once a process has registered.
// Each end sends an empty line now and then: a link on which nothing arrives is closed.
type link struct {
	net.Conn
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
	n, err := l.Conn.Read(p)
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

// newLines reads lines of at most limit bytes. Of a long line, which comes in many parts, each part is
// searched for its end once.
func newLines(from io.Reader, limit int) *bufio.Scanner {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, limit)
	searched := 0
	lines.Split(func(data []byte, _ bool) (int, []byte, error) { // no part of a line at the end
		at := bytes.IndexByte(data[searched:], '\n')
		if at < 0 {
			searched = len(data)
			return 0, nil, nil
		}
		at, searched = searched+at, 0
		return at + 1, bytes.TrimSuffix(data[:at], []byte("\r")), nil
	})
	return lines
}

// readLines calls do with each line, until do fails.
func readLines(lines *bufio.Scanner, do func([]byte) error) error {
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
