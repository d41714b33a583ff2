package replay

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/exit"
	"zbench/bench/files/trace"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// Schedule converts a step into operations for a driver. Computation takes the nodes' seconds, a message is
// launched after the computation before it, and computation waits for its node's messages. Calls on the
// same communicators follow each other. `find` returns the case of a call.
func Schedule(nodes []trace.Node, find func(c *trace.Call) (plan.Case, error)) (*plan.Step, error) {
	s := &plan.Step{}
	sends := make([]int, len(nodes)) // number of a call's message
	waited := map[int]bool{}
	for i, n := range nodes {
		var calls []int
		for _, k := range n.After {
			if nodes[k].Call != nil && !waited[k] {
				calls = append(calls, sends[k])
				waited[k] = n.Call == nil
			}
		}
		if n.Call == nil {
			for _, k := range calls {
				s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepWait, Message: k})
			}
			s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepCompute, Seconds: n.Seconds})
			continue
		}
		c, err := find(n.Call)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(s.Cases, func(x plan.Case) bool { return x.Key == c.Key })
		if at < 0 {
			at = len(s.Cases)
			s.Cases = append(s.Cases, c)
		}
		me := len(s.Sends)
		sends[i], s.Sends = me, append(s.Sends, at)
		for _, k := range calls {
			if s.Comms(k) != s.Comms(me) {
				s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepFollow, Message: k, By: me})
			}
		}
		s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepLaunch, Message: me})
	}
	for i := range s.Sends { // a step ends when its calls have ended
		if final(s, i) {
			s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepWait, Message: i})
		}
	}
	return s, nil
}

// `final` reports whether a message is the last on its communicators.
func final(s *plan.Step, message int) bool {
	return !slices.ContainsFunc(s.Sends[message+1:], func(k int) bool { return s.Cases[k].Comms() == s.Comms(message) })
}

// Alone returns the step's computation without its messages.
func Alone(s *plan.Step) *plan.Step {
	out := &plan.Step{}
	for _, o := range s.Ops {
		if o.Do == plan.StepCompute || o.Do.Works() {
			out.Ops = append(out.Ops, o)
		}
	}
	return out
}

// SplitOf returns the division of a world that has a group as one of its communicators: all ranks,
// neighbours, or ranks with a stride.
func SplitOf(g trace.Group, w spec.World) (split plan.Split, err error) {
	apart := g.Apart()
	split.Stride = apart
	switch {
	case g.Size == w.Size():
		return plan.Split{}, nil
	case apart == 0:
		err = errors.New("the trace does not tell which, or they are not the same number apart")
	case apart == 1 && g.Ranks[0]%g.Size != 0:
		err = fmt.Errorf("they begin at rank %d, and groups of neighbours at multiples of %d", g.Ranks[0], g.Size)
	case apart == 1:
		split = plan.Split{Group: g.Size}
		err = w.CheckSplits([]int{g.Size}, nil, nil)
	case apart*g.Size != w.Size():
		err = fmt.Errorf("they are %d apart in a part of the world", apart)
	default:
		err = w.CheckSplits(nil, []int{apart}, nil)
	}
	if err != nil {
		err = exit.With(exit.Want, fmt.Errorf("calls of %d of the %d ranks cannot be made again: %w", g.Size, w.Size(), err),
			"replayed are calls of all ranks, of neighbours, and of ranks that are the same number apart in all of the world: leave out --instances, --pp or --tp")
	}
	return split, err
}

// Finder makes the cases of a step's calls in a world: each collective in its measured placement,
// and on the communicators that contain the call's group.
func Finder(w spec.World, groups []trace.Group, inPlace map[string]bool) func(c *trace.Call) (plan.Case, error) {
	return func(c *trace.Call) (plan.Case, error) {
		one, err := plan.Axes{Sizes: []int64{c.Bytes}, MinBytes: c.Bytes, MaxBytes: c.Bytes, Factor: 2, World: w, InPlace: []bool{inPlace[c.Collective]}}.
			Named(c.Dtype, "sum", c.Collective)
		if err != nil {
			return plan.Case{}, err
		}
		split, err := SplitOf(groups[c.Group], w)
		if err != nil {
			return plan.Case{}, err
		}
		if split.Group > 0 {
			one.Groups = []int{split.Group}
		}
		if split.Stride > 0 {
			one.Strides = []int{split.Stride}
		}
		cases := one.Cases()
		// The list has the whole world first, then the split.
		last := cases[len(cases)-1]
		if last.Skip != "" {
			err = exit.With(exit.Run, fmt.Errorf("%s of %d bytes: %s", c.Collective, c.Bytes, last.Skip), "give other --settings")
		}
		return last, err
	}
}
