package advice

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// `published` is a real job: Llama 3.1 8B on 8 MI300X in Megatron-LM, two sequences of 8,192 tokens per
// microbatch, no tensor parallelism, no pipeline parallelism, no recomputation, FP8. AMD's Cluster Validation
// Suite expects 6,500 tokens/s per GPU (380 TFLOP/s if attention's products are counted):
// https://rocm.docs.amd.com/projects/cvs/en/latest/reference/configuration-files/megatron.html of 2025-11-12,
// read 2026-11-27. flops is the rate as trainer.Load counts it: 6 operations per parameter and token, for 7.5
// billion parameters.
var published = struct {
	tokens int64
	flops  float64
	source string
}{2 * 8192, 293e12, "AMD's target for Llama 3.1 8B on MI300X"}

// Assumed returns the request that is assumed for a record if the user made no request. It is the published
// job on Megatron's distributed optimizer with Adam, with one data-parallel group of all ranks.
func Assumed() *spec.Advice {
	return &spec.Advice{Framework: trainer.Assumed, Preset: assumedModel, Optimizer: "adam", GradDtype: "float", Zero: new(1), Tokens: published.tokens}
}

const assumedModel = "llama3-8b"

// assumptions returns the assumptions of a question in words. The first two assumptions go into the
// answer's sentence. ranks is the record's number of ranks.
func assumptions(q *Question, ranks int) []string {
	who, dtype := "Megatron's distributed optimizer with Adam", "float32"
	if q.in.Framework == trainer.Unsharded {
		who, dtype = "PyTorch DDP", "bfloat16"
	}
	return []string{
		q.in.Model.Name + " on " + who, fmt.Sprintf("data parallel over %s", unit.Count(int64(ranks), "rank")),
		dtype + " reduction", fmt.Sprintf("%s tokens a microbatch at %.4g TFLOP/s, %s", unit.Comma(published.tokens), published.flops/1e12, strings.Replace(published.source, " for Llama 3.1 8B", "", 1)),
	}
}

// AskAssumed answers the assumed question. If all_reduce was measured but the sharded optimizer's collectives
// were not, it answers for PyTorch DDP. It returns nil if the record's number of ranks is unknown, or if it
// has no measurement. Missing curves are a refusal in the document, never an error of the command.
func AskAssumed(sources []recommend.Source) (*Document, error) {
	if !slices.ContainsFunc(sources, countsRanks) {
		return nil, nil
	}
	d, err := askAssumed(Assumed(), sources)
	if err != nil {
		return nil, err
	}
	if r := d.Answer.Refusal; r != nil && len(r.Missing) > 0 {
		d.Sentence = "No bucket size: " + strings.Replace(r.Message, "the trainer", "Megatron's distributed optimizer, which is assumed,", 1) + "."
		unsharded := &spec.Advice{Framework: trainer.Unsharded, Preset: assumedModel, Tokens: published.tokens}
		other, err := askAssumed(unsharded, sources) // if only all_reduce was measured
		if err != nil {
			return nil, err
		}
		if other.Answered() {
			d = other
		}
	}
	d.store(sources)
	return d, nil
}

// askAssumed answers one assumed question.
func askAssumed(want *spec.Advice, sources []recommend.Source) (*Document, error) {
	q, err := Prepare(want)
	if err != nil {
		return nil, err
	}
	d, err := q.Ask(sources)
	if err != nil {
		return nil, err
	}
	d.Assumed = assumptions(q, d.Answer.Run.DP)
	if d.Answered() {
		d.Sentence = d.sentence()
	}
	return d, nil
}

// countsRanks reports whether a record has a result whose number of ranks is known.
func countsRanks(s recommend.Source) bool {
	return ranksOf([]recommend.Source{s}) > 1 || s.Record.World.Ranks == 1
}

// IsAssumed reports whether the user gave no model, so that the settings were assumed.
func (d *Document) IsAssumed() bool { return d != nil && len(d.Assumed) > 0 }

// Command returns the command that answers for the user's own model on a trainer, from the curves in a folder
// or in several records and logs.
func Command(framework string, paths ...string) string {
	line := []string{"zbench", "recommend"}
	for _, p := range paths {
		if strings.HasPrefix(p, "-") { // a path, not a flag
			p = "./" + p
		}
		line = append(line, p)
	}
	return plain.Shell(append(line, "--framework", framework, "--params", "FILE", "--backward-ms", "MS")...)
}
