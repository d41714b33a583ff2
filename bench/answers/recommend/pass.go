// A pass of a training step: computation goes through the parameters, messages are launched on the way, and
// one network carries them by the rule of [Flight]. [NewPass] fixes the order of events once; [Pass.End]
// runs the events for any times.

package recommend

import (
	"cmp"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
)

// Direction of a pass over the boundaries between parameters.
type Direction bool

// A pass in the direction Forward begins at boundary 0. A pass in the direction Backward ends at boundary 0.
const (
	Forward  Direction = false
	Backward Direction = true
)

// Pass holds the events of one pass in order.
type Pass struct {
	events   []event
	messages int
	done     []float64
	// `in` holds the queues of each message; nil if all messages belong to one communicator.
	in []queued
}

// event is a launch or a wait of a message at a boundary. `message` is the message's index for a launch,
// and the complement of the index for a wait. This saves memory: a question holds millions of events.
type event struct {
	boundary, message int32
}

func (e event) wait() bool { return e.message < 0 }

func (e event) index() int32 {
	if e.wait() {
		return ^e.message
	}
	return e.message
}

// NewPass puts the launches and waits of messages in order. done[p] is the share of the pass's computation
// that is finished at boundary p. At one boundary the events of an earlier message come first, the launch
// before the wait. This is the order of a trainer that waits for one message and then launches the next
// message.
func NewPass(messages []trainer.Message, done []float64, d Direction) Pass {
	waits := slice.Count(messages, func(m trainer.Message) bool { return m.Wait != trainer.Never })
	all := make([]event, 0, len(messages)+waits)
	for i, m := range messages {
		all = append(all, event{int32(m.Launch), int32(i)})
		if m.Wait != trainer.Never {
			all = append(all, event{int32(m.Wait), ^int32(i)})
		}
	}
	order := func(a, b event) int {
		x, y := a, b
		if d == Backward {
			x, y = b, a
		}
		return cmp.Or(cmp.Compare(x.boundary, y.boundary), cmp.Compare(a.index(), b.index()))
	}
	if !slices.IsSortedFunc(all, order) { // most trainers' calls are already in order
		slices.SortStableFunc(all, order)
	}
	return Pass{events: all, messages: len(messages), done: done, in: queuesOf(messages)}
}

// queued holds the queues of a message's communicator and stream. `follows` is true if the message uses the
// result of the previous message.
type queued struct {
	comms, stream int8
	follows       bool
}

// queuesOf finds the queues of messages of several communicators. Communicators of the same number of ranks
// count as one.
func queuesOf(messages []trainer.Message) (all []queued) {
	if !slices.ContainsFunc(messages, func(m trainer.Message) bool { return m.Ranks != messages[0].Ranks }) {
		return nil
	}
	var ranks []int
	for k, m := range messages {
		i := slices.Index(ranks, m.Ranks)
		if i < 0 {
			i, ranks = len(ranks), append(ranks, m.Ranks)
		}
		all = append(all, queued{int8(queues - 1 - i), int8(m.Stream), m.Follows && k > 0})
	}
	return all
}

// Shares returns the argument `done` of [NewPass]: the share of the computation that is finished at each
// boundary. If all work is 0, the computation counts as spread evenly.
func Shares(work []float64, d Direction) []float64 {
	total := slice.Sum(work, func(w float64) float64 { return w })
	weight := func(i int) float64 {
		if total == 0 {
			return 1 / float64(len(work))
		}
		return work[i] / total
	}
	done := make([]float64, len(work)+1)
	if d == Forward {
		for i := range work {
			done[i+1] = done[i] + weight(i)
		}
		return done
	}
	for i := len(work) - 1; i >= 0; i-- {
		done[i] = done[i+1] + weight(i)
	}
	return done
}

// End returns the time at which both computation and network have finished, in seconds from the start of the
// pass. cost is the time of each message alone.
func (p Pass) End(t Times, cost []float64) float64 {
	all := []Times{t}
	p.run(all, cost, new([]float64))
	return all[0].clock
}

// run processes the events in several scenarios side by side. In one scenario each event waits for the
// previous event. Other scenarios keep the processor busy meanwhile. It stores the end of the pass in each
// scenario's clock. `space` holds the end of each message. The old contents of space do not matter, because
// a message is launched before the pass waits for it.
func (p Pass) run(all []Times, cost []float64, space *[]float64) {
	n := len(all)
	*space = slices.Grow((*space)[:0], n*p.messages)[:n*p.messages]
	done, sends := 0.0, int8(0)
	for _, e := range p.events {
		if behind := p.done[e.boundary]; behind != done {
			compute(all, behind-done)
			done = behind
		}
		through := (*space)[int(e.index())*n:][:len(all)]
		if e.wait() {
			for k, end := range through {
				if t := &all[k]; t.clock < end {
					t.clock = end
				}
			}
			continue
		}
		alone := cost[e.message]
		for k := range all {
			t := &all[k]
			seconds, latency := t.Slow*alone+t.Each, t.Slow*t.Shared
			switch {
			case latency == 0:
				through[k] = t.sent.Send(t.clock, seconds, 0)
			case p.in == nil: // the library has two queues per communicator
				through[k] = t.sent.Send(t.clock, seconds, latency, sends)
			default:
				at, q := t.clock, p.in[e.message]
				if q.follows {
					at = max(at, (*space)[int(e.message-1)*n+k])
				}
				through[k] = t.sent.Send(at, seconds, latency, q.comms, q.stream)
			}
		}
		sends = 1 - sends
	}
	compute(all, 1-done)
	for k := range all {
		all[k].clock = max(all[k].clock, all[k].sent.Busy)
	}
}

// compute advances every scenario by a share of the pass's computation.
func compute(all []Times, share float64) {
	for k := range all {
		t := &all[k]
		t.clock = t.computed(t.clock, t.sent.Busy, t.Compute*share)
	}
}

// Times are the durations of a pass in one scenario.
type Times struct {
	// Compute is the computation of the pass, in seconds.
	Compute float64
	// Slow multiplies the time of each message.
	Slow float64
	// Contention is how much longer computation takes while a message is on the network, as a share.
	Contention float64
	// Each is the additional time of every message, in seconds.
	Each float64
	// Shared is the part of a message's time that overlaps with other messages in flight, in seconds; 0
	// means one message at a time.
	Shared float64
	// The progress of a pass: the host's time, and the messages sent.
	clock float64
	sent  Flight
}

// `computed` returns the time at which `work` seconds of computation that start at `clock` are done. The
// network is busy until `network`.
func (t *Times) computed(clock, network, work float64) float64 {
	if t.Contention == 0 || network <= clock {
		return clock + work
	}
	slowed := work * (1 + t.Contention)
	if clock+slowed <= network {
		return clock + slowed
	}
	return network + work - (network-clock)/(1+t.Contention)
}
