package advice

import (
	"fmt"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/recommend"
	"zbench/bench/table"
)

// assumedAdvice is the advice where nothing was asked, in one sentence: the setting with its
// range, and how much longer a step is with the default.
func (d *Document) assumedAdvice() string {
	a := &d.Answer
	if a.Keep {
		return d.keep()
	}
	said := d.ranged(d.set())
	if a.Default == nil {
		return said + "."
	}
	costs := a.Cost(a.Default)
	return said + fmt.Sprintf(": a training step is %s longer with the default, %s%s.", Share(costs), d.Amount(a.Default.Elements), d.atWorst(costs))
}

// ranged is a setting in words that end with it in brackets, with its range in them.
func (d *Document) ranged(said string) string {
	if r := d.between(); d.IsAssumed() && r != "" {
		return strings.TrimSuffix(said, ")") + "; " + r + ")"
	}
	return said
}

// between is the range of an assumed setting: that of the model behind simulated times, else
// what is as good around it.
func (d *Document) between() string {
	if b := d.Bracket; b != nil && b.Lo < b.Hi {
		return d.Range() + " within the range of the network model"
	} else if b != nil {
		return "alike in the whole range of the network model"
	}
	if p := d.Answer.Plateau; p != nil && d.compares() && p.Lo != p.Hi {
		return "as good within " + Share(recommend.PlateauWidth) + ": " + d.stretch(*p)
	}
	return ""
}

// atWorst is what the default costs at the end of the network model where it costs most,
// over the best size there; empty where that is no more than is said already.
func (d *Document) atWorst(costs float64) string {
	most, end, ok := d.Bracket.DefaultCost()
	if !ok || most <= costs+recommend.PlateauWidth {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% with the %s latency)", 100*most, end)
}

// Ends says what the ends of the model behind simulated times would ask for; empty of a
// setting that is kept, whose cost there is said beside it, and of one that is assumed, whose
// range is.
func (d *Document) Ends() string {
	if d.Bracket == nil || d.Answer.Keep || d.IsAssumed() {
		return ""
	}
	return "ask for " + strings.Replace(d.Range(), " to ", " and ", 1)
}

// IsAssumed reports whether the user gave no model, and the settings were assumed.
func (d *Document) IsAssumed() bool { return d != nil && len(d.Assumed) > 0 }

// Command is what answers for the user's own model on a trainer, from the curves in a folder,
// or in several records and logs.
func Command(framework string, paths ...string) string {
	line := []string{"zbench", "recommend"}
	for _, p := range paths {
		if strings.HasPrefix(p, "-") { // no flag
			p = "./" + p
		}
		line = append(line, p)
	}
	return plain.Shell(append(line, "--framework", framework, "--params", "FILE", "--backward-ms", "MS")...)
}

// WhatIfTable is the other answers, one a row. What the assumed question lacks is not
// repeated for each.
func (d *Document) WhatIfTable() table.Table {
	t := table.Table{Indent: 2, Groups: []table.Group{{}}, Columns: []table.Column{{Name: fmt.Sprintf("what if (at %.0f TFLOP/s)", assumedFlops/1e12)}, {Name: "setting", Right: true}, {Name: "range of the model", Right: true}, {Name: "step with default", Right: true}}}
	for _, x := range d.WhatIf {
		if x.Refusal != nil && !d.Answered() {
			continue
		}
		t.Add(x.cells()...)
	}
	return t
}

func (x *WhatIf) cells() []string {
	if x.Refusal != nil {
		why := strings.ReplaceAll(x.Refusal.Code, "_", " ")
		if m := x.Refusal.Missing; len(m) > 0 {
			why = "needs " + strings.Join(m, " and ")
		}
		return []string{x.Name, why, "", ""}
	}
	setting, costs := x.Setting, ""
	if x.Keep {
		setting = "keep " + setting
	}
	if x.DefaultCost != nil {
		costs = "+" + Share(*x.DefaultCost) + " (" + x.Default + ")"
	}
	return []string{x.Name, setting, x.Range, costs}
}
