// A pass of a training step: computation goes through the parameters, messages are launched
// on the way, and one network carries them one after the other. [NewPass] fixes the order of
// events once; [Pass.End] runs them for any times.

package recommend

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

// Pass is the events of one pass in their order. done is that of [New].
type Pass struct {
	events   []event
	messages int
	done     []float64
}

// event is a launch or a wait of a message at a boundary. The index of a message
// that is waited for is complemented: a question holds millions of events.
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

// New puts the launches and waits of messages in order. done[p] is the share of
// the pass's computation that is behind at boundary p. At the same boundary the
// events of an earlier message come first, its launch before its wait: who waits
// for one message and then launches the next waits first.
func NewPass(messages []trainer.Message, done []float64, d Direction) Pass {
	n := len(messages)
	for _, m := range messages {
		if m.Wait != trainer.Never {
			n++
		}
	}
	all := make([]event, 0, n)
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
	if !slices.IsSortedFunc(all, order) { // most trainers' calls come in their order
		slices.SortStableFunc(all, order)
	}
	return Pass{events: all, messages: len(messages), done: done}
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
// alone, which slow multiplies. [Pass.Ends] is for many runs.
func (p Pass) End(compute float64, cost []float64, slow float64) float64 {
	through := make([]float64, p.messages)
	clock, network, done := 0.0, 0.0, 0.0
	for _, e := range p.events {
		behind := p.done[e.boundary]
		clock += compute * (behind - done)
		done = behind
		if e.wait() {
			clock = max(clock, through[e.index()])
			continue
		}
		network = max(clock, network) + slow*cost[e.message]
		through[e.message] = network
	}
	return max(clock+compute*(1-done), network)
}
