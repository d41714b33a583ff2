package advice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// Facts lists the inputs of the request.
func (d *Document) Facts() (facts document.Facts) {
	a := &d.Answer
	r := a.Run
	facts.Add("Trainer", fmt.Sprintf("%s, %s; gradients %s, parameters %s, ZeRO stage %d", d.trainer(), plain.Count(r.DP, "data-parallel rank"), r.GradDtype, r.ParamDtype, r.Zero))
	if r.EP > 1 || r.Instances > 1 || r.Accum > 1 {
		facts.Add("Groups", fmt.Sprintf("expert parallel %d, optimizer instances or replicas %d, microbatches per step %d", max(1, r.EP), max(1, r.Instances), r.Microbatches()))
	}
	if m := d.Model; m != nil {
		text := fmt.Sprintf("%s: %s elements in %s, the largest %s", m.Name, recommend.Count(m.Elements), plain.Count(m.Tensors, "tensor"), recommend.Count(m.Largest))
		if m.Experts > 0 {
			text += fmt.Sprintf("; %s in routed experts", recommend.Count(m.Experts))
		}
		facts.Add("Model", text+". "+m.Source)
		for _, n := range m.Notes {
			facts.Add("", n)
		}
	}
	if a.Backward != nil && a.Forward != nil {
		facts.Add("Computation", fmt.Sprintf("backward %s, forward %s a microbatch: %s", unit.Seconds(*a.Backward), unit.Seconds(*a.Forward), d.Compute))
	} else if d.Answered() {
		facts.Add("Computation", "not known: a rule, with tokens at "+cmp.Or(d.Rate, "no known rate"))
	}
	if d.IsAssumed() {
		facts.Add("Assumed", strings.Join(d.Assumed, ", "))
	}
	if b := d.Bracket; b != nil {
		facts.Add("Model range", d.Range()+": the answer at the ends of a model that is not measured at this scale")
		facts.Add("", "fast end: "+b.Fastest.Assumes)
		facts.Add("", "slow end: "+b.Slowest.Assumes)
	}
	if len(d.CommandLine) > 0 {
		facts.Add("Asked with", plain.Shell(d.CommandLine...))
	}
	for _, u := range a.Curves {
		facts.Add("Curve", curveText(u))
	}
	facts = append(facts, d.memory()...)
	facts = append(facts, d.setNow()...)
	if a.Verdict == recommend.Recommended && d.compares() {
		facts.Add(WithinTitle(), d.stretches(a.Within)+": a step at most "+unit.Share(recommend.PlateauWidth)+" longer than with the best size, as measured and on average")
	}
	return facts
}

// trainer returns the display name of the training framework.
func (d *Document) trainer() string {
	if t, err := trainer.ByName(d.Answer.Trainer); err == nil {
		return t.Title
	}
	return d.Answer.Trainer
}

// memory describes the memory that the setting takes in addition to the trainer's own; empty if the trainer
// takes none.
func (d *Document) memory() (facts document.Facts) {
	a := &d.Answer
	t, err := trainer.ByName(a.Trainer)
	if err != nil || t.MemoryIs == "" || a.Best == nil {
		return nil
	}
	text := fmt.Sprintf("%s at this setting", unit.Bytes(a.Best.Memory))
	if a.Default != nil && a.Default.Memory != a.Best.Memory {
		text += fmt.Sprintf(", %s at the default", unit.Bytes(a.Default.Memory))
	}
	facts.Add("Memory", fmt.Sprintf("%s: %s; the largest message has %s", text, t.MemoryIs, unit.Bytes(a.Best.LargestBytes)))
	return facts
}

// setNow describes the trainer's present setting; empty if unknown.
func (d *Document) setNow() (facts document.Facts) {
	c := d.Config
	if c == nil {
		return nil
	}
	text := "no bucket size"
	if c.Elements > 0 {
		text = d.Amount(c.Elements) + " (" + recommend.Count(c.Elements) + " elements)"
	}
	if !c.Overlap {
		text += ", overlap off"
	}
	facts.Add("Set now", c.File+": "+text)
	facts = append(facts, d.ReadFrom()...)
	for _, n := range c.Notes {
		facts.Add("", n)
	}
	return facts
}

// ReadFrom returns the parts of the question with the place that each comes from: the trainer's file, a
// flag or a default. It is empty without a file.
func (d *Document) ReadFrom() (facts document.Facts) {
	if c := d.Config; c != nil && c.Read != "" {
		facts.Add("Read from", c.File+": "+c.Read)
	}
	return facts
}

func curveText(u recommend.Used) string {
	place := "out of place"
	if u.InPlace {
		place = "in place"
	}
	s := fmt.Sprintf("%s of %d ranks, %s, %s, %s: %s from %s to %s; about %s + S / %s",
		u.Collective, u.Ranks, u.Dtype, place, u.Timing, plain.Count(u.Sizes, "size"), unit.Bytes(u.MinBytes), unit.Bytes(u.MaxBytes), unit.Seconds(u.Alpha), unit.Rate(u.Bandwidth))
	if u.RescaledFrom > 0 {
		s += fmt.Sprintf("; rescaled from %d ranks", u.RescaledFrom)
	}
	if u.Simulated {
		s += "; simulated"
	}
	return s
}

// Reasoning is one part of the explanation: a heading and its sentences.
type Reasoning struct {
	Title string
	Lines []string
}

// Reasons explains the answer.
func (d *Document) Reasons() []Reasoning {
	a := &d.Answer
	if !d.Answered() {
		return nil
	}
	help := slice.Map(a.WouldHelp, func(h recommend.Help) string {
		if h.Gain == nil || h.Step == nil {
			return h.Message
		}
		return h.Message + fmt.Sprintf(": %s less time for each token (a step of %s)", unit.Share(*h.Gain), unit.Seconds(*h.Step))
	})
	confidence := slice.Map(a.Confidence.Reasons, func(r recommend.Reason) string { return r.Message + " (at most " + r.Level + ")" })
	if b := a.Bootstrap; b != nil {
		confidence = append(confidence, fmt.Sprintf("of %d resampled curves (%s) 95 %% ask for %s to %s, %s lie in the plateau; exposed %s to %s",
			b.Replicates, b.From, d.Amount(b.Lo), d.Amount(b.Hi), unit.Share(b.InPlateau), unit.Seconds(b.ExposedLo), unit.Seconds(b.ExposedHi)))
		if d.unfounded() == "" {
			confidence = append(confidence, "by 95 % of them a step is at most "+AtMost(b.CostHi)+" longer than with the best size of each")
		}
	}
	all := []Reasoning{
		{"What each change gains", d.gains()},
		{"Why not smaller", []string{a.WhyNotSmaller}},
		{"Why not larger", []string{a.WhyNotLarger}},
		{"What limits the step", slice.Map(a.Limits, func(l recommend.Limit) string { return l.Message })},
		{"What would help more than the bucket", help},
		{"Confidence: " + a.Confidence.Level, confidence},
		{"Doubts about the curves", slice.Map(a.Warnings, func(w record.Warning) string { return w.Message + ": " + w.Hint })},
	}
	return slices.DeleteFunc(all, func(r Reasoning) bool { return len(r.Lines) == 0 || r.Lines[0] == "" })
}

// gains lists the changes from the user's settings to the answer, one per line.
func (d *Document) gains() []string {
	var lines []string
	if d.unfounded() != "" {
		return nil
	}
	for i, c := range d.Answer.Changes {
		text := fmt.Sprintf("%s: %s less of a step, which then takes %s", c.Name, unit.Share(max(0, c.Gain)), unit.Seconds(c.Step))
		if i == 0 {
			text = fmt.Sprintf("the bucket size alone, %s, with your flags: %s less of a step, which then takes %s",
				d.named(c.Elements), unit.Share(max(0, c.Gain)), unit.Seconds(c.Step))
		}
		lines = append(lines, text)
	}
	return lines
}

// fewRows is the number of settings that fit on a screen.
const fewRows = 12

// WriteJSON writes the document as recommend.json, indented. Equal documents give equal bytes.
func (d *Document) WriteJSON(w io.Writer) error {
	return jsonfile.Write(w, "advice", d)
}

// maxDocument bounds the size of recommend.json in bytes. One setting takes about 0.5 KiB.
const maxDocument = 64 << 20

// Read reads WriteJSON's output. If the content does not match the checksum, Read marks the document as
// edited.
func Read(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("advice: read: %w", err)
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("advice: not a recommendation: %w", err)
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("advice: the file has %q, this zbench reads %q", d.Schema, Schema)
	}
	a := &d.Answer
	if a.Verdict == recommend.Recommended && (a.Best == nil || a.Plateau == nil || len(a.Table) == 0 || a.Best.Step <= 0) ||
		a.Verdict == recommend.Refused && a.Refusal == nil || a.Verdict == recommend.Ruled && (a.Rule == nil || len(a.Rule.Points) == 0) {
		return nil, fmt.Errorf("advice: %s lacks its fields", a.Verdict)
	}
	if jsonfile.Edited(text) {
		d.Judgement = nil // the judgement may belong to another answer
		d.Sentence = "EDITED after zbench wrote it: " + d.Sentence
		a.Warnings = append(a.Warnings, record.Warning{
			Code: record.CodeEdited, Message: "the recommendation was edited after zbench wrote it: its content does not fit its checksum",
			Hint: "zbench recommend on the folder computes it again",
		})
	}
	if a.Least == nil || a.Least.Step <= 0 {
		a.Least = a.Best
	}
	if len(a.Within) == 0 && a.Plateau != nil { // written by a version without ranges
		a.Within = []recommend.Range{*a.Plateau}
	}
	return d, nil
}
