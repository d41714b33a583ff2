package compare

import (
	"fmt"
	"math"
	"path"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/stat"
)

// Overall is the time of NEW against BASE over all cases that every run has.
type Overall struct {
	// Number of cases with a time in every run.
	Cases int `json:"cases" jsonschema:"minimum=1"`
	// Change is the geometric mean over these cases of the time of NEW divided by the time of BASE, minus 1.
	Change float64 `json:"change"`
	// Lower end of the 95 % interval of the change, by the variation between whole runs; null if
	// there are too few runs.
	Lo *float64 `json:"lo"`
	// Upper end of the 95 % interval of the change; null if there are too few runs.
	Hi *float64 `json:"hi"`
}

// overall returns the ratio over all cases with a time in every run; nil if there is none.
func overall(cases []*observed, runs [2]int, o Criteria) *Overall {
	whole := everywhere(cases, runs)
	if len(whole) == 0 {
		return nil
	}
	c := shift(whole, stat.Mean)
	out := &Overall{Cases: len(whole), Change: math.Expm1(c.difference())}
	if t := ofRuns(c, o); t != nil {
		out.Lo, out.Hi = new(math.Expm1(t.lo)), new(math.Expm1(t.hi))
	}
	return out
}

// overallLine says which side ran faster, in the words of hyperfine.
func (d *Document) overallLine() finding.Finding {
	o := d.Overall
	slow, fast := called(d.New, "NEW"), called(d.Base, "BASE")
	if slow == fast {
		slow, fast = "NEW", "BASE"
	}
	of := "geometric mean over " + plain.Count(o.Cases, "case")
	ratio, lo, hi := 1+o.Change, 0.0, 0.0
	if o.Lo != nil {
		lo, hi = 1+*o.Lo, 1+*o.Hi
		of += ", 95 % interval"
	}
	text := ""
	if same := o.Lo != nil && lo <= 1 && hi >= 1; same || ratio == 1 {
		text = fmt.Sprintf("%s took %s times as long as %s (%s)", slow, ratioText(ratio, lo, hi), fast, of)
		if same {
			text += ", no difference beyond the variation between runs"
		}
	} else {
		if ratio < 1 {
			slow, fast, ratio, lo, hi = fast, slow, 1/ratio, 1/hi, 1/lo
		}
		text = fmt.Sprintf("%s ran %s times faster than %s (%s)", fast, ratioText(ratio, lo, hi), slow, of)
	}
	if o.Lo == nil {
		text += ", " + d.untested()
	}
	return finding.Finding{Code: CodeOverall, Text: text + "."}
}

// ratioText prints a ratio and half its interval, with the digits that the interval supports. Without a
// finite interval it prints the ratio alone.
func ratioText(ratio, lo, hi float64) string {
	half := (hi - lo) / 2
	if !(half > 0) || math.IsInf(half, 1) {
		return fmt.Sprintf("%.4g", ratio)
	}
	const most = 4
	digits := int(min(most, max(1, -math.Floor(math.Log10(half)))))
	return fmt.Sprintf("%.*f ± %.*f", digits, ratio, digits, half)
}

// `called` returns the name of a side's only run, or the name of the folder that contains all of its runs. Otherwise
// it returns `other`.
func called(runs []Member, other string) string {
	if len(runs) == 1 {
		return runs[0].Name
	}
	folder := path.Dir(runs[0].Name)
	if folder == "." || slices.ContainsFunc(runs, func(m Member) bool { return path.Dir(m.Name) != folder }) {
		return other
	}
	return folder
}
