package advice

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/recommend"
	"zbench/bench/spec"
	"zbench/bench/table"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// Assumed is the question that is asked of a record where the user asked none: a dense
// model on Megatron's distributed optimizer with Adam, one data-parallel group of all
// ranks. The time of backward stays unknown, because no default of it is right for two
// clusters.
func Assumed() *spec.Advice {
	return &spec.Advice{Framework: trainer.Assumed, Preset: assumedModel, Optimizer: "adam", GradDtype: "float", Zero: new(1)}
}

// reduced makes a question one of the trainer that calls all_reduce alone.
func reduced(a *spec.Advice) {
	a.Framework, a.Optimizer, a.GradDtype, a.Zero = trainer.Unsharded, "", "", nil
}

const assumedModel = "llama3-8b"

// assumptions are those of a question in words; the first are its sentence's. The ranks are
// the record's.
func assumptions(q *Question, ranks int) []string {
	who, dtype := "Megatron's distributed optimizer with Adam", "float32"
	if q.in.Framework == trainer.Unsharded {
		who, dtype = "PyTorch DDP", "bfloat16"
	}
	return []string{
		q.in.Model.Name + " on " + who, fmt.Sprintf("data parallel over %s", unit.Count(int64(ranks), "rank")),
		dtype + " reduction", "backward time unknown",
	}
}

// assumedFlops is what a GPU is taken to reach in the rows that give tokens: a round
// figure for bfloat16 training on an MI300X, a fifth of its published peak of
// 1.3 PFLOP/s.
const assumedFlops = 250e12

// whatIfs are the other questions whose answers stand beside the assumed one: each
// changes one thing.
var whatIfs = []otherQuestion{
	{"4k tokens/microbatch", tokens(4 << 10)},
	{"16k tokens/microbatch", tokens(16 << 10)},
	{"32k tokens/microbatch", tokens(32 << 10)},
	{"PyTorch DDP, bfloat16", reduced},
}

type otherQuestion struct {
	name   string
	change func(*spec.Advice)
}

func tokens(n int64) func(*spec.Advice) {
	return func(a *spec.Advice) { a.Tokens, a.Flops = n, assumedFlops }
}

// AskAssumed answers the assumed question, with the answers of the others beside it. Where
// the sharded optimizer's collectives were not measured and all_reduce was, the question is
// PyTorch DDP's, and a caveat names what is missing. It is nil where the record does not tell
// the number of ranks, or has no measurement. What the curves lack is a refusal in the
// document, never an error of the command that asks.
func AskAssumed(sources []recommend.Source) (*Document, error) {
	if !slices.ContainsFunc(sources, countsRanks) {
		return nil, nil
	}
	d, err := askAssumed(Assumed(), whatIfs, sources)
	if err != nil {
		return nil, err
	}
	if r := d.Answer.Refusal; r != nil && len(r.Missing) > 0 {
		said := func(who string) string { return strings.Replace(r.Message, "the trainer", who, 1) }
		d.Sentence = "No bucket size: " + said("Megatron's distributed optimizer, which is assumed,") + "."
		unsharded := Assumed() // where only all_reduce was measured
		reduced(unsharded)
		other, err := askAssumed(unsharded, whatIfs[:len(whatIfs)-1], sources)
		if err != nil {
			return nil, err
		}
		if other.Answered() {
			other.Caveats = []string{said("Megatron's distributed optimizer") + ". " + plain.Sentence(r.Hint)}
			d = other
		}
	}
	d.store(sources)
	return d, nil
}

// askAssumed answers one question that nobody asked.
func askAssumed(want *spec.Advice, others []otherQuestion, sources []recommend.Source) (*Document, error) {
	q, err := Prepare(want)
	if err != nil {
		return nil, err
	}
	plans := &recommend.Plans{}
	d, err := q.sharing(plans).Ask(sources)
	if err != nil {
		return nil, err
	}
	d.Assumed = assumptions(q, d.Answer.Run.DP)
	if d.Answer.Verdict == recommend.NoCommunication || d.FixFirst() {
		return d, nil
	}
	for _, x := range others {
		changed := *want
		x.change(&changed)
		row, err := whatIf(x.name, &changed, plans, sources)
		if err != nil {
			return nil, err
		}
		d.WhatIf = append(d.WhatIf, *row)
	}
	if d.Answered() {
		d.Sentence = d.sentence()
	}
	return d, nil
}

// countsRanks reports whether a record has a result whose number of ranks is known.
func countsRanks(s recommend.Source) bool {
	return ranksOf([]recommend.Source{s}) > 1 || s.Record.World.Ranks == 1
}

// WhatIf is the answer to one of the other questions.
type WhatIf struct {
	// Name of the changed assumption.
	Name string `json:"name"`
	// CommandLine is the flags of this request.
	CommandLine []string `json:"command_line"`
	// Setting is the answer in the trainer's own unit, rounded as the bracket allows; empty
	// without an answer.
	Setting string `json:"setting"`
	// Range of the answer within the model's bracket, in the trainer's own unit; absent
	// without a bracket.
	Range string `json:"range,omitempty"`
	// Elements is the setting to use, in elements; 0 without an answer.
	Elements int64 `json:"elements"`
	// Keep is true if the default's cost is too small to change it.
	Keep bool `json:"keep"`
	// Default is the trainer's default in its own unit; empty where it was not tried.
	Default string `json:"default"`
	// DefaultCost is what the trainer's default costs over the setting of least regret, as
	// a share of a step; null where it was not tried, or no percentage can be given.
	DefaultCost *float64 `json:"default_cost"`
	// Confidence is the level of the answer; empty without one.
	Confidence string `json:"confidence"`
	// Bracket is the answer at both ends of the model; absent where it has no bracket.
	Bracket *Bracket `json:"bracket,omitempty"`
	// Refusal lists what is missing; absent with an answer.
	Refusal *recommend.Refusal `json:"refusal,omitempty"`
}

func whatIf(name string, want *spec.Advice, plans *recommend.Plans, sources []recommend.Source) (*WhatIf, error) {
	q, err := Prepare(want)
	if err != nil {
		return nil, err
	}
	q = q.sharing(plans)
	d, err := q.AskBriefly(sources)
	if err != nil {
		return nil, err
	}
	w := &WhatIf{Name: name, CommandLine: want.Line(), Refusal: d.Answer.Refusal}
	if !d.Answered() {
		return w, nil
	}
	if d.Bracket, err = q.bracket(d, sources); err != nil {
		return nil, err
	}
	a := &d.Answer
	w.Elements, w.Keep, w.Confidence, w.Bracket = a.Elements, a.Keep, a.Confidence.Level, d.Bracket
	w.Setting = d.Amount(a.Elements)
	w.Range = besides(w.Setting, d.Range())
	if a.Default != nil {
		w.Default, w.DefaultCost = d.Amount(a.Default.Elements), d.defaultCost()
	}
	return w, nil
}

// besides is a range as it stands beside the setting: none where it is the setting alone,
// and without a unit that all three numbers have.
func besides(setting, span string) string {
	_, unit, _ := strings.Cut(setting, " ")
	switch words := strings.Fields(span); {
	case span == setting:
		return ""
	case len(words) == 4 && words[3] == unit:
		return strings.Join(words[:3], " ")
	}
	return span
}

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
	return said + fmt.Sprintf(": a training step is %s longer with the default, %s%s.", unit.Share(costs), d.Amount(a.Default.Elements), d.atWorst(costs))
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
		return "as good within " + unit.Share(recommend.PlateauWidth) + ": " + d.stretch(*p)
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
		costs = "+" + unit.Share(*x.DefaultCost) + " (" + x.Default + ")"
	}
	return []string{x.Name, setting, x.Range, costs}
}
