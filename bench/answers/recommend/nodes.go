package recommend

import (
	"maps"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
)

// Nodes returns a step with the answer's setting as nodes: pieces of computation, the calls that they
// launch, and their dependencies. Calls of one group follow one another, and so do calls on the same stream
// of the trainer. Other calls run at the same time, by the rule of [Flight]. All ranks have the same nodes.
// `at` returns the group of a call. Nodes returns nil if the answer has no setting or no times.
func (a *Answer) Nodes(params []trainer.Param, at func(m trainer.Message) int) []trace.Node {
	if a.Best == nil {
		return nil
	}
	return a.NodesOf(params, a.Best.Elements, at)
}

// NodesOf is Nodes with any setting, in the answer's run; 0 is the trainer's behaviour if nothing is set.
func (a *Answer) NodesOf(params []trainer.Param, setting int64, at func(m trainer.Message) int) []trace.Node {
	t, err := trainer.ByName(a.Trainer)
	if err != nil || a.Backward == nil || a.Forward == nil {
		return nil
	}
	plan := t.Plan(params, setting, a.Advised)
	s := step{group: at, last: -1, ofGroup: map[int]int{}, ofStream: map[int]int{}}
	micro := a.Advised.Microbatches()
	forward, backward := Shares(trainer.Work(params), Forward), Shares(trainer.BackwardWork(params), Backward)
	for i := range micro {
		s.pass(plan.Forward, forward, Forward, *a.Forward, a.Advised, plan.EachForward || i == 0)
		s.pass(plan.Backward, backward, Backward, *a.Backward, a.Advised, plan.EachBackward || i == micro-1)
	}
	s.pass(plan.After, forward, Forward, 0, a.Advised, true)
	return s.nodes
}

// step is a step under construction.
type step struct {
	nodes []trace.Node
	group func(m trainer.Message) int
	last  int // the last computation; -1 if none
	// the last call of each group and of each stream, counted from 1
	ofGroup, ofStream map[int]int
	waits             []int // nodes that the next computation waits for
}

// pass adds the nodes of a pass. If `calls` is false, the pass is computation only.
func (s *step) pass(messages []trainer.Message, done []float64, d Direction, seconds float64, run trainer.Run, calls bool) {
	if !calls {
		messages = nil
	}
	at, first := make([]int, len(messages)), len(s.nodes) // the node of each message, and the first node of the pass
	behind := 0.0
	for _, e := range NewPass(messages, done, d).events {
		s.compute(seconds * (done[e.boundary] - behind))
		behind = done[e.boundary]
		if e.wait() {
			s.waits = append(s.waits, at[e.index()])
			continue
		}
		m := messages[e.message]
		c := trace.Call{
			Group: s.group(m), Collective: m.Collective, Known: true, Dtype: dtypeOf(run, m.Collective), Bytes: m.Bytes, In: trace.Unknown, Out: trace.Unknown,
			Sequence: trace.Unknown,
		}
		behind := -1
		if m.Follows {
			behind = at[e.message-1]
		}
		at[e.message] = s.send(&c, m.Stream, behind)
	}
	s.compute(seconds * (1 - behind))
	for _, k := range slices.Sorted(maps.Values(s.ofGroup)) {
		if k > first {
			s.waits = append(s.waits, k-1) // a pass ends when its calls have ended
		}
	}
}

// send adds a call. The call waits for the previous call of its group, for the previous call of its stream,
// and for node `behind` unless that is -1.
func (s *step) send(c *trace.Call, stream, behind int) int {
	after := slices.Concat(s.waits, []int{s.last, s.ofGroup[c.Group] - 1, behind})
	if k := s.ofStream[stream] - 1; k >= 0 && s.nodes[k].Call.Group != c.Group {
		after = append(after, k)
	}
	i := s.add(trace.Node{Call: c, After: after})
	s.ofGroup[c.Group], s.ofStream[stream] = i+1, i+1
	return i
}

func (s *step) compute(seconds float64) {
	if seconds <= 0 {
		return
	}
	s.last = s.add(trace.Node{Seconds: seconds, After: append(s.waits, s.last)})
	s.waits = nil
}

// add adds a node after the existing ones.
func (s *step) add(n trace.Node) int {
	after := slice.Where(n.After, func(i int) bool { return i >= 0 })
	n.After = after
	s.nodes = append(s.nodes, n)
	return len(s.nodes) - 1
}
