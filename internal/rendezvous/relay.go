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

	"zbench/bench/base/exit"
	"zbench/bench/run/plan"
)

// errRelay is the error of the first process of a node if it cannot gather the node's other
// processes.
var errRelay = errors.New("the processes of this node cannot be gathered")

// A report that is not a failure waits gatherTime for the reports of the node's other processes.
// They are sent in messages of about gatherBytes bytes.
const (
	gatherTime  = 2 * time.Second
	gatherBytes = maxUp / 4
)

// relay gathers the processes of a node. It passes the leader's lines on to them, and sends their
// reports to the leader in one message. It is a hub between them and the leader. The leader decides
// on each registration.
type relay struct {
	follower *Follower
	hub      *hub
	server   *server
	refused  refusals

	mu      sync.Mutex
	number  int          // number of the order on which the reports report
	waiting map[int]bool // processes that have not reported
	held    up           // reports that wait to be sent
	bytes   int
	onTime  func()                  // stops the timer of the waiting reports; nil if there is no timer
	asked   map[int]chan<- *Refused // channels for the answers to registrations, by id
	ids     int
}

func newRelay(f *Follower) (*relay, error) {
	r := &relay{follower: f, asked: map[int]chan<- *Refused{}}
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
func (r *relay) register(ctx context.Context, in registration) (*member, *Refused) {
	// The process is added first, because the leader may start the run before the answer arrives.
	m := r.hub.add(in.Process, in.Session)
	if m == nil {
		return nil, refuse(Duplicate, "process %d is connected already: two processes have the same number", in.Process)
	}
	no := r.ask(ctx, in)
	if no != nil {
		r.hub.forget(in.Process)
	}
	return m, no
}

// ask passes a registration on to the leader and waits for the answer.
func (r *relay) ask(ctx context.Context, in registration) *Refused {
	f := r.follower
	answer := make(chan *Refused, 1)
	r.mu.Lock()
	r.ids++
	id := r.ids
	r.asked[id] = answer
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.asked, id)
		r.mu.Unlock()
	}()
	late := time.NewTimer(max(f.options.Handshake, f.options.Heartbeat/2))
	defer late.Stop()
	text, err := json.Marshal(in)
	if err == nil {
		err = f.send(up{Register: []registrationOf{{id, text}}})
	}
	if err == nil {
		select {
		case no := <-answer:
			return no
		case <-late.C:
			err = errors.New("no answer")
		case <-f.ctx.Done():
			err = context.Cause(f.ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return refuse(NotRegistered, "process %d did not reach the leader: %v", f.options.Self.Process, err)
}

// answered() hands the leader's answers to the registrations that wait for them.
func (r *relay) answered(all []answerTo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range all {
		if answer := r.asked[one.ID]; answer != nil {
			delete(r.asked, one.ID)
			answer <- one.Refused
		}
	}
}

// pass passes a line from the leader on to the processes of the node.
func (r *relay) pass(message down, order plan.Order, text []byte) {
	switch {
	case message.Answers != nil:
		r.answered(message.Answers)
	case message.Start != nil:
		r.hub.start(text)
	case message.End != "" || order.Ends():
		r.hub.end(text)
	case message.Order != nil:
		r.begin(message.Number)
		r.hub.broadcast(text)
	case message.Each != nil:
		r.begin(message.Number)
		for _, one := range message.Each {
			r.hub.send(one.Process, down{Number: message.Number, Order: one.Order}.line())
		}
	default:
		r.hub.broadcast(text)
	}
}

func (r *relay) begin(number int) {
	processes := r.hub.processes()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number, r.held, r.bytes = number, up{Number: number}, 0
	r.waiting = map[int]bool{r.follower.options.Self.Process: true}
	for _, p := range processes {
		r.waiting[p] = true
	}
}

// collect keeps the report of a process until all reports are there, the message is full, or the
// time is up. Reports with only times are merged.
func (r *relay) collect(process int, message up) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if message.Number != r.number || !r.waiting[process] || len(message.Reports)+len(message.Joined) != 1 {
		r.refused.add(refuse(NotExpected, "process %d reports on order %d a second time, or too late", process, message.Number))
		return
	}
	delete(r.waiting, process)
	now := len(r.waiting) == 0
	for _, one := range message.Reports {
		now = now || urgent(one.Report)
		r.held.Reports = append(r.held.Reports, reportOf{process, one.Report}) // a process may report only for itself
		r.bytes += len(one.Report)
	}
	for _, one := range message.Joined {
		r.held.Joined = append(r.held.Joined, joinedOf{[]int{process}, one.Joined})
		r.bytes += 8 * len(one.Seconds)
	}
	if now || r.bytes > gatherBytes {
		_ = r.forward() // on an error Next returns the end of the stream
		return
	}
	if r.onTime == nil {
		r.onTime = after(gatherTime, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			_ = r.forward() // on an error Next returns the end of the stream
		})
	}
}

// urgent() reports whether the leader needs a report before the other reports, because the other
// reports may be waiting for this one.
func urgent(report json.RawMessage) bool {
	var r plan.Report
	return r.UnmarshalJSON(report) != nil || r.Failure != nil
}

// forward sends the waiting reports. The caller holds r.mu.
func (r *relay) forward() error {
	if r.onTime != nil {
		r.onTime()
		r.onTime = nil
	}
	message := r.held
	if len(message.Reports)+len(message.Joined) == 0 {
		return nil
	}
	r.held, r.bytes = up{Number: r.number}, 0
	message.Joined = join(message.Joined)
	return r.follower.send(message)
}

// join merges reports of single processes, if all have the same number of times.
func join(all []joinedOf) []joinedOf {
	if len(all) == 0 || slices.ContainsFunc(all, func(j joinedOf) bool { return len(j.Seconds) != len(all[0].Seconds) }) {
		return all
	}
	slices.SortFunc(all, func(a, b joinedOf) int { return cmp.Compare(a.Processes[0], b.Processes[0]) })
	one := all[0]
	for _, j := range all[1:] {
		one = joinedOf{append(one.Processes, j.Processes...), one.With(j.Joined)}
	}
	return []joinedOf{one}
}

// heard() handles a line from a process.
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
		bad, _ := json.Marshal(plan.Failing(plan.FailedOrder, err.Error())) // writing a report of text cannot fail
		r.collect(process, up{Number: number, Reports: []reportOf{{process, bad}}})
		return
	}
	if len(message.Reports)+len(message.Joined) > 0 {
		r.collect(process, message)
	}
	if len(message.Present) == 1 {
		message.Present[0].Process = process // a process may answer only for itself
		_ = r.follower.send(up{Roll: message.Roll, Present: message.Present})
	}
	if len(message.Stop) > 0 {
		_ = r.follower.send(up{Stop: []int{process}}) // on an error Next returns the end of the stream
	}
}

// arrived() tells the leader that a process is connected.
func (r *relay) arrived(process int) {
	_ = r.follower.send(up{Here: []int{process}}) // on an error Next returns the end of the stream
}

// lost() tells the processes of the node that the leader is gone, because these processes have no
// connection to the leader.
func (r *relay) lost(err error) {
	r.hub.end(down{End: err.Error(), Code: exit.Run}.line())
}

// left() tells the leader that a process is gone.
func (r *relay) left(process int, why string) {
	_ = r.follower.send(up{Lost: []Loss{{Process: process, Why: why}}})
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, process)
	if len(r.waiting) == 0 {
		_ = r.forward()
	}
}
