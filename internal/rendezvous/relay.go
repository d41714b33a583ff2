package rendezvous

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"zbench/bench/plan"
)

// errRelay is that a node's first process cannot gather the others.
var errRelay = errors.New("the processes of this node cannot be gathered")

// Reports wait this long for those of the other processes of the node, and go in
// messages of about this many bytes.
const (
	gatherTime  = 200 * time.Millisecond
	gatherBytes = maxUp / 4
)

// heldReport is a report that waits for others. The leader refuses one that cannot be read.
type heldReport struct {
	reportOf
	read plan.Report
	bad  bool
}

// hold reads a report.
func hold(one reportOf) heldReport {
	h := heldReport{reportOf: one}
	h.bad = h.read.UnmarshalJSON(one.Report) != nil
	return h
}

// join makes one report of those of all processes, if they can travel as one.
func join(held []heldReport) []reportOf {
	var all []plan.Report
	apart := make([]reportOf, len(held))
	slices.SortFunc(held, func(a, b heldReport) int { return cmp.Compare(a.Process, b.Process) })
	for i, h := range held {
		apart[i] = h.reportOf
		if !h.bad {
			all = append(all, h.read)
		}
	}
	if len(all) < len(held) || !plan.Joinable(all) {
		return apart
	}
	one := reportOf{Process: held[0].Process}
	for _, h := range held[1:] {
		one.With = append(one.With, h.Process)
	}
	var err error
	if one.Report, err = json.Marshal(plan.Join(all)); err != nil || len(one.Report) > plan.MaxReport {
		return apart
	}
	return []reportOf{one}
}

// relay gathers the processes of a node: it passes the leader's lines on to them, and
// sends their reports in one message. It is a hub between them and the leader, which
// decides on each registration.
type relay struct {
	follower *Follower
	hub      *hub
	server   *server
	refused  refusals

	mu      sync.Mutex
	number  int          // of the order that the reports answer
	waiting map[int]bool // processes that have not reported
	held    []heldReport
	bytes   int
	onTime  func() // set while reports wait for others
}

func newRelay(f *Follower) (*relay, error) {
	r := &relay{follower: f}
	r.hub = &hub{heard: r.heard, arrived: r.arrived, left: r.left, heartbeat: f.options.Heartbeat, limit: plan.MaxReport + maxHello}
	var err error
	if r.server, err = newServer(f.options, r.hub, &r.refused, r.register); err != nil {
		return nil, err
	}
	l, err := f.options.Listen(f.request, "unix", f.options.Relay)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; is another process the first of this node?", errRelay, err)
	}
	r.server.listen(l)
	return r, nil
}

// register asks the leader to accept a process.
func (r *relay) register(ctx context.Context, in registration) *Refused {
	// It is added first: the leader can start the run before its answer is here.
	if !r.hub.add(in.Process, in.Session) {
		return refuse(Duplicate, "process %d is connected already: two processes have the same number", in.Process)
	}
	in.Via = &r.follower.options.Self.Process
	err := r.follower.register(ctx, in)
	if err == nil {
		return nil
	}
	r.hub.forget(in.Process)
	no, ok := errors.AsType[*Refused](err)
	if !ok {
		no = refuse(NotRegistered, "process %d did not reach the leader: %v", r.follower.options.Self.Process, err)
	}
	return no
}

// pass hands a line of the leader on.
func (r *relay) pass(message down, order plan.Order, text []byte) {
	switch {
	case message.Start != nil:
		r.hub.start(text)
	case message.End != "" || order.Do == plan.DoEnd:
		r.hub.end(text)
	case message.Order != nil:
		r.begin(message.Number)
		r.hub.broadcast(text)
	case message.Each != nil:
		r.begin(message.Number)
		for _, one := range message.Each {
			if text, err := line(down{Number: message.Number, Order: one.Order}); err == nil {
				r.hub.send(one.Process, text)
			}
		}
	default:
		r.hub.broadcast(text)
	}
}

func (r *relay) begin(number int) {
	processes := r.hub.processes()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number, r.held, r.bytes = number, nil, 0
	r.waiting = map[int]bool{r.follower.options.Self.Process: true}
	for _, p := range processes {
		r.waiting[p] = true
	}
}

// collect keeps a report until all are there, the message is full, or time is up.
func (r *relay) collect(number int, one reportOf) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number != r.number || !r.waiting[one.Process] {
		no := refuse(NotExpected, "process %d reports on order %d a second time, or too late", one.Process, number)
		r.refused.add(no)
		return nil
	}
	delete(r.waiting, one.Process)
	r.held = append(r.held, hold(one))
	r.bytes += len(one.Report)
	if len(r.waiting) == 0 || r.bytes > gatherBytes {
		return r.forward()
	}
	if r.onTime == nil {
		r.onTime = after(gatherTime, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			_ = r.forward() // the stream's end is told to Next
		})
	}
	return nil
}

// forward sends the reports; r.mu is held.
func (r *relay) forward() error {
	if r.onTime != nil {
		r.onTime()
		r.onTime = nil
	}
	if len(r.held) == 0 {
		return nil
	}
	message := up{Number: r.number, Reports: join(r.held)}
	r.held, r.bytes = nil, 0
	return r.follower.send(message)
}

// heard takes a line of a process.
func (r *relay) heard(process int, text []byte, err error) {
	var message up
	if err == nil {
		message, err = readUp(text)
	}
	if err != nil {
		r.refused.add(refuse(Malformed, "process %d: a message cannot be read: %v", process, err))
		r.mu.Lock()
		number := r.number
		r.mu.Unlock()
		bad, _ := json.Marshal(plan.Unreadable(err)) // a report of text can be written
		_ = r.collect(number, reportOf{Process: process, Report: bad})
		return
	}
	for _, one := range message.Reports {
		one.Process = process // it speaks for itself alone
		_ = r.collect(message.Number, one)
	}
	if len(message.Stop) > 0 {
		_ = r.follower.send(up{Stop: []int{process}}) // the stream's end is told to Next
	}
}

// arrived tells the leader that a process is connected.
func (r *relay) arrived(process int) {
	_ = r.follower.send(up{Here: []int{process}}) // the stream's end is told to Next
}

// lost passes on that the leader is gone: the other processes of the node have no
// connection to it that would tell.
func (r *relay) lost(err error) {
	if text, failed := line(down{End: err.Error()}); failed == nil {
		r.hub.end(text)
	}
}

// left tells the leader of a process that is gone.
func (r *relay) left(process int, why string) {
	_ = r.follower.send(up{Lost: []Loss{{Process: process, Why: why}}})
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, process)
	if len(r.waiting) == 0 {
		_ = r.forward()
	}
}
