package report

import (
	"slices"

	"zbench/bench/advice"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/unit"
)

// VerdictBox is the answer of a page before any figure: what to set and how far to
// trust it, then the lines of the verdict in their order.
type VerdictBox struct {
	// Chips are the setting and its confidence, in a few words each.
	Chips []Fact
	// Simulated is true where a model decided the times.
	Simulated bool
	Rows      []verdictRow
}

// verdictRow is a line with the name of its severity, for those who do not see its
// colour. Class is the style's.
type verdictRow struct{ Class, Tag, Text, Hint string }

// verdictBox shows the same verdict as the terminal.
func verdictBox(rec *record.Record, d *advice.Document) *VerdictBox {
	return boxOf(Judge(rec, d), rec.Simulated, chips(d))
}

// kernelBox is that of a record of hbm or of kernels.
func kernelBox(rec *record.Record) *VerdictBox {
	return boxOf(JudgeKernels(rec), onLoopback(rec), kernelChips(judgedKernels{rec}))
}

// onLoopback tells that the loopback's clock decided the times of kernels.
func onLoopback(rec *record.Record) bool {
	return slices.ContainsFunc(rec.World.Devices, func(d record.Device) bool { return d.Kind == record.OnLoopback })
}

func boxOf(v Verdict, simulated bool, chips []Fact) *VerdictBox {
	box := &VerdictBox{Chips: chips, Simulated: simulated}
	for _, l := range v.Lines {
		row := verdictRow{Class: "note", Text: l.Text, Hint: l.Hint}
		switch l.Severity {
		case VerdictBad:
			row.Class, row.Tag = "bad", "Fault"
		case VerdictWarning:
			row.Class, row.Tag = "warning", "Limit"
		case VerdictGood:
			row.Class, row.Tag = "good", "OK"
		case VerdictNote:
		}
		box.Rows = append(box.Rows, row)
	}
	return box
}

// chips are what to set and how far to trust that. Without a recommendation they say so.
func chips(d *advice.Document) []Fact {
	if !d.Answered() {
		if d.FixFirst() {
			return []Fact{{"Bucket size", "none: fix the fault first"}}
		}
		return []Fact{{"Bucket size", "no recommendation"}}
	}
	a := &d.Answer
	use := "use "
	if a.Keep {
		use = "keep "
	}
	return []Fact{{"Bucket size", use + d.Amount(a.Elements)}, {"Setting", d.Knob()}, {"Confidence", a.Confidence.Level}}
}

// kernelChips are the best figure, whether the data are right, and how far to trust
// the times.
func kernelChips(j judgedKernels) []Fact {
	var out []Fact
	if j.Benchmark() == spec.Muon {
		if best := j.bestProduct(); best != nil {
			out = append(out, Fact{"Best product", teraflops(*best.Metrics.Effective)})
		}
	} else if best, ofMemory := j.bestKernel(); best != nil && ofMemory {
		out = append(out, Fact{"Best", unit.Rate(*best.Metrics.Rate)})
		if of := best.Metrics.OfPeak; of != nil {
			out = append(out, Fact{"Of peak", part(*of)})
		}
	}
	out = append(out, Fact{"Data", j.dataWord()})
	if level := j.level(); level != "" {
		out = append(out, Fact{"Confidence", level})
	}
	for _, l := range j.label() {
		if word := map[string]string{KindHostMemory: "HOST MEMORY", KindNotTimed: "NOT TIMED"}[l.Kind]; word != "" {
			out = append(out, Fact{"Figures", word})
		}
	}
	return out
}

// dataWord is what the checks of the results came to.
func (j judgedKernels) dataWord() string {
	if len(j.wrongData()) > 0 {
		return "WRONG"
	}
	verified := 0
	for i := range j.Kernels {
		if j.Kernels[i].Verified.State == record.VerifiedOK {
			verified++
		}
	}
	switch verified {
	case 0:
		return "not verified"
	case len(j.Kernels):
		return "verified"
	}
	return comma(int64(verified)) + " of " + comma(int64(len(j.Kernels))) + " verified"
}
