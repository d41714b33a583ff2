package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
)

// Evaluate judges the record by thresholds.
func Evaluate(rec *record.Record, list []*Threshold) []Check {
	rows := rowsOf(rec)
	return slice.Map(list, func(t *Threshold) Check { return t.judge(rows) })
}

// rowsOf returns the record's cases. The label of a case has the name of its curve, which distinguishes the case from
// other cases.
func rowsOf(rec *record.Record) []*row {
	var out []*row
	curves := map[*record.Result]string{}
	for _, c := range curve.Of(rec) {
		for _, r := range c.Rows {
			curves[r] = c.Name
		}
	}
	for _, x := range rec.Each() {
		out = append(out, &row{x.Row(), plain.Text(curves[x]) + ", " + unit.Bytes(max(x.Bytes, x.BytesRequested))})
	}
	for _, x := range rec.KernelRows() {
		out = append(out, &row{x.Row(), plain.Text(x.Key)})
	}
	return out
}

// judge judges the cases that the threshold selects, and quotes the worst figure of each metric. If a case misses the
// threshold, the threshold fails. If a case lacks the figure, the threshold is not checked, unless another case fails.
func (t *Threshold) judge(rows []*row) Check {
	out := Check{Check: finding.Check{Name: t.Text, State: finding.NotChecked, Reason: "no case is of this kind; the record has " + content(rows)}}
	var lacking string
	missed := 0
	worst := make([]actual, len(t.need))
	for _, r := range rows {
		if !t.about(r) {
			continue
		}
		out.Cases++
		values, lacks := t.values(r)
		if lacks != "" {
			lacking = cmp.Or(lacking, lacks)
			continue
		}
		ok := true
		for i, c := range t.need {
			ok = ok && c.holds(values[i])
			if worst[i].row == nil || c.worse(values[i], worst[i].value) {
				worst[i] = actual{r, values[i]}
			}
		}
		if !ok {
			missed++
		}
	}
	switch {
	case out.Cases == 0:
	case missed > 0:
		out.State, out.Reason = finding.Fail, t.figures(worst, out.Cases)
		if out.Cases > 1 {
			out.Reason += fmt.Sprintf("; missed by %d of %s", missed, plain.Count(out.Cases, "case"))
		}
	case lacking != "":
		out.Reason = lacking
	default:
		out.State, out.Reason = finding.Pass, t.figures(worst, out.Cases)
	}
	return out
}

// `actual` is the figure of a case.
type actual struct {
	*row
	value float64
}

// figures returns the worst figures, each with its case.
func (t *Threshold) figures(worst []actual, cases int) string {
	parts := make([]string, len(worst))
	for i, w := range worst {
		c := t.need[i]
		figure := c.name + " " + c.show(w.value)
		if cases > 1 {
			figure = c.extreme() + figure
		}
		parts[i] = fmt.Sprintf("%s (%s)", figure, w.label)
	}
	return strings.Join(parts, ", ")
}

// `about` reports whether the threshold selects the case.
func (t *Threshold) about(r *row) bool {
	return (t.name == "" || r.Name == t.name) && !slices.ContainsFunc(t.where, func(c condition) bool { return !c.matches(r) })
}

// values returns the figures of a case that the threshold needs. `lacks` is the reason if a figure is missing.
func (t *Threshold) values(r *row) (out []float64, lacks string) {
	if r.Status != record.OK {
		return nil, fmt.Sprintf("%s is %s: %s", r.label, r.Status.Text(), plain.Text(r.Reason))
	}
	for _, c := range t.need {
		v := r.Metric(c.name)
		if v == nil {
			return nil, r.label + " has no " + c.name
		}
		out = append(out, *v)
	}
	return out, ""
}

// content describes the record's cases, for a threshold that selects none of them.
func content(rows []*row) string {
	names := slice.Distinct(slice.Map(rows, func(r *row) string { return plain.Text(r.Name) }))
	if len(names) == 0 {
		return "no case at all"
	}
	return fmt.Sprintf("%s of %s", plain.Count(len(rows), "case"), strings.Join(names, ", "))
}
