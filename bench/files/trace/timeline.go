package trace

import (
	"slices"

	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// Kinds of spans in the timeline.
const (
	computes = iota
	communicates
	exposed
)

// mostSpans is the largest number of spans of computation in a timeline. To reach it, short gaps
// between spans are closed.
const mostSpans = 400

// timelineOf draws the last step of a rank: its collectives by stream, its computation, and the
// time in which only a collective ran. It is empty if the file has no kernels.
func (r *Rank) timelineOf(steps [][]Call) (t document.Timeline) {
	if len(steps) == 0 {
		return t
	}
	step := steps[len(steps)-1]
	busy := kernelsOf(step)
	if len(busy) == 0 {
		return t
	}
	from, to := busy[0].Start, busy[len(busy)-1].End
	if n := len(steps); n > 1 { // the computation before the first collective began after the previous step's last collective
		if before := kernelsOf(steps[n-2]); len(before) > 0 && before[len(before)-1].End < from {
			from = max(before[len(before)-1].End, from-(to-from))
		}
	}
	lane := func(name string, kind int, spans []Span) document.Lane {
		l := document.Lane{Name: name}
		for _, s := range coarse(spans, (to-from)/mostSpans) {
			l.Spans = append(l.Spans, document.LaneSpan{Start: s.Start - from, End: s.End - from, Kind: kind})
		}
		return l
	}
	t = document.Timeline{
		ID: "step", Title: "A step of rank " + Number(r.Rank), Seconds: to - from, Lanes: lanesOf(step, from),
		Kinds: []string{"computation", "a collective's kernel, waiting included", "a collective beside no computation"},
	}
	if computing := within(r.Computing, from, to); r.Whole && len(computing) > 0 {
		t.Lanes = append([]document.Lane{lane("computing", computes, computing)}, t.Lanes...)
		t.Lanes = append(t.Lanes, lane("exposed", exposed, without(busy, r.Computing)))
	}
	return t
}

// kernelsOf returns the spans in which collectives ran, in order and disjoint.
func kernelsOf(calls []Call) (spans []Span) {
	for i := range calls {
		if k := calls[i].Kernel; k != nil {
			spans = append(spans, *k)
		}
	}
	return Merge(spans)
}

// lanesOf returns the collectives of a step, with one lane per stream.
func lanesOf(step []Call, from float64) (lanes []document.Lane) {
	for i := range step {
		c := &step[i]
		if c.Kernel == nil {
			continue
		}
		name := "stream " + c.Stream
		at := slices.IndexFunc(lanes, func(l document.Lane) bool { return l.Name == name })
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, document.Lane{Name: name})
		}
		tip := c.Collective
		if c.Bytes >= 0 {
			tip += " of " + unit.Bytes(c.Bytes)
		}
		lanes[at].Spans = append(lanes[at].Spans, document.LaneSpan{Start: c.Kernel.Start - from, End: c.Kernel.End - from, Kind: communicates, Tip: tip})
	}
	return lanes
}

// Function `within` returns the parts of spans that lie between two times.
func within(spans []Span, from, to float64) (out []Span) {
	for _, s := range spans {
		if s.End > from && s.Start < to {
			out = append(out, Span{max(s.Start, from), min(s.End, to)})
		}
	}
	return out
}

// Function `without` returns the parts of spans that no span of others covers. Both lists must be
// in order and disjoint.
func without(spans, others []Span) (out []Span) {
	first := 0
	for _, s := range spans {
		for first < len(others) && others[first].End <= s.Start {
			first++
		}
		at := s.Start
		for i := first; i < len(others) && others[i].Start < s.End; i++ {
			if others[i].Start > at {
				out = append(out, Span{at, others[i].Start})
			}
			at = max(at, others[i].End)
		}
		if at < s.End {
			out = append(out, Span{at, s.End})
		}
	}
	return out
}

// coarse joins spans that are less than gap seconds apart.
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
