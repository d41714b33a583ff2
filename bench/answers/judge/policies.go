package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
)

// policyErrors is the number of standard errors beyond which a policy counts as faster or slower. By chance 1 in
// 370 policies without an effect exceeds this number.
const policyErrors = 3

// effect is a policy's effect on a collective, by size: the logarithms of the time with the policy over the time
// without it, and their standard errors.
type effect struct {
	sizes        []int64
	logs, errors []float64
}

// policies states for each policy whether it helps, and which collectives it does not serve. Cases with and without
// a policy alternate: each pass runs all of them, and the second pass runs them in reverse order.
func (j judged) policies() (out finding.List) {
	type same struct {
		curve record.CurveKey
		bytes int64
	}
	of := func(r *record.Result) same {
		s := same{r.CurveKey(), r.BytesRequested}
		_, s.curve.Setup = policy.Split(r.Setup)
		return s
	}
	base, asked := map[same]*record.Result{}, []*record.Result(nil)
	for _, r := range j.Each() {
		if policy.Named(r.Setup) {
			asked = append(asked, r)
		} else {
			base[of(r)] = r
		}
	}
	names, rows := slice.Group(asked, func(r *record.Result) string {
		name, _ := policy.Split(r.Setup)
		return name
	})
	for _, name := range names {
		order, by := slice.Group(rows[name], func(r *record.Result) string { return r.Collective })
		var parts, unserved []string
		registration, ran, untold := 0.0, []string(nil), false
		for _, collective := range order {
			var e effect
			why := ""
			for _, r := range by[collective] {
				registration = max(registration, r.Registration)
				switch {
				case r.Status == record.Skipped && !strings.HasPrefix(r.Reason, "rounds to 0"):
					why = r.Reason
				case r.Status == record.OK:
					untold = untold || r.Ran == ""
					ran = append(ran, r.Ran)
				}
				e.add(r, base[of(r)])
			}
			if text := e.text(); text != "" {
				parts = append(parts, collective+" "+text)
			}
			if why != "" {
				unserved = append(unserved, collective+": "+why)
			}
		}
		f := finding.Finding{Code: CodePolicy, Severity: finding.Note, Text: "POLICY " + name + ": " + strings.Join(parts, "; ") + "."}
		if len(parts) == 0 {
			f.Text = "POLICY " + name + ": nothing to compare."
		}
		if len(unserved) > 0 {
			f.Text += " Not served, and not measured as this policy: " + strings.Join(unserved, "; ") + "."
		}
		if registration > 0 {
			f.Text += " Registering took " + unit.Seconds(registration) + ", outside of these times."
		}
		slices.Sort(ran)
		if ran = slices.DeleteFunc(slices.Compact(ran), func(by string) bool { return by == "" }); len(ran) > 0 {
			f.Text += " The library says it ran by " + strings.Join(ran, ", ") + "."
		}
		if untold {
			f.Text, f.Hint = f.Text+policy.Untold, policy.UntoldHint
		}
		out = append(out, f)
	}
	return out
}

// add adds a case together with the same case without the policy, if both cases have times with intervals.
func (e *effect) add(with, without *record.Result) {
	if without == nil || with.Status != record.OK || without.Status != record.OK {
		return
	}
	a, b := curve.BurstOf(with), curve.BurstOf(without)
	if !a.Bounded || !b.Bounded {
		return
	}
	const halves = 2 * 1.96 // standard errors in a 95 % interval
	e.sizes = append(e.sizes, with.Bytes)
	e.logs = append(e.logs, math.Log(a.Median/b.Median))
	e.errors = append(e.errors, math.Hypot((a.Hi-a.Lo)/halves/a.Median, (b.Hi-b.Lo)/halves/b.Median))
}

// text states the policy's average effect over the sizes, and the sizes with the largest and the smallest effect;
// empty without a size.
func (e effect) text() string {
	n := float64(len(e.logs))
	if n == 0 {
		return ""
	}
	mean, square, least, most := 0.0, 0.0, 0, 0
	for i, x := range e.logs {
		mean += x / n
		square += e.errors[i] * e.errors[i]
		if x < e.logs[least] {
			least = i
		}
		if x > e.logs[most] {
			most = i
		}
	}
	limit := policyErrors * math.Sqrt(square) / n
	change := func(log float64) string { return policy.Change(log, "faster", "slower") }
	text := fmt.Sprintf("%s on average over %s", policy.Told(mean, limit, "faster", "slower"), unit.Count(len(e.logs), "case"))
	if len(e.logs) > 1 && e.logs[most]-e.logs[least] > 2*limit*math.Sqrt(n) {
		text += fmt.Sprintf(", from %s at %s to %s at %s", change(e.logs[least]), unit.Bytes(e.sizes[least]), change(e.logs[most]), unit.Bytes(e.sizes[most]))
	}
	return text
}
