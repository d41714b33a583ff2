package advice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Findings returns the findings of a recommendation: the assumptions, the setting and its gain, the
// settings that are as good, the confidence, and the next step. For a record without a recommendation it
// only says whether the record is simulated.
func Findings(rec *record.Record, d *Document) finding.List {
	switch {
	case d == nil:
		return judge.Simulated(rec)
	case d.Judgement != nil:
		return slices.Clone(d.Judgement.Findings)
	}
	return d.findings(rec)
}

// store adds the findings to the recommendation. sources are the records behind the recommendation.
func (d *Document) store(sources []recommend.Source) {
	of := sources[0].Record
	if i := slices.IndexFunc(sources, func(s recommend.Source) bool { return s.Record.Simulated }); i >= 0 {
		of = sources[i].Record
	}
	state := finding.NotChecked
	switch {
	case d.FixFirst():
		state = finding.Fail
	case d.Answer.Refusal == nil:
		state = finding.Pass
	}
	d.Judgement = &finding.Judgement{Rules: Rules, State: state, Findings: d.findings(of)}
}

func (d *Document) findings(rec *record.Record) finding.List {
	a := &d.Answer
	if !d.Answered() {
		l := finding.Finding{Code: judge.CodeAdvice, Text: plain.Capital(strings.TrimPrefix(d.Sentence, "SIMULATED: ")), Severity: finding.Warning}
		if a.Refusal != nil {
			l.Hint = plain.Sentence(a.Refusal.Do())
		}
		if f := a.Observed; f != nil {
			l.Code = judge.CodeObserved
			for _, c := range f.Why {
				l.Evidence = append(l.Evidence, plain.Sentence(c.Message))
			}
		}
		return append(finding.List{l}, judge.Simulated(rec)...)
	}
	set := finding.Finding{Code: judge.CodeAdvice, Text: "Bucket size: " + d.Advice()}
	if d.IsAssumed() {
		set.Text = "Bucket size, " + d.Advice()
	}
	if a.Default != nil && a.Best != nil && a.Default.Step > 0 && a.Default.Unfounded == "" && a.Best.Unfounded == "" {
		set.Share = max(0, 1-a.Best.Step/a.Default.Step)
	}
	out := finding.List{set}
	reaches := ""
	if d.IsAssumed() {
		reaches = d.reaches()
	}
	for _, one := range []struct{ code, text string }{{judge.CodeAsGood, d.AsGood()}, {judge.CodeRule, reaches}, {judge.CodeRests, d.rests()}, {judge.CodeObserved, d.observed()}} {
		if one.text != "" {
			out = append(out, finding.Finding{Code: one.code, Text: one.text})
		}
	}
	return append(out, confidenceLine(rec, d))
}

// `rests` returns a sentence about the basis of the answer: curves, model and computation. An assumed answer
// already begins with its model, so its sentence names only the last assumption.
func (d *Document) rests() string {
	if d.IsAssumed() {
		return "It rests on " + d.Assumed[len(d.Assumed)-1] + "."
	}
	var on []string
	names := map[string][]string{}
	for _, u := range d.Answer.Curves { // most curves differ only in the collective
		of := fmt.Sprintf(" of %s to %s", unit.Count(int64(u.Ranks), "rank"), unit.Bytes(u.MaxBytes))
		names[of] = append(names[of], u.Collective)
	}
	for _, of := range slices.Sorted(maps.Keys(names)) {
		on = append(on, plain.And(names[of])+of)
	}
	if d.Model != nil {
		on = append(on, d.Model.Name+" on "+d.trainer())
	}
	switch a := &d.Answer; {
	case a.Backward != nil && d.Rate != "":
		on = append(on, fmt.Sprintf("a backward of %s, estimated at %s", unit.Seconds(*a.Backward), d.Rate))
	case a.Backward != nil:
		on = append(on, fmt.Sprintf("a backward of %s a microbatch, %s", unit.Seconds(*a.Backward), d.Compute))
	case d.Rate != "":
		on = append(on, d.Rate)
	}
	return "It rests on " + strings.Join(on, "; ") + "."
}

// confidenceLine states the confidence in the answer and the reason that limits it. For simulated times it
// also says that they are simulated, and how well the model is known.
func confidenceLine(rec *record.Record, d *Document) finding.Finding {
	c := &d.Answer.Confidence
	l := finding.Finding{Code: judge.CodeConfidence, Text: d.confidence()}
	switch why := c.Why(); {
	case d.Answer.Simulated:
		l.Text += ": " + record.Mark(rec) + ". " + plain.Capital(judge.NotHardware) + "." + modelDoubt(rec, d)
	case why != nil && d.Answer.Latency == 0:
		l.Text += ": " + why.Message + "."
	default:
		l.Text += "."
	}
	for _, r := range c.Reasons { // other reasons come before it, but an operator must see it
		if r.Code == "unclear" && !strings.Contains(l.Text, r.Message) {
			l.Text += " " + plain.Sentence(r.Message)
		}
	}
	if !d.IsAssumed() {
		l.Hint = plain.Sentence(d.Next())
	}
	if c.Level == recommend.Low {
		l.Severity = finding.Warning
	}
	return l
}

// modelDoubt says how well the model behind simulated times is known at this scale, and how far this
// uncertainty moves the best size; empty without a bracket.
func modelDoubt(rec *record.Record, d *Document) string {
	if d.Bracket == nil {
		return ""
	}
	text := " Published data leave the latency at this scale uncertain"
	if rec.Fabric != nil && rec.Fabric.Bracket != nil && rec.Fabric.Bracket.Factor >= 1.5 {
		text = fmt.Sprintf(" Published data leave the latency at %s uncertain by %.0f ×", unit.Count(int64(rec.World.Nodes), "node"), rec.Fabric.Bracket.Factor)
	}
	if ends := d.Ends(); ends != "" {
		text += " and " + ends
	}
	return text + "."
}
