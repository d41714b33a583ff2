package report

import (
	"fmt"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/fabric"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// noFault says what was looked for and not found.
func (j judged) noFault() []VerdictLine {
	ok, checked, compared := 0, 0, 0
	for i := range j.Results {
		r := &j.Results[i]
		if r.Status != record.OK {
			continue
		}
		ok++
		if r.Verified.State == record.VerifiedOK {
			checked++
		}
		if _, known := j.want.seconds(r); known {
			compared++
		}
	}
	if ok == 0 {
		return []VerdictLine{{Kind: KindFailed, Severity: VerdictWarning, Text: "Nothing was measured: no case ended ok."}}
	}
	text := fmt.Sprintf("No fault in %s: %s verified", plural(int64(ok), "case"), comma(int64(checked)))
	if len(Late(j.Record)) > 0 {
		text += ", no rank late"
	}
	if compared > 0 {
		text += ", bandwidth as " + j.want.as()
	}
	return []VerdictLine{{Kind: KindNoFault, Severity: VerdictGood, Text: text + "."}}
}

// bestOf is the best bus bandwidth of rows.
func bestOf(rows []*record.Result) (best *record.Result, bw float64) {
	for _, r := range rows {
		if v, ok := busBWOf(r); ok && v > bw {
			best, bw = r, v
		}
	}
	return best, bw
}

// best is the best bus bandwidth beside the roof and the published figure.
func (j judged) best() []VerdictLine {
	names, rows := wholes(j.Record)
	var top *record.Result
	for _, name := range names {
		if r, bw := bestOf(rows[name]); r != nil && bw > busBWOr0(top) {
			top = r
		}
	}
	if top == nil {
		return nil
	}
	text := fmt.Sprintf("Best busbw: %s %s", top.Collective, unit.Rate(busBWOr0(top)))
	if figures := j.figures(top); figures != "" {
		return []VerdictLine{{Kind: KindBusBW, Text: text + ", " + figures + "."}}
	}
	return []VerdictLine{{Kind: KindBusBW, Text: text + " at " + unit.Bytes(top.Bytes) + "."}}
}

// figures are the best result's shares of the roof and of the published figure of
// its fabric.
func (j judged) figures(top *record.Result) string {
	f, bw := j.want.fabric, busBWOr0(top)
	if f == nil {
		return ""
	}
	var parts []string
	var near *fabric.Roof
	for i := range f.Roofs {
		r := &f.Roofs[i]
		at := roofValue(j.Record, r.Label)
		switch {
		case r.Per != "" && at > 0 && len(parts) == 0:
			parts = append(parts, part(bw/at)+" of the roof")
		case r.Per != "" || r.GPUs != 0 && r.GPUs != j.World.GPUsPerNode || r.Nodes.Min > top.Nodes:
		case near == nil || r.Nodes.Min > near.Nodes.Min:
			near = r
		}
	}
	if near != nil && near.BusBW > 0 {
		text := part(bw/near.BusBW) + " of the published " + unit.Rate(near.BusBW)
		if top.Nodes > near.Nodes.Max {
			text = fmt.Sprintf("%s of published (%s)", part(bw/near.BusBW), plural(int64(near.Nodes.Max), "node"))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// roofValue is a roof of the record by its label, 0 where it has none.
func roofValue(rec *record.Record, label string) float64 {
	if rec.Fabric == nil {
		return 0
	}
	for _, r := range rec.Fabric.Roofs {
		if r.Label == label {
			return r.BusBW
		}
	}
	return 0
}

// scale compares the numbers of nodes of a sweep: what falls off most.
func (j judged) scale() []VerdictLine {
	type step struct {
		name     string
		from, to *record.Result
		kept     float64
	}
	var worst *step
	for _, name := range collectivesOf(j.Record) {
		byNodes := map[int]*record.Result{}
		least, most := 0, 0
		for i := range j.Results {
			r := &j.Results[i]
			if r.Collective != name || r.Status != record.OK || r.Groups > 1 || r.Nodes < 1 {
				continue
			}
			if best, bw := byNodes[r.Nodes], 0.0; best != nil {
				if bw, _ = busBWOf(best); bw >= busBWOr0(r) {
					continue
				}
			}
			byNodes[r.Nodes] = r
			if least == 0 || r.Nodes < least {
				least = r.Nodes
			}
			most = max(most, r.Nodes)
		}
		if least == most || busBWOr0(byNodes[least]) == 0 {
			continue
		}
		s := step{name, byNodes[least], byNodes[most], busBWOr0(byNodes[most]) / busBWOr0(byNodes[least])}
		if worst == nil || s.kept < worst.kept {
			worst = &s
		}
	}
	if worst == nil {
		return nil
	}
	return []VerdictLine{{
		Kind: KindScale, Share: max(0, 1-worst.kept),
		Text: fmt.Sprintf("Scaling: from %s to %s %s falls off most and keeps %s of its best busbw (%s to %s).",
			plural(int64(worst.from.Nodes), "node"), plural(int64(worst.to.Nodes), "node"), worst.name, part(worst.kept),
			unit.Rate(busBWOr0(worst.from)), unit.Rate(busBWOr0(worst.to))),
	}}
}

func busBWOr0(r *record.Result) float64 {
	if r == nil {
		return 0
	}
	bw, _ := busBWOf(r)
	return bw
}

// adviceLines are the recommendation with what it gains over the default, and its
// confidence.
func adviceLines(rec *record.Record, d *advice.Document) []VerdictLine {
	if d == nil {
		return simulatedLines(rec)
	}
	a := &d.Answer
	text := strings.TrimSuffix(strings.TrimPrefix(d.Sentence, "SIMULATED: "), " Confidence "+a.Confidence.Level+".")
	if a.Verdict == recommend.Recommended {
		text = "bucket size: " + lower(text)
	}
	out := []VerdictLine{{Kind: KindAdvice, Text: capital(text)}}
	if a.Verdict != recommend.Recommended {
		out[0].Severity = VerdictWarning
		if a.Refusal != nil {
			out[0].Hint = sentence(a.Refusal.Hint)
		}
		return append(out, simulatedLines(rec)...)
	}
	if a.Default != nil && a.Best != nil && a.Default.Step > 0 {
		out[0].Share = max(0, 1-a.Best.Step/a.Default.Step)
	}
	return append(out, confidenceLine(rec, a))
}

// confidenceLine says how far the answer can be believed, and why no further: of a
// simulation that it is one.
func confidenceLine(rec *record.Record, a *recommend.Answer) VerdictLine {
	l := VerdictLine{Kind: KindConfidence, Text: "Confidence " + a.Confidence.Level}
	switch {
	case rec.Simulated:
		l.Text += ". " + mark(rec) + ": " + notHardware
	case len(a.Confidence.Reasons) > 0:
		l.Text += ": " + a.Confidence.Reasons[0].Message
	}
	l.Text += "."
	if a.Confidence.Level == recommend.Low {
		l.Severity = VerdictWarning
	}
	return l
}

// notHardware says what simulated times are.
const notHardware = "a model, not hardware, decided these times"

// simulatedLines label a record that no hardware was timed for.
func simulatedLines(rec *record.Record) []VerdictLine {
	if !rec.Simulated {
		return nil
	}
	return []VerdictLine{{Kind: KindSimulated, Text: mark(rec) + ": " + notHardware + ".", Severity: VerdictWarning}}
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
