package trace

import (
	"fmt"
	"slices"

	"zbench/bench/document"
	"zbench/bench/unit"
)

// Kinds of spans in the timeline.
const (
	computes = iota
	communicates
	exposed
)

// mostSpans is how many stretches of computation a timeline has: shorter ones are joined with their
// neighbours.
const mostSpans = 400

// timelineOf draws a step of the rank: its collectives by stream, its computation, and where a
// collective ran beside none. It is empty where the file has no kernels.
func (r *Rank) timelineOf() (t document.Timeline) {
	steps, _ := r.steps()
	if len(steps) == 0 {
		return t
	}
	step := steps[len(steps)-1]
	var busy []Span
	streams := map[string]*document.Lane{}
	var order []string
	for i := range step {
		c := &step[i]
		if c.Kernel == nil {
			continue
		}
		busy = append(busy, *c.Kernel)
		if streams[c.Stream] == nil {
			streams[c.Stream] = &document.Lane{Name: "stream " + c.Stream}
			order = append(order, c.Stream)
		}
	}
	if len(busy) == 0 {
		return t
	}
	busy = Merge(busy)
	from, to := busy[0].Start, busy[len(busy)-1].End
	if n := len(steps); n > 1 { // the computation before the first collective is that since the last step's
		for i := range steps[n-2] {
			if k := steps[n-2][i].Kernel; k != nil && k.End < from {
				from = min(from, max(k.End, from-(to-from)))
			}
		}
	}
	for i := range step {
		c := &step[i]
		if c.Kernel == nil {
			continue
		}
		tip := c.Collective
		if c.Bytes >= 0 {
			tip += " of " + unit.Bytes(c.Bytes)
		}
		lane := streams[c.Stream]
		lane.Spans = append(lane.Spans, document.LaneSpan{Start: c.Kernel.Start - from, End: c.Kernel.End - from, Kind: communicates, Tip: tip})
	}
	computing := document.Lane{Name: "computing"}
	for _, s := range coarse(within(r.Computing, from, to), (to-from)/mostSpans) {
		computing.Spans = append(computing.Spans, document.LaneSpan{Start: s.Start - from, End: s.End - from, Kind: computes})
	}
	alone := document.Lane{Name: "exposed"}
	for _, s := range coarse(without(busy, r.Computing), (to-from)/mostSpans) {
		alone.Spans = append(alone.Spans, document.LaneSpan{Start: s.Start - from, End: s.End - from, Kind: exposed})
	}
	t = document.Timeline{
		ID: "step", Title: fmt.Sprintf("A step of rank %s", number(r.Rank)), Seconds: to - from,
		Kinds: []string{"computation", "a collective's kernel, waiting included", "a collective beside no computation"},
	}
	if r.Whole && len(computing.Spans) > 0 {
		t.Lanes = append(t.Lanes, computing)
	}
	for _, name := range order {
		t.Lanes = append(t.Lanes, *streams[name])
	}
	if r.Whole && len(computing.Spans) > 0 {
		t.Lanes = append(t.Lanes, alone)
	}
	return t
}

// within are the parts of spans between two times.
func within(spans []Span, from, to float64) (out []Span) {
	for _, s := range spans {
		if s.End > from && s.Start < to {
			out = append(out, Span{max(s.Start, from), min(s.End, to)})
		}
	}
	return out
}

// without are the parts of spans that no other span covers; both are in order.
func without(spans, others []Span) (out []Span) {
	for _, s := range spans {
		at := s.Start
		for _, o := range within(others, s.Start, s.End) {
			if o.Start > at {
				out = append(out, Span{at, o.Start})
			}
			at = max(at, o.End)
		}
		if at < s.End {
			out = append(out, Span{at, s.End})
		}
	}
	return out
}

// coarse joins spans with less than a gap between them.
func coarse(spans []Span, gap float64) []Span {
	out := slices.Clone(spans[:0])
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start-out[n-1].End < gap {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
