package suite

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/gate"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// Result holds the result that a row left in its folder.
type Result struct {
	// Record is the record of a measurement; nil for other commands. Survey is the survey of zbench
	// rails; nil for other commands.
	Record *record.Record
	Survey *rails.Survey
	// Shown has the findings of the row's command, and its charts if Record has them.
	Shown *document.Document
	// Simulated is true if a model or an emulation made the result.
	Simulated bool
}

func missing(format string, args ...any) Measure { return Measure{Why: fmt.Sprintf(format, args...)} }

// numberOf returns a figure with its bounds, in the form of show.
func numberOf(v, lo, hi float64, show func(float64) string) Measure {
	m := Measure{Value: &v, Text: show(v), show: show}
	if lo < v || hi > v {
		m.Lo, m.Hi = &lo, &hi
	}
	return m
}

// rules holds the functions that read a figure from more than one metric of a case.
var rules = map[string]func(*Result) Measure{
	"groups":        groupRule,
	"between-nodes": func(r *Result) Measure { return message(r, func(s *rails.Survey) *float64 { return s.NetworkSeconds }) },
	"within-a-node": func(r *Result) Measure { return message(r, func(s *rails.Survey) *float64 { return s.XGMISeconds }) },
}

func ruleNames() []string { return slices.Sorted(maps.Keys(rules)) }

// read returns the figure of a result.
func (f *Figure) read(r *Result) Measure {
	switch {
	case r == nil:
		return missing("the row has no result")
	case f.Rule != "":
		return rules[f.Rule](r)
	case f.Finding != "":
		texts := slice.Map(r.Shown.Findings.Only(f.Finding), func(x finding.Finding) string {
			_, text := x.Word() // the origin stands beside a model's figure, so no label is needed
			return plain.Sentence(strings.TrimSuffix(text, "."))
		})
		if len(texts) == 0 {
			return missing("the result says nothing about it")
		}
		return Measure{Text: plain.Line(strings.Join(texts, " "))}
	case r.Record == nil:
		return missing("the row left no record")
	case f.Knee:
		return knee(f.pick, r.Record)
	}
	best, ok := f.pick.Best(r.Record)
	switch {
	case !ok:
		return missing("no case of %q has a time", f.Pick)
	case f.over == nil:
		return numberOf(best.Value, best.Lo, best.Hi, f.pick.Show)
	}
	other, ok := f.over.Best(r.Record)
	if !ok {
		return missing("no case of %q has a time", f.Over)
	}
	return numberOf(best.Value/other.Value, best.Lo/other.Hi, best.Hi/other.Lo, unit.Digits)
}

// knee returns the size from which a metric is saturated. The size is in operations per launch if
// operations are counted, otherwise in bytes. The best case of each size counts.
func knee(p *gate.Pick, rec *record.Record) Measure {
	size, show := func(c gate.Picked) float64 { return float64(c.Bytes) }, func(v float64) string { return unit.Bytes(int64(v)) }
	cases := p.Of(rec)
	if len(cases) > 0 && cases[0].Flop > 0 {
		size, show = func(c gate.Picked) float64 { return c.Flop }, unit.Operations
	}
	_, of := slice.Group(cases, size)
	var curve []Sample
	for _, x := range slices.Sorted(maps.Keys(of)) {
		c := slices.MaxFunc(of[x], func(a, b gate.Picked) int { return cmp.Compare(a.Value, b.Value) })
		curve = append(curve, Sample{x, c.Value, c.Lo, c.Hi})
	}
	k, why := KneeOf(curve)
	if why != "" {
		return Measure{Why: why}
	}
	return numberOf(k.X, k.Lo, k.Hi, show)
}

// groupRule compares groups of a node's GPUs with all GPUs of the node. On a full mesh of links, a group
// of g of n GPUs can use (g − 1)/(n − 1) of the links of each GPU. The figure is the largest deviation
// from this share, at the largest size of all_reduce.
func groupRule(r *Result) Measure {
	if r.Record == nil {
		return missing("the row left no record")
	}
	best := map[int]*record.Result{}
	for i := range r.Record.Results {
		x := &r.Record.Results[i]
		if b := best[x.Ranks]; x.Collective == "all_reduce" && x.BusBW != nil && x.Status == record.OK && x.Stride == 0 && (b == nil || x.Bytes > b.Bytes) {
			best[x.Ranks] = x
		}
	}
	sizes := slices.Sorted(maps.Keys(best))
	if len(sizes) < 2 {
		return missing("all_reduce was measured with %s", unit.Count(len(sizes), "size of group"))
	}
	all := sizes[len(sizes)-1]
	worst := 0.0
	for _, g := range sizes[:len(sizes)-1] {
		share := *best[g].BusBW / *best[all].BusBW
		rule := float64(g-1) / float64(all-1)
		worst = max(worst, math.Abs(share/rule-1))
	}
	return Measure{Value: &worst, Text: fmt.Sprintf("g reach (g−1)/%d within %s", all-1, unit.Percent(worst)), show: unit.Percent}
}

// message returns the rate of the median message of a survey, in each direction.
func message(r *Result, seconds func(*rails.Survey) *float64) Measure {
	if r.Survey == nil || seconds(r.Survey) == nil {
		return missing("no message was timed")
	}
	v := float64(r.Survey.Bytes) / *seconds(r.Survey)
	return numberOf(v, v, v, unit.Rate)
}
