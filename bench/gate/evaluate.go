package gate

import (
	"fmt"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Evaluate judges the record by thresholds.
func Evaluate(rec *record.Record, list []*Threshold) []Check {
	rows := rowsOf(rec)
	out := make([]Check, len(list))
	for i, t := range list {
		out[i] = t.judge(rows)
	}
	return out
}

// rowsOf are the record's cases.
func rowsOf(rec *record.Record) []*row {
	var out []*row
	for i := range rec.Results {
		r := &rec.Results[i]
		place := "out of place"
		if r.InPlace {
			place = "in place"
		}
		out = append(out, &row{
			name: r.Collective, result: r, status: r.Status, reason: r.Reason, requested: r.BytesRequested, bytes: r.Bytes,
			label: fmt.Sprintf("%s %s %s", plain.Text(r.Collective), unit.Bytes(max(r.Bytes, r.BytesRequested)), place),
		})
	}
	for i := range rec.Kernels {
		k := &rec.Kernels[i]
		out = append(out, &row{name: k.Kernel, kernel: k, status: k.Status, reason: k.Reason, requested: k.Shape.Array, bytes: k.Moved, label: plain.Text(k.Key)})
	}
	return out
}

// judge finds the threshold's cases. One that misses it fails; one without the figure
// leaves it not checked, unless another fails.
func (t *Threshold) judge(rows []*row) Check {
	out := Check{Check: finding.Check{Name: t.Text, State: finding.NotChecked, Reason: "no case is of this kind; the record has " + kinds(rows)}}
	var lacking string
	missed, worst := 0, ""
	for _, r := range rows {
		if !t.about(r) {
			continue
		}
		out.Cases++
		text, ok, known := t.check(r)
		switch {
		case !known && lacking == "":
			lacking = text
		case known && !ok:
			missed++
			if worst == "" {
				worst = text
			}
		case known && worst == "" && lacking == "":
			out.Reason = text
		}
	}
	switch {
	case out.Cases == 0:
	case missed > 0:
		out.State, out.Reason = finding.Fail, fmt.Sprintf("%d of %s missed it: %s", missed, plain.Count(out.Cases, "case"), worst)
	case lacking != "":
		out.Reason = lacking
	default:
		out.State = finding.Pass
		if out.Cases > 1 {
			out.Reason = fmt.Sprintf("all of %s, the last: %s", plain.Count(out.Cases, "case"), out.Reason)
		}
	}
	return out
}

// about tells whether the threshold is about the case.
func (t *Threshold) about(r *row) bool {
	if t.name != "" && r.name != t.name {
		return false
	}
	for _, c := range t.where {
		if !c.matches(r) {
			return false
		}
	}
	return true
}

// check judges one case; known is false where it has not the figure.
func (t *Threshold) check(r *row) (text string, ok, known bool) {
	if r.status != record.OK {
		return fmt.Sprintf("%s is %s: %s", r.label, strings.ReplaceAll(string(r.status), "_", " "), plain.Text(r.reason)), false, false
	}
	var parts []string
	ok = true
	for _, c := range t.need {
		v, has := c.metric(r)
		if !has {
			return r.label + " has no " + c.name, false, false
		}
		ok = ok && c.holds(v)
		parts = append(parts, c.name+" "+c.show(v))
	}
	return r.label + ": " + strings.Join(parts, ", "), ok, true
}

// kinds names what the record has, for one that looks for something else.
func kinds(rows []*row) string {
	var names []string
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r.name] {
			seen[r.name] = true
			names = append(names, plain.Text(r.name))
		}
	}
	if len(names) == 0 {
		return "no case at all"
	}
	return fmt.Sprintf("%s of %s", plain.Count(len(rows), "case"), strings.Join(names, ", "))
}
