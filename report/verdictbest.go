package report

import (
	"fmt"
	"slices"
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
	parts := []string{fmt.Sprintf("data verified in %s", comma(int64(checked)))}
	if len(Late(j.Record)) > 0 {
		parts = append(parts, "no rank late")
	}
	if compared > 0 {
		parts = append(parts, fmt.Sprintf("%s within %s of %s", comma(int64(compared)), part(j.tolerance()), j.want.name()))
	}
	return []VerdictLine{{Kind: KindNoFault, Severity: VerdictGood, Text: fmt.Sprintf("No fault found in %s: %s.", plural(int64(ok), "case"), strings.Join(parts, ", "))}}
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

// best is the best bus bandwidth of each collective beside the roof and the
// published figure.
func (j judged) best() []VerdictLine {
	names, rows := wholes(j.Record)
	var parts, sizes []string
	var top *record.Result
	most := 0.0
	for _, name := range names {
		r, bw := bestOf(rows[name])
		if r == nil {
			continue
		}
		parts, sizes = append(parts, name+" "+unit.Rate(bw)), append(sizes, unit.Bytes(r.Bytes))
		if bw > most {
			most, top = bw, r
		}
	}
	if top == nil {
		return nil
	}
	at := " at " + sizes[0]
	if len(slices.Compact(slices.Clone(sizes))) > 1 {
		at = ""
		for i := range parts {
			parts[i] += " at " + sizes[i]
		}
	}
	l := VerdictLine{Kind: KindBusBW, Text: "Best busbw" + at + ": " + firstFew(parts, 4)}
	if roof, published := j.figures(top); roof != "" || published != "" {
		l.Text += ". " + strings.Join(nonEmpty(roof, published), "; ")
	}
	l.Text += "."
	return []VerdictLine{l}
}

// figures are the best result's shares of the roof and of the published figure of
// its fabric.
func (j judged) figures(top *record.Result) (roof, published string) {
	bw, _ := busBWOf(top)
	f := j.want.fabric
	if f == nil {
		return "", ""
	}
	var near *fabric.Roof
	for i := range f.Roofs {
		one := &f.Roofs[i]
		if one.Per == "" {
			if one.GPUs == 0 || one.GPUs == j.World.GPUsPerNode {
				if one.Nodes.Min <= top.Nodes && (near == nil || one.Nodes.Min > near.Nodes.Min) {
					near = one
				}
			}
			continue
		}
		if at := roofValue(j.Record, one.Label); at > 0 && roof == "" {
			roof = fmt.Sprintf("%s is %s of the roof, %s (%s)", top.Collective, part(bw/at), unit.Rate(at), one.Label)
		}
	}
	if near == nil {
		return roof, ""
	}
	published = fmt.Sprintf("%s of the published %s (%s)", part(bw/near.BusBW), unit.Rate(near.BusBW), near.Label)
	if top.Nodes > near.Nodes.Max {
		published = fmt.Sprintf("%s of %s (%s; none is published for %s)", part(bw/near.BusBW), unit.Rate(near.BusBW), near.Label, plural(int64(top.Nodes), "node"))
	}
	return roof, published
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

// adviceLines are the recommendation, its gain and its confidence.
func adviceLines(d *advice.Document) []VerdictLine {
	if d == nil {
		return nil
	}
	a := &d.Answer
	level := " Confidence " + a.Confidence.Level + "."
	text := strings.TrimSuffix(strings.TrimPrefix(d.Sentence, "SIMULATED: "), level)
	out := []VerdictLine{{Kind: KindAdvice, Text: strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]}}
	if a.Verdict != recommend.Recommended {
		out[0].Severity = VerdictWarning
		if a.Refusal != nil {
			out[0].Hint = sentence(a.Refusal.Hint)
		}
		return out
	}
	if a.Default != nil && a.Best != nil && a.Default.Step > 0 && !a.Default.OverBudget {
		gain := max(0, 1-a.Best.Step/a.Default.Step)
		out = append(out, VerdictLine{Kind: KindGain, Share: gain, Text: gainText(d, gain)})
	}
	l := VerdictLine{Kind: KindConfidence, Text: "Confidence: " + a.Confidence.Level}
	for i, r := range a.Confidence.Reasons {
		if i == 0 {
			l.Text += ": " + r.Message
		}
	}
	if a.Confidence.Level == recommend.Low {
		l.Severity = VerdictWarning
	}
	l.Text += "."
	return append(out, l)
}

// gainText says what the answer gains over the trainer's default.
func gainText(d *advice.Document, gain float64) string {
	a := &d.Answer
	if a.Keep || gain < recommend.PlateauWidth {
		return fmt.Sprintf("Gain over the default, %s: below %s of a step; keep it.", d.Amount(a.Default.Elements), advice.Share(recommend.PlateauWidth))
	}
	return fmt.Sprintf("Gain over the default, %s: %s of a step.", d.Amount(a.Default.Elements), advice.Share(gain))
}
