package advice

import (
	"fmt"
	"strings"

	"zbench/bench/document"
	"zbench/bench/plain"
	"zbench/bench/recommend"
	"zbench/bench/table"
	"zbench/bench/trainer"
)

// assumedAdvice is the advice where nothing was asked: the setting, and how much longer a
// step is with the default.
func (d *Document) assumedAdvice() string {
	a := &d.Answer
	if a.Keep {
		return d.keep()
	}
	s := d.set() + "."
	if a.Default == nil {
		return s
	}
	costs := a.Cost(a.Default)
	return s + fmt.Sprintf(" A training step is %s longer with the default, %s%s.", Share(costs), d.Amount(a.Default.Elements), d.atWorst(costs))
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

// Assumes are the assumptions, and what they leave out, in sentences.
func (d *Document) Assumes() string {
	return strings.Join(append([]string{"Assumed: " + strings.Join(d.Assumed, ", ") + "."}, d.Caveats...), " ")
}

// Ends says what the ends of the model behind simulated times would ask for; empty of a
// setting that is kept, whose cost there is said beside it.
func (d *Document) Ends() string {
	if d.Bracket == nil || d.Answer.Keep {
		return ""
	}
	return "ask for " + strings.Replace(d.Range(), " to ", " and ", 1)
}

// IsAssumed reports whether the user gave no model, and the settings were assumed.
func (d *Document) IsAssumed() bool { return d != nil && len(d.Assumed) > 0 }

// Command is what answers for the user's own model, from the curves in a folder, or in
// several records and logs.
func Command(paths ...string) string {
	line := []string{"zbench", "recommend"}
	for _, p := range paths {
		if strings.HasPrefix(p, "-") { // no flag
			p = "./" + p
		}
		line = append(line, p)
	}
	return plain.Shell(append(line, "--framework", trainer.Assumed, "--params", "FILE", "--backward-ms", "MS")...)
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

// WhatIfFacts are the other answers in a few words each, for a terminal.
func (d *Document) WhatIfFacts() document.Facts {
	if !d.IsAssumed() || !d.Answered() {
		return nil
	}
	var all document.Facts
	for i := range d.WhatIf {
		all = append(all, document.Fact{Term: "If " + d.WhatIf[i].Name, Text: d.WhatIf[i].brief()})
	}
	return all
}

func (x *WhatIf) brief() string {
	text := x.Setting
	switch {
	case x.Refusal != nil:
		return "none: " + x.Refusal.Message
	case x.Keep:
		text = "keep " + text
	}
	if x.Range != "" {
		text += " (" + x.Range + ")"
	}
	if x.DefaultCost == nil {
		return text
	}
	if !x.Keep { // what is kept is the default
		text += "; default " + x.Default
	}
	return text + ": step +" + Share(*x.DefaultCost)
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
