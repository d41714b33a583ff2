package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/finding"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/test/schematest"
)

// whole is a recommendation with something in each of its lists.
func whole(t *testing.T) *advice.Document {
	t.Helper()
	in := input(t, "megatron", false)
	in.Bootstrap, in.ConfigFile = 3, "train.sh"
	c, err := trainer.ReadConfig("--use-distributed-optimizer --overlap-grad-reduce --ddp-bucket-size 1000000", "")
	require.NoError(t, err)
	in.Config = c
	c.Apply(&in.Run)
	d := give(t, in)
	d.CommandLine = append(d.CommandLine, "--dp", "64")
	d.Model.Notes = append(d.Model.Notes, "a note")
	d.Config.Notes = append(d.Config.Notes, "a note")
	d.Assumed, d.Rate = []string{"a"}, "r"
	end := advice.End{Assumes: "a", Elements: 2, To: 1, DefaultCost: new(0.5)}
	d.Bracket = &advice.Bracket{Lo: 1, Hi: 2, Fastest: end, Slowest: end}
	d.Answer.Rule = &recommend.Rule{Counts: recommend.Tokens, Unfounded: recommend.OneDip, Points: []recommend.RulePoint{{Amount: 1, Kept: 1, Best: 1, Elements: 1}}}
	a := &d.Answer
	a.Refusal = &recommend.Refusal{Code: "c", Message: "m", Hint: "h", Command: "c", Missing: []string{"all_reduce"}}
	a.Warnings = append(a.Warnings, record.Warning{Code: "c", Message: "m", Hint: "h"})
	a.WouldHelp = append([]recommend.Help{{Code: "c", Message: "m", Step: new(1.0), Gain: new(-0.5)}}, a.WouldHelp...)
	a.Changes = append(a.Changes, recommend.Change{Name: "n"})
	used := &a.Curves[0]
	used.Stride, used.RescaledFrom, used.WantMaxBytes = 8, 16, 1<<30
	used.Alpha = -1e-6
	used.Holes, used.Refine = append(used.Holes, recommend.Hole{Kind: recommend.TimeFalls}), append(used.Refine, 1)
	e := recommend.Estimate{Value: 1, Lo: 0.5, Hi: 2, Inferred: true}
	a.Observed = &recommend.Fit{
		Fits: true, Chance: 0.5, Compute: e, Contention: e, Network: e, Rest: e, Before: &recommend.Range{}, After: &recommend.Range{},
		Settings: []recommend.Observed{{Elements: 1, Unset: true, Buckets: 1, Steps: 6, Median: 1, Lo: new(0.5), Hi: new(2.0), Predicted: new(1.0), Fitted: 1}},
		Curve:    []recommend.Predicted{{Elements: 1, Step: 1, Lo: 0.5, Hi: 2}}, Why: []recommend.Cause{{Code: "c", Message: "m"}},
	}
	a.Scenarios[0].Contention, a.Scenarios[0].Rest = 0.1, 0.1
	run := trainer.Run{
		DP: 1, EP: 2, TP: 2, ETP: 2, FP8Gather: true, FP32Accumulation: true, GradDtype: "float", ParamDtype: "float", Zero: 1, Accum: 2, NoOverlap: true, NoGatherOverlap: true, PadBuckets: true,
		Instances: 2, LayerWise: true, LegacyLayout: true, GatherBytes: 1, KeepParams: true, RootUnit: true, OwnerReduce: true, FindUnused: true,
	}
	a.Run, a.Advised = run, run
	d.Snippets[0].Comments = "# c\n"
	a.Table, a.Scenarios, a.Within, a.Messages, a.Limits = a.Table[:1], a.Scenarios[:1], a.Within[:1], a.Messages[:1], a.Limits[:1]
	a.Table[0].Unfounded = recommend.OneDip
	d.Judgement = &finding.Judgement{Rules: 1, State: finding.Pass, Findings: finding.List{}}
	a.Curves, a.WouldHelp, d.Snippets = a.Curves[:1], a.WouldHelp[:1], d.Snippets[:1] // one of each kind is enough
	return d
}

// A recommendation that says why there is none fits, too.
func TestRefusalsFitTheSchema(t *testing.T) {
	s := schematest.Compile(t, advice.SchemaJSON)
	for verdict, change := range map[string]func(in *advice.Input){
		recommend.Refused:         func(in *advice.Input) { in.Model, in.Sources = nil, nil },
		recommend.NoCommunication: func(in *advice.Input) { in.Run.DP = 1 },
	} {
		in := input(t, "megatron", false)
		change(&in)
		d := give(t, in)
		require.Equal(t, verdict, d.Answer.Verdict)
		require.NoError(t, schematest.Fits(t, s, text(t, asJSON, d)), verdict)
	}
}

// What no recommendation has is refused.
func TestSchemaRefuses(t *testing.T) {
	good := text(t, asJSON, whole(t))
	d := whole(t)
	d.Answer.Refusal = nil
	refused := text(t, asJSON, d)
	d = whole(t)
	d.Answer.Rule = nil
	settled := text(t, asJSON, d)
	schematest.Refuses(t, advice.SchemaJSON, schematest.Changes{Good: good, Bad: map[string]string{
		"/schema":                            `"zbench.advice/0"`,
		"/sha256":                            `"none"`,
		"/curve_sha256":                      `"none"`,
		"/answer/schema":                     `"zbench.recommend/0"`,
		"/answer/verdict":                    `"perhaps"`,
		"/answer/refusal/missing/0":          `"all_reduce_perf"`,
		"/answer/rule/counts":                `"seconds"`,
		"/answer/rule/unfounded":             `"doubtful"`,
		"/answer/table/0/unfounded":          `"doubtful"`,
		"/answer/confidence/level":           `"total"`,
		"/answer/confidence/reasons/0/level": `"total"`,
		"/answer/messages/0/pass":            `"sideways"`,
		"/answer/observed/chance":            `1.5`,
		"/answer/observed/settings/0/steps":  `0`,
		"/answer/messages/0/collective":      `"all_reduce_perf"`,
		"/answer/curves/0/collective":        `"all_reduce_perf"`,
		"/answer/curves/0/holes/0/kind":      `"black"`,
	}}, schematest.Changes{Good: refused, Bad: map[string]string{"/answer/verdict": `"refused"`}}, schematest.Changes{Good: settled, Bad: map[string]string{"/answer/verdict": `"rule"`}})
}
