package replay

import (
	"fmt"
	"slices"

	"zbench/bench/plan"
	"zbench/bench/trace"
)

// Schedule is a step as operations for a driver. Computation takes the nodes' seconds, a message is launched when
// the computation before it is done, and computation waits for the messages that its node waits for. Calls follow
// each other on their own stream. find returns the case of a call.
func Schedule(nodes []trace.Node, find func(c *trace.Call) (plan.Case, error)) (*plan.Step, error) {
	s := &plan.Step{}
	sends := make([]int, len(nodes)) // a call's number among the messages
	previous := -1                   // the call before
	waited := map[int]bool{}
	for i, n := range nodes {
		for _, k := range n.After {
			if nodes[k].Call != nil && !waited[k] && (n.Call == nil || k != previous) {
				waited[k] = true
				s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepWait, Message: sends[k]})
			}
		}
		if n.Call == nil {
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
		sends[i], previous = len(s.Sends), i
		s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepLaunch, Message: len(s.Sends)})
		s.Sends = append(s.Sends, at)
	}
	if previous >= 0 { // a step ends with its calls
		s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepWait, Message: sends[previous]})
	}
	return s, nil
}

// Alone is the step without its messages: computation by itself.
func Alone(s *plan.Step) *plan.Step {
	out := &plan.Step{}
	for _, o := range s.Ops {
		if o.Do == plan.StepCompute || o.Do.Works() {
			out.Ops = append(out.Ops, o)
		}
	}
	return out
}

// Finder makes the cases of a step's calls in a world: each collective in place as it was measured, and on
// the communicators of the ranks that reduce gradients together, which lie apart where a copy of the model
// takes several ranks.
func Finder(a plan.Axes, inPlace map[string]bool) func(c *trace.Call) (plan.Case, error) {
	return func(c *trace.Call) (plan.Case, error) {
		one, err := plan.Axes{Sizes: []int64{c.Bytes}, MinBytes: c.Bytes, MaxBytes: c.Bytes, Factor: 2, World: a.World, Strides: a.Strides, InPlace: []bool{inPlace[c.Collective]}}.
			Named(c.Dtype, "sum", c.Collective)
		if err != nil {
			return plan.Case{}, err
		}
		cases := one.Cases()
		// The whole world comes first, then the stride.
		last := cases[len(cases)-1]
		if last.Skip != "" {
			err = fmt.Errorf("%s of %d bytes: %s", c.Collective, c.Bytes, last.Skip)
		}
		return last, err
	}
}
