package report

import (
	"fmt"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/recommend"
	"zbench/bench/record"
)

// AdviceLines are the end of a verdict: what is assumed, what to set and what that gains,
// what is as good, how far to trust it, and what to do next. Of a record without
// a recommendation they say whether it is simulated.
func AdviceLines(rec *record.Record, d *advice.Document) []VerdictLine {
	if d == nil {
		return simulatedLines(rec)
	}
	a := &d.Answer
	if a.Verdict != recommend.Recommended {
		l := VerdictLine{Kind: KindAdvice, Text: capital(strings.TrimPrefix(d.Sentence, "SIMULATED: ")), Severity: VerdictWarning}
		if a.Refusal != nil {
			l.Hint = sentence(a.Refusal.Do())
		}
		return append([]VerdictLine{l}, simulatedLines(rec)...)
	}
	set := VerdictLine{Kind: KindAdvice, Text: "Bucket size: " + d.Advice()}
	if a.Default != nil && a.Best != nil && a.Default.Step > 0 && a.Default.Unfounded == "" && a.Best.Unfounded == "" {
		set.Share = max(0, 1-a.Best.Step/a.Default.Step)
	}
	var out []VerdictLine
	if d.IsAssumed() {
		out = append(out, VerdictLine{Kind: KindAssumed, Text: d.Assumes()})
	}
	out = append(out, set)
	if as := d.AsGood(); as != "" {
		out = append(out, VerdictLine{Kind: KindAsGood, Text: as})
	}
	return append(out, confidenceLine(rec, d))
}

// confidenceLine gives the confidence in the answer, and what limits it; of a
// simulation that it is one, and how far its model is known.
func confidenceLine(rec *record.Record, d *advice.Document) VerdictLine {
	c := &d.Answer.Confidence
	l := VerdictLine{Kind: KindConfidence, Text: "Confidence " + c.Level}
	switch why := c.Why(); {
	case d.Answer.Simulated:
		l.Text += ". " + mark(rec) + ": " + notHardware + "." + modelDoubt(rec, d)
	case why != nil:
		l.Text += ": " + why.Message + "."
	default:
		l.Text += "."
	}
	if !d.IsAssumed() {
		l.Hint = sentence(d.Next())
	}
	if c.Level == recommend.Low {
		l.Severity = VerdictWarning
	}
	return l
}

// modelDoubt says how far the model behind simulated times is known at this scale, and
// how far that moves the best size; empty without a bracket.
func modelDoubt(rec *record.Record, d *advice.Document) string {
	if d.Bracket == nil {
		return ""
	}
	text := " Latency estimates at this scale differ"
	if rec.Fabric != nil && rec.Fabric.Bracket != nil && rec.Fabric.Bracket.Factor >= 1.5 {
		text = fmt.Sprintf(" Latency estimates at %s differ %.0f ×", plural(int64(rec.World.Nodes), "node"), rec.Fabric.Bracket.Factor)
	}
	if ends := d.Ends(); ends != "" {
		text += " and " + ends
	}
	return text + "."
}

// notHardware says what simulated times are.
const notHardware = "a network model, not hardware, decided these times"

// simulatedLines label a record that no hardware was timed for.
func simulatedLines(rec *record.Record) []VerdictLine {
	if !rec.Simulated {
		return nil
	}
	return []VerdictLine{{Kind: KindSimulated, Text: mark(rec) + ": " + notHardware + ".", Severity: VerdictWarning}}
}
