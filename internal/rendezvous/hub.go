package rendezvous

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// hub is the processes that are connected to this one. Each has one request that lasts
// as long as the run: its body carries lines to the leader, its answer lines from it.
type hub struct {
	// heard is called with each line of a process, by one goroutine of the process. The
	// error is that of a line that cannot be read.
	heard func(process int, text []byte, err error)
	// arrived is called when a process has connected for orders.
	arrived func(process int)
	// left is called once when a process that was not told to leave is gone.
	left func(process int, why string)
	// heartbeat is the longest time from a hello to its stream.
	heartbeat time.Duration
	// limit is the length of a line in bytes.
	limit int

	mu      sync.Mutex
	members map[int]*member
	// started is true once no member may register again, ending once members may leave.
	started, ending bool
	streams         sync.WaitGroup
}

// member is one process of a hub.
type member struct {
	process  int
	session  string
	lines    chan []byte // to be written
	attached bool
	kept     context.Context // ends when the hub drops it
	quit     context.CancelFunc
	onTime   func() // stops the timer of a member that does not attach
}

// maxQueued is the most lines that wait for one process: an order, a cancellation, the
// end, and as many again.
const maxQueued = 8

// add takes a process that has registered. It replaces the same process, which
// registers again after a cut; false if it is of another session or too late.
func (h *hub) add(process int, session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.members[process]
	switch {
	case old != nil && old.session != session:
		return false
	case old != nil && !old.attached:
		return true // the answer to its registration was lost
	case h.started:
		return false
	case old != nil:
		h.remove(old)
	}
	if h.members == nil {
		h.members = map[int]*member{}
	}
	m := &member{process: process, session: session, lines: make(chan []byte, maxQueued)}
	m.kept, m.quit = context.WithCancel(context.Background())
	m.onTime = after(h.heartbeat, func() { h.drop(m, "it registered, but did not connect for orders") })
	h.members[process] = m
	return true
}

// remove forgets a member; h.mu is held.
func (h *hub) remove(m *member) bool {
	if h.members[m.process] != m {
		return false
	}
	delete(h.members, m.process)
	m.onTime()
	m.quit()
	return true
}

// drop removes a member that is gone.
func (h *hub) drop(m *member, why string) {
	h.mu.Lock()
	known, ending := h.remove(m), h.ending
	h.mu.Unlock()
	if known && !ending {
		h.left(m.process, why)
	}
}

// forget removes a process that is refused, or lost already.
func (h *hub) forget(process int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.members[process]; m != nil {
		h.remove(m)
	}
}

// broadcast queues a line for all members.
func (h *hub) broadcast(text []byte) { h.queue(text, func(int) bool { return true }) }

// send queues a line for one member, if it is there.
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

// reply queues a line for one member and waits while its queue is full.
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

// cut drops all members. Closing the HTTP server does not: it has handed their connections over.
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

// processes are the numbers of all members.
func (h *hub) processes() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.members))
}

// end queues the last line. Members that leave after it are not lost.
func (h *hub) end(text []byte) {
	h.mu.Lock()
	h.ending = true
	h.mu.Unlock()
	if text != nil {
		h.broadcast(text)
	}
}

// drained waits until no member is connected, or for the time to pass.
func (h *hub) drained(most time.Duration) {
	done := make(chan struct{})
	go func() { h.streams.Wait(); close(done) }()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// attach connects a request to the member that it is of.
func (h *hub) attach(r *http.Request) (*member, *Refused) {
	process, err := strconv.Atoi(r.PathValue("process"))
	if err != nil {
		return nil, refuse(Malformed, "%q is not the number of a process", r.PathValue("process"))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.members[process]
	switch {
	case h.ending:
		return nil, refuse(NotExpected, "the run has ended")
	case m == nil:
		return nil, refuse(NotRegistered, "process %d is not registered", process)
	case m.session != r.PathValue("session") || m.attached:
		return nil, refuse(Duplicate, "process %d is connected already: two processes have the same number", process)
	}
	m.attached = true
	m.onTime()
	h.streams.Add(1)
	return m, nil
}

// serve is the handler of a member's request. It returns when either end is gone.
func (h *hub) serve(w http.ResponseWriter, r *http.Request, refused *refusals) {
	m, no := h.attach(r)
	if no != nil {
		refused.answer(w, r.RemoteAddr, no)
		return
	}
	defer h.streams.Done()
	h.arrived(m.process)
	l, err := takeOver(w, h.heartbeat)
	if err != nil {
		h.drop(m, "its connection failed: "+err.Error())
		return
	}
	defer func() { _ = l.Close() }() // the other end may have closed it
	context.AfterFunc(m.kept, func() { _ = l.Close() })
	go l.keep(m.kept)
	ended := make(chan string, 1)
	go func() { ended <- h.read(m, l) }()
	for {
		select {
		case text := <-m.lines:
			if _, err := l.Write(text); err != nil {
				_ = l.Close() // so that its reader ends
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

// read passes the lines of a member on and returns why there are no more.
func (h *hub) read(m *member, l *link) string {
	err := readLines(l, h.limit, func(text []byte) error {
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
	case err == nil || errors.Is(err, io.ErrUnexpectedEOF): // TLS misses its own end
		return "its connection ended"
	}
	return "its connection failed: " + err.Error()
}

// after calls do when the time has passed, unless cancel was called.
func after(wait time.Duration, do func()) (cancel func()) {
	timer := time.AfterFunc(wait, do) //nolint:forbidigo // it reads no clock
	return func() { timer.Stop() }
}
