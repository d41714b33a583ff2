// Package overlap simulates a pass of a training step: computation goes through
// the parameters, messages are launched on the way, and one network carries them
// one after the other. [New] fixes the order of events once; [Pass.End] runs them
// for any times.
package overlap

import (
	"cmp"
	"slices"

	"zbench/bench/trainer"
)

// Direction of a pass over the boundaries between parameters.
type Direction bool

// Forward passes boundary 0 first, Backward last.
const (
	Forward  Direction = false
	Backward Direction = true
)

// Pass is the events of one pass in their order.
type Pass struct {
	events   []event
	messages int
}

// event is a launch or a wait of a message when done of the computation, as a
// share, is behind.
type event struct {
	done    float64
	message int
	wait    bool
}

// New puts the launches and waits of messages in order. done[p] is the share of
// the pass's computation that is behind at boundary p. At the same boundary the
// events of an earlier message come first, its launch before its wait: who waits
// for one message and then launches the next waits first.
func New(messages []trainer.Message, done []float64, d Direction) Pass {
	type placed struct {
		event
		boundary int
	}
	all := make([]placed, 0, 2*len(messages))
	put := func(i, boundary int, wait bool) {
		at := boundary
		if d == Backward {
			at = -boundary
		}
		all = append(all, placed{event{done[boundary], i, wait}, at})
	}
	for i, m := range messages {
		put(i, m.Launch, false)
		if m.Wait != trainer.Never {
			put(i, m.Wait, true)
		}
	}
	order := func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.boundary, b.boundary), cmp.Compare(a.message, b.message))
	}
	if !slices.IsSortedFunc(all, order) { // most trainers' calls come in their order
		slices.SortStableFunc(all, order)
	}
	p := Pass{messages: len(messages), events: make([]event, len(all))}
	for i := range all {
		p.events[i] = all[i].event
	}
	return p
}

// Shares is the done of New: how much of the computation lies behind at each
// boundary. Work of 0 everywhere counts as spread evenly.
func Shares(work []float64, d Direction) []float64 {
	total := 0.0
	for _, w := range work {
		total += w
	}
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

// End is when computation and network are both through, in seconds from the
// start of the pass: compute is its computation, cost the time of each message
// alone, which slow multiplies. The scratch space is used and returned, so that
// many runs need one.
func (p Pass) End(compute float64, cost []float64, slow float64, scratch []float64) (end float64, space []float64) {
	if cap(scratch) < p.messages {
		scratch = make([]float64, p.messages)
	}
	through := scratch[:p.messages]
	clock, network, done := 0.0, 0.0, 0.0
	for _, e := range p.events {
		clock += compute * (e.done - done)
		done = e.done
		if e.wait {
			clock = max(clock, through[e.message])
			continue
		}
		network = max(clock, network) + slow*cost[e.message]
		through[e.message] = network
	}
	return max(clock+compute*(1-done), network), scratch
}
