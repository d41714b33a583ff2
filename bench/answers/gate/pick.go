package gate

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/spell"
	"zbench/bench/run/record"
)

// Pick names a figure of a record: the cases to take it from, in a threshold's words, and the metric.
type Pick struct {
	cases  *Threshold
	metric *field
}

// PickGrammar is the form of a pick.
const PickGrammar = "NAME [FIELD>=VALUE…] METRIC"

// ParsePick reads a pick, such as "all_reduce nodes=128 bytes>=1GiB busbw". names are the kernels
// that it may name besides collectives.
func ParsePick(text string, names ...string) (*Pick, error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return nil, fmt.Errorf("%q is no figure: the form is %s", text, PickGrammar)
	}
	last := words[len(words)-1]
	own, err := spell.Own("metric", fieldNames(true), last)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	t, err := selection(words[:len(words)-1], names)
	if err != nil {
		return nil, err
	}
	return &Pick{t, &fields[slices.IndexFunc(fields, func(f field) bool { return f.name == own })]}, nil
}

// Show prints a value of the metric with its unit.
func (p *Pick) Show(v float64) string { return p.metric.show(v) }

// `falls` reports whether a smaller value is better, as it is for times.
func (p *Pick) falls() bool { return p.metric.name == "time" || p.metric.name == "isolated" }

// Picked is the metric of one case. Lo and Hi bound it with 95 % confidence and equal Value if no
// interval is known.
type Picked struct {
	*record.Row
	Value, Lo, Hi float64
}

// Of returns the selected cases that ended well and have the metric, in the record's order.
func (p *Pick) Of(rec *record.Record) []Picked {
	var out []Picked
	for _, r := range rowsOf(rec) {
		v := r.Metric(p.metric.name)
		if r.Status != record.OK || v == nil || !p.cases.about(r) || !p.cases.meets(r) {
			continue
		}
		one := Picked{&r.Row, *v, *v, *v}
		for _, t := range r.Times {
			if t == nil || t.Lo == nil || t.Hi == nil || !(*t.Lo > 0) {
				continue
			}
			if one.Lo, one.Hi = *v*t.Median / *t.Hi, *v*t.Median / *t.Lo; p.falls() {
				one.Lo, one.Hi = *v**t.Lo/t.Median, *v**t.Hi/t.Median
			}
			break // the metrics come from the preferred time
		}
		out = append(out, one)
	}
	return out
}

// Best returns the selected case with the best value.
func (p *Pick) Best(rec *record.Record) (best Picked, ok bool) {
	for _, c := range p.Of(rec) {
		if !ok || c.Value > best.Value != p.falls() {
			best, ok = c, true
		}
	}
	return best, ok
}

// meets reports whether the case has the metrics that the selection requires, and whether they meet its
// conditions.
func (t *Threshold) meets(r *row) bool {
	values, lacks := t.values(r)
	for i, v := range values {
		if !t.need[i].holds(v) {
			return false
		}
	}
	return lacks == ""
}
