package rendezvous

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// hub holds the processes that are connected to this one, each by a link that lasts as long as the
// run.
type hub struct {
	// The function `heard` is called with each line from a process, by one goroutine per process.
	// err means that the line could not be read.
	heard func(process int, text []byte, err error)
	// The function `arrived` is called when a process is connected and ready for orders.
	arrived func(process int)
	// The function `left` is called once when a process that was not told to leave is gone.
	left func(process int, why string)
	// heartbeat is the longest allowed silence of a link.
	heartbeat time.Duration
	// limit is the longest allowed line in bytes.
	limit int

	mu      sync.Mutex
	members map[int]*member
	// `started` is true once no member may register again; `ending` is true once members may leave.
	started, ending bool
	streams         sync.WaitGroup
}

// member is one process that is connected to a hub.
type member struct {
	process int
	session string
	lines   chan []byte     // the lines to write
	kept    context.Context // ends when the hub drops the member
	quit    context.CancelFunc
}

// maxQueued is the largest number of lines in the queue of a process. Normally at most an order, a
// cancellation and the end wait there; the rest is reserve.
const maxQueued = 8

// add adds a process that registers. If the same process registers again after its connection was
// cut, the new member replaces the old one. The method returns nil if the process belongs to
// another session or is too late.
func (h *hub) add(process int, session string) *member {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.members[process]
	if h.started || h.ending || old != nil && old.session != session {
		return nil
	}
	if old != nil {
		h.remove(old)
	}
	if h.members == nil {
		h.members = map[int]*member{}
	}
	m := &member{process: process, session: session, lines: make(chan []byte, maxQueued)}
	m.kept, m.quit = context.WithCancel(context.Background())
	h.streams.Add(1)
	h.members[process] = m
	return m
}

// remove removes a member. It returns false if the member was already gone. The caller holds h.mu.
func (h *hub) remove(m *member) bool {
	if h.members[m.process] != m {
		return false
	}
	delete(h.members, m.process)
	m.quit()
	h.streams.Done()
	return true
}

// drop removes a member whose connection has ended.
func (h *hub) drop(m *member, why string) {
	h.mu.Lock()
	known, ending := h.remove(m), h.ending
	h.mu.Unlock()
	if known && !ending {
		h.left(m.process, why)
	}
}

// forget removes a process that is refused, or that is already lost.
func (h *hub) forget(process int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.members[process]; m != nil {
		h.remove(m)
	}
}

// broadcast queues a line for all members.
func (h *hub) broadcast(text []byte) { h.queue(text, func(int) bool { return true }) }

// send queues a line for one member, if the member exists.
func (h *hub) send(process int, text []byte) {
	h.queue(text, func(of int) bool { return of == process })
}

func (h *hub) queue(text []byte, to func(process int) bool) {
	h.mu.Lock()
	var full []*member
	for _, m := range h.members {
		if !to(m.process) {
			continue
		}
		select {
		case m.lines <- text:
		default:
			full = append(full, m)
		}
	}
	h.mu.Unlock()
	for _, m := range full {
		h.drop(m, "it does not read its messages")
	}
}

// reply queues a line for one member. It waits as long as the queue is full.
func (h *hub) reply(process int, text []byte) {
	h.mu.Lock()
	m := h.members[process]
	h.mu.Unlock()
	if m == nil {
		return
	}
	select {
	case m.lines <- text:
	case <-m.kept.Done():
	}
}

// cut closes all members' connections.
func (h *hub) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.members {
		h.remove(m)
	}
}

// start queues the line that starts the run.
func (h *hub) start(text []byte) {
	h.mu.Lock()
	h.started = true
	h.mu.Unlock()
	h.broadcast(text)
}

// processes() returns the numbers of all members.
func (h *hub) processes() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.members))
}

// end() queues the last line. Members that then leave are not lost.
func (h *hub) end(text []byte) {
	h.mu.Lock()
	h.ending = true
	h.mu.Unlock()
	h.broadcast(text)
}

// drained() waits until no member is connected, but at most for the given time.
func (h *hub) drained(most time.Duration) {
	done := make(chan struct{})
	go func() { h.streams.Wait(); close(done) }()
	await(done, most)
}

// await waits until a channel is closed, but at most for the given time.
func await(closed <-chan struct{}, most time.Duration) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-closed:
	case <-late.C:
	}
}

// serve carries the lines of a member in both directions. It returns when either end is gone.
func (h *hub) serve(m *member, l *link, lines *bufio.Scanner) {
	h.arrived(m.process)
	context.AfterFunc(m.kept, func() { _ = l.Close() })
	go l.keep(m.kept)
	ended := make(chan string, 1)
	go func() { ended <- h.read(m, l, lines) }()
	for {
		select {
		case text := <-m.lines:
			if _, err := l.Write(text); err != nil {
				_ = l.Close() // so that the reader ends
				h.drop(m, <-ended)
				return
			}
		case why := <-ended:
			h.drop(m, why)
			return
		case <-m.kept.Done():
			return
		}
	}
}

// read passes on the lines from a member. It returns the reason why there are no more lines.
func (h *hub) read(m *member, l *link, lines *bufio.Scanner) string {
	err := readLines(lines, func(text []byte) error {
		if string(text) == farewell {
			return errFarewell
		}
		h.heard(m.process, text, nil)
		return nil
	})
	switch {
	case errors.Is(err, errFarewell):
		return "it left before the end of the run"
	case errors.Is(err, bufio.ErrTooLong):
		h.heard(m.process, nil, err)
		return "a message of it is longer than the limit"
	case l.silent.Load():
		return "no heartbeat for " + h.heartbeat.String()
	case err == nil || errors.Is(err, io.ErrUnexpectedEOF): // the other end closed the connection; TLS reports this as an unexpected end
		return "its connection ended"
	}
	return "its connection failed: " + err.Error()
}

// after() calls `do` once the given time has passed, unless cancel is called first.
func after(wait time.Duration, do func()) (cancel func()) {
	timer := time.AfterFunc(wait, do) //nolint:forbidigo // it reads no clock
	return func() { timer.Stop() }
}
