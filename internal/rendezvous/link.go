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

// link carries lines in both directions once a process has registered. Each end regularly sends an
// empty line. A link that is silent too long is closed.
type link struct {
	net.Conn
	within time.Duration // the heartbeat

	writing sync.Mutex
	heard   atomic.Bool // data arrived since the last tick
	silent  atomic.Bool // the link was closed because it was silent
}

// ticks is the number of ticks per heartbeat. An end sends at every second tick. It closes the link
// after missedTicks ticks without a byte, that is, after 5/6 to 6/6 of a heartbeat.
const (
	ticks       = 6
	missedTicks = ticks - 1
)

// farewell is the last line of a process that leaves by itself.
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

// keep() sends heartbeats and watches for the other end's heartbeats, until ctx ends.
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
			_ = l.Close() // the reader reports the end
			return
		}
		if n%2 == 0 {
			go l.beat() // in a goroutine, because it may block until the other end reads
		}
	}
}

// beat sends an empty line, unless another message is just being written.
func (l *link) beat() {
	if l.writing.TryLock() {
		defer l.writing.Unlock()
		_, _ = l.Conn.Write([]byte{'\n'}) // the reader reports a failure
	}
}

// newLines returns a reader of lines of at most `limit` bytes. A long line arrives in many
// parts; each part is searched only once for the line's end.
func newLines(from io.Reader, limit int) *bufio.Scanner {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, limit)
	searched := 0
	lines.Split(func(data []byte, _ bool) (int, []byte, error) { // an incomplete line at the end is dropped
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

// readLines calls `do` for each line until `do` returns an error.
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
