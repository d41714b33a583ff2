// Package advice makes a recommendation that people can read: the answer with its model, one sentence to
// act on, the table, the reasons, and the lines for the trainer's configuration. [Recommend] asks
// bench/answers/recommend and makes the [Document]; [Blocks] and WriteJSON show it.
package advice

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// Schema names the version of recommend.json.
const Schema = "zbench.advice/1"

// Rules is the version of the rules that make the findings of a recommendation.
const Rules = 1

// SchemaJSON is the JSON Schema (draft 2020-12) of WriteJSON's output.
//
//go:embed schema/v1.json
var SchemaJSON []byte

// Input is the input of a recommendation.
type Input struct {
	// Sources are the records, with their samples if available.
	Sources []recommend.Source
	// Framework is a name or an alias in bench/job/trainer.
	Framework string
	// Model is the model; nil if unknown.
	Model   *trainer.Model
	Compute trainer.Compute
	// Pace is the time per token for a rule; nil for no rule. Rate names the FLOP/s that Pace assumes.
	Pace *recommend.Pace
	Rate string
	Run  trainer.Run
	// MemBudget is in bytes, 0 for no limit.
	MemBudget int64
	// Config is the trainer's present configuration; nil if unknown. ConfigFile is the configuration's file
	// name.
	Config     *trainer.Config
	ConfigFile string
	// ConfigForm names the part of the file that was read. ConfigNotes says what could not be read.
	// ConfigUnread lists settings that no trainer reads.
	ConfigForm                string
	ConfigNotes, ConfigUnread []string
	// Asked is the user's request without the settings of the configuration file; nil if there is none.
	Asked *spec.Advice
	// Rescale allows curves of another number of ranks.
	Rescale bool
	// Bootstrap is the number of resampled curves.
	Bootstrap int
	Seed      uint64
	// CommandLine contains the flags of this request.
	CommandLine []string
	// Observed are timed steps by setting; nil for none.
	Observed *spec.Observed
	// Contention is the measured contention; nil assumes the default.
	Contention *spec.Contention
	// Plans keeps plans for the next recommendation for the same model; nil keeps none.
	Plans *recommend.Plans
}

// Document is a whole recommendation.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Sentence is the recommendation in one sentence.
	Sentence string `json:"sentence"`
	// Model describes the gradients; null if the model is unknown.
	Model *ModelFacts `json:"model"`
	// Compute says where the times of the passes come from; empty if they are unknown.
	Compute string `json:"compute"`
	// Rate names the FLOP/s that convert the tokens of a rule to time; absent if there is no rule.
	Rate string `json:"rate,omitempty"`
	// Config is the trainer's present configuration; null if none was given.
	Config *ConfigFacts `json:"config"`
	// CurveSHA256 is the SHA-256, in hexadecimal, of the names, sizes and times of the curves behind the
	// answer. Snippets carry the beginning of this hash.
	CurveSHA256 string `json:"curve_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
	// Snippets spell the setting in the syntax of each tool; empty without an answer.
	Snippets []trainer.Snippet `json:"snippets"`
	// Answer is the recommendation with its reasons, in base units.
	Answer recommend.Answer `json:"answer"`
	// BlockElements is the number of elements in a block, for a trainer whose setting counts blocks;
	// otherwise 0.
	BlockElements int64 `json:"block_elements"`
	// CommandLine are the flags that repeat the request.
	CommandLine []string `json:"command_line"`
	// Assumed lists the assumptions, in words, if the user gave no model; otherwise absent.
	Assumed []string `json:"assumed,omitempty"`
	// Bracket is the answer with the fastest and with the slowest constants of the model behind simulated
	// curves; absent if no curve has a bracket.
	Bracket *Bracket `json:"bracket,omitempty"`
	// form is the title of the first snippet. Knob uses it if a rule leaves no snippets.
	form string
	// Judgement is the result as findings; absent in files of earlier versions.
	Judgement *finding.Judgement `json:"judgement,omitempty"`
}

// ModelFacts describes the gradients.
type ModelFacts struct {
	// Name of the model or of its file.
	Name string `json:"name"`
	// Source of the list of tensors.
	Source string `json:"source"`
	// Tensors is the number of gradient tensors that are not empty.
	Tensors int `json:"tensors"`
	// Elements is the number of elements of all gradients.
	Elements int64 `json:"elements"`
	// Largest is the number of elements of the largest tensor.
	Largest int64 `json:"largest"`
	// Experts is the number of elements that belong to routed experts.
	Experts int64 `json:"experts"`
	// Active is the number of parameters that a token uses; 0 if unknown.
	Active int64 `json:"active"`
	// Listed is false if the tensors were derived from a total instead of a list.
	Listed bool `json:"listed"`
	// Notes are warnings about the list, in words.
	Notes []string `json:"notes"`
}

// ConfigFacts holds the settings that were read from the trainer's own configuration.
type ConfigFacts struct {
	// File is the name of the configuration that was read.
	File string `json:"file"`
	// Elements is the bucket size in elements; 0 if the file sets none.
	Elements int64 `json:"elements"`
	// Overlap is true if communication overlaps with computation.
	Overlap bool `json:"overlap"`
	// Notes are remarks on the configuration, in words.
	Notes []string `json:"notes"`
	// Read lists each part of the run with its source, in words: "file: TP 2, ZeRO 1; flags: accumulation
	// 4; default: PP 1"; absent in files of earlier versions.
	Read string `json:"read,omitempty"`
}

// Recommend computes the recommendation. If an input is missing, the document's answer names it.
// Contradictory input is an error.
func Recommend(in Input) (*Document, error) {
	t, err := trainer.ByName(in.Framework)
	if err != nil {
		return nil, err
	}
	curves, err := recommend.Curves(in.Sources)
	if err != nil {
		return nil, err
	}
	in.Run.GradDtype, in.Run.ParamDtype = cmp.Or(in.Run.GradDtype, t.GradDtype), cmp.Or(in.Run.ParamDtype, "bfloat16")
	q := recommend.Question{
		Fault: faultOf(in.Sources), Unclear: cmp.Or(slice.Map(in.Sources, func(s recommend.Source) string { return s.Unclear })...),
		Curves: curves, Trainer: in.Framework, Run: in.Run, Backward: in.Compute.Backward, Forward: in.Compute.Forward,
		ComputeGuessed: !in.Compute.Measured, MemBudget: in.MemBudget, Rescale: in.Rescale, Bootstrap: in.Bootstrap, Seed: in.Seed, Plans: in.Plans,
		Rule: in.Pace,
	}
	if len(in.Sources) > 0 {
		q.Again = in.Sources[0].Again
	}
	d := &Document{Schema: Schema, Snippets: []trainer.Snippet{}, CommandLine: append([]string{}, in.CommandLine...)}
	if m := in.Model; m != nil {
		q.Params, q.ParamsGuessed = trainer.WithBlocks(m.Params), !m.Listed
		d.Model = facts(m)
		if t.Unit == trainer.Blocks {
			d.BlockElements = t.Default(q.Params, in.Run)
		}
	}
	if c := in.Contention; c != nil {
		q.Slower, q.Contention = c.Messages, c.Compute
	}
	d.configure(&q, in)
	if q.Observed, err = observations(t, in, q.Params); err != nil {
		return nil, err
	}
	if d.Answer, err = recommend.Ask(q); err != nil {
		return nil, err
	}
	switch f := d.Answer.Observed; {
	case f != nil && f.Fits:
		d.Compute = "inferred from the observed steps"
	case in.Compute.Known():
		d.Compute = in.Compute.Source
	}
	if d.Answer.Rule != nil {
		d.Rate = in.Rate
	}
	d.CurveSHA256 = hash(curves, d.Answer.Curves)
	d.spell(t, in, q.Params)
	d.Sentence = d.sentence()
	return d, nil
}

// spell fills in Snippets with the setting in the syntax of each tool. For a rule it sets only the title,
// because a rule has no line to copy.
func (d *Document) spell(t trainer.Trainer, in Input, params []trainer.Param) {
	if !d.Answered() {
		return
	}
	all := t.Snippets(trainer.Spelling{
		Setting: d.Answer.Elements, Params: params, Run: d.Answer.Advised, Curve: d.CurveSHA256[:16], Simulated: d.Answer.Simulated,
		Config: in.Config, File: in.ConfigFile, FrontEnd: in.Framework,
	})
	if d.form = all[0].Title; d.Answer.Verdict == recommend.Recommended {
		d.Snippets = all
	}
}

// faultOf returns the first fault that a source shows; nil if there is none.
func faultOf(sources []recommend.Source) *recommend.Fault {
	for _, s := range sources {
		if s.Fault != nil {
			return s.Fault
		}
	}
	return nil
}

// FixFirst reports whether there is no setting because of a hardware fault.
func (d *Document) FixFirst() bool {
	return d != nil && d.Answer.Refusal != nil && d.Answer.Refusal.Code == recommend.FixFirst
}

// configure copies the trainer's present settings into the question.
func (d *Document) configure(q *recommend.Question, in Input) {
	if in.Config == nil {
		return
	}
	d.Config = &ConfigFacts{File: in.ConfigFile, Overlap: !in.Run.NoOverlap, Notes: slices.Concat([]string{}, in.ConfigNotes, in.Config.Notes), Read: readFrom(in)}
	if n, set := in.Config.Setting(q.Params, in.Run); set {
		d.Config.Elements, q.Current = n, n
	} else if len(q.Params) > 0 {
		d.Config.Notes = append(d.Config.Notes, "it sets no bucket size: the trainer's default counts")
	}
	d.Config.Notes = append(d.Config.Notes, in.Config.Doubts(q.Params)...)
}

// Of reports whether the recommendation was made from these records' curves.
func (d *Document) Of(sources []recommend.Source) bool {
	curves, err := recommend.Curves(sources)
	return err == nil && hash(curves, d.Answer.Curves) == d.CurveSHA256
}

func facts(m *trainer.Model) *ModelFacts {
	return &ModelFacts{
		Name: m.Name, Source: m.Source, Elements: m.Total(), Largest: m.Largest(),
		Experts: m.ExpertTotal(), Active: m.ActiveParams, Listed: m.Listed, Notes: append([]string{}, m.Notes...),
		Tensors: slice.Count(m.Params, func(p trainer.Param) bool { return p.Elements > 0 }),
	}
}

// hash returns the hash of the names, sizes and times of the used curves.
func hash(curves []recommend.Curve, used []recommend.Used) string {
	type point struct {
		Bytes   int64
		Seconds float64
	}
	sum := sha256.New()
	for _, u := range used {
		for _, c := range curves {
			ranks := cmp.Or(u.RescaledFrom, u.Ranks)
			if c.Collective != u.Collective || c.Ranks != ranks || c.InPlace != u.InPlace || c.Dtype != u.Dtype || c.Timing != u.Timing || len(c.Points) != u.Sizes {
				continue
			}
			text, err := json.Marshal(slice.Map(c.Points, func(p recommend.Point) point { return point{p.Bytes, p.Seconds} }))
			if err != nil {
				text = []byte(err.Error()) // a NaN, which no record can hold
			}
			sum.Write(fmt.Appendf(nil, "%s %d %s %t %s %s\n", c.Collective, c.Ranks, c.Dtype, c.InPlace, c.Timing, text))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
