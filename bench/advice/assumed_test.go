package advice_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"zbench/bench/advice"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/trainer"
	"zbench/test/longtest"
	"zbench/test/schematest"
)

func assumed(t *testing.T, recs ...*record.Record) *advice.Document {
	t.Helper()
	var sources []recommend.Source
	for _, r := range recs {
		sources = append(sources, recommend.Source{Record: r})
	}
	d, err := advice.AskAssumed(sources)
	require.NoError(t, err)
	return d
}

// every is a sweep of the three collectives that gradients take.
func every(ranks int, simulated bool) *record.Record {
	return sweep(ranks, simulated, "all_reduce", "reduce_scatter", "all_gather")
}

// The assumed answer is that of the assumptions given one by one, and so is each row
// beside it.
func TestAssumedIsTheExplicitAnswer(t *testing.T) {
	rec := every(64, false)
	d := assumed(t, rec)
	explicit := func(framework, preset string, tokens int64, bootstrap int) *advice.Document {
		tr, err := trainer.ByName(framework)
		require.NoError(t, err)
		in := advice.Input{
			Sources: []recommend.Source{{Record: rec}}, Framework: framework, Bootstrap: bootstrap, Seed: 1,
			Run: trainer.Run{DP: 64, GradDtype: tr.GradDtype, ParamDtype: "bfloat16", Zero: tr.Stages[0]},
		}
		in.Model, err = trainer.Preset(preset)
		require.NoError(t, err)
		in.Model.Params = tr.Tensors(in.Model.Params)
		if tokens > 0 {
			work := float64(tokens) * float64(in.Model.ActiveParams)
			in.Compute = trainer.Compute{Backward: 4 * work / 250e12, Forward: 2 * work / 250e12, Source: "by hand"}
		}
		return give(t, in)
	}
	require.Equal(t, explicit("megatron", "llama3-8b", 0, 200).Answer, d.Answer)
	require.Nil(t, d.Answer.Backward, "the time of backward stays unknown")
	rows := []*advice.Document{
		explicit("megatron", "llama3-8b", 4096, 0), explicit("megatron", "llama3-8b", 16384, 0), explicit("megatron", "llama3-8b", 32768, 0),
		explicit("ddp", "llama3-8b", 0, 0),
	}
	require.Len(t, d.WhatIf, len(rows))
	for i, x := range d.WhatIf {
		a := rows[i].Answer
		require.Equal(t, a.Elements, x.Elements, x.Name)
		require.Equal(t, a.Keep, x.Keep, x.Name)
		require.Equal(t, a.Confidence.Level, x.Confidence, x.Name)
		require.InDelta(t, math.Max(a.Default.Step/a.Least.Step-1, a.Default.Score-a.Least.Score), *x.DefaultCost, 1e-12, x.Name)
		require.Nil(t, x.Refusal)
		require.NotEmpty(t, x.CommandLine)
	}
	require.NoError(t, schematest.Fits(t, schematest.Compile(t, advice.SchemaJSON), text(t, asJSON, d)))
}

// One sentence states for whom it is, the setting with its range and its gain; then come the
// confidence and whether it is simulated.
func TestAssumedSaysWhatItAssumes(t *testing.T) {
	const who = "ssuming Llama 3 8B on Megatron's distributed optimizer with Adam, data parallel over 64 ranks: set --ddp-bucket-size to "
	const measured = "A" + who + "470000000 (470 M elements; as good within 1 %: 260 M to 596 M): a training step is 8.1 % longer with the default, 64 M. Confidence low."
	d := assumed(t, every(64, false))
	require.Equal(t, measured, d.Sentence)
	require.Equal(t, "Bucket size, "+strings.TrimSuffix("a"+measured[1:], " Confidence low."), d.Judgement.Findings[0].Text)
	require.Contains(t, text(t, asText, d), "Assumed      Llama 3 8B on Megatron's distributed optimizer with Adam, data parallel over 64 ranks, float32")
	require.Contains(t, text(t, asText, d), "backward time unknown")
	require.Contains(t, assumed(t, every(64, true)).Sentence, "SIMULATED: A"+who)
	d = assumed(t, bracketedSweep(64))
	require.Regexp(t, `to [0-9]+ \([0-9]+ M elements; .* to .* within the range of the network model\): a training step is`, d.Sentence)
}

// Where only all_reduce was measured the answer is PyTorch DDP's, and what the sharded optimizer
// calls is named with how it is measured on the same ranks.
func TestAssumedNamesMissingCollectives(t *testing.T) {
	ask := func(again recommend.Again, collectives ...string) *advice.Document {
		d, err := advice.AskAssumed([]recommend.Source{{Record: sweep(64, true, collectives...), Again: again}})
		require.NoError(t, err)
		require.NoError(t, schematest.Fits(t, schematest.Compile(t, advice.SchemaJSON), text(t, asJSON, d)))
		return d
	}
	swept := recommend.Again{Flags: [][]string{{"--nodes", "8"}, {"-d", "bfloat16"}}}
	d := ask(swept, "all_reduce")
	require.True(t, d.Answered() && d.Kept())
	require.Equal(t, "ddp", d.Answer.Trainer)
	require.Contains(t, d.Sentence, "ssuming Llama 3 8B on PyTorch DDP, data parallel over 64 ranks: set bucket_cap_mb to ")
	require.Equal(t, []string{"Megatron's distributed optimizer calls reduce_scatter and all_gather of 64 ranks, and the curves are of all_reduce of 64 ranks. " +
		"Sweep them on the same ranks, `zbench collectives reduce_scatter all_gather --nodes 8 -d bfloat16`, and give that folder too."}, d.Caveats)
	require.Equal(t, d.Caveats[0], d.Judgement.Findings[1].Text)
	require.Len(t, d.WhatIf, 3)
	require.Contains(t, whatIf(t, d, 80), "4k tokens")
	require.Contains(t, d.Commands("x")[0].Line, "--framework ddp")

	d = ask(recommend.Again{Imported: true}, "all_reduce")
	require.Contains(t, d.Caveats[0], ". Run reduce_scatter_perf and all_gather_perf on the same ranks, and give those logs too.")

	d = ask(swept, "reduce_scatter")
	require.False(t, d.Answered())
	require.False(t, d.Kept(), "the user was not asked")
	require.Empty(t, d.Commands("x"), "the same curves have no answer for the user's own model either")
	require.NoError(t, d.Refused(), "the user asked nothing, and fails at nothing")
	require.Contains(t, d.Sentence, "Megatron's distributed optimizer, which is assumed, calls all_gather of 64 ranks")
	require.Equal(t, []string{"all_gather"}, d.Answer.Refusal.Missing)
	require.Equal(t, "sweep it on the same ranks, `zbench collectives all_gather --nodes 8 -d bfloat16`, and give that folder too", d.Answer.Refusal.Hint)

	d = ask(swept, "reduce_scatter", "all_gather")
	require.True(t, d.Answered() && d.Kept())
	require.Equal(t, []string{"all_reduce"}, d.WhatIf[3].Refusal.Missing)
	require.Regexp(t, `PyTorch DDP, bfloat16 +needs all_reduce`, whatIf(t, d, 80))
}

// One rank has nothing to reduce. Of a log that does not tell its ranks nothing is
// assumed.
func TestAssumedOfFewRanks(t *testing.T) {
	rec := every(1, true)
	rec.World.Ranks = 1
	d := assumed(t, rec)
	require.Equal(t, recommend.NoCommunication, d.Answer.Verdict)
	require.Empty(t, d.WhatIf)
	require.False(t, d.Kept())
	require.Nil(t, assumed(t, every(0, true)))
	require.Nil(t, assumed(t))
	require.False(t, (*advice.Document)(nil).IsAssumed())
}

// bracketedSweep is a simulated sweep whose model has a bracket: latencies from a
// tenth to ten times the middle.
func bracketedSweep(ranks int) *record.Record {
	rec := every(ranks, true)
	rec.World.Nodes, rec.Fabric = ranks/8, &record.Fabric{Bracket: &record.Ends{Fastest: "the fast end's source", Slowest: "the slow end's source", Factor: 100}}
	for i := range rec.Results {
		r := &rec.Results[i]
		wire := float64(r.Bytes) / 300e9
		r.Bracket = &record.Bracket{Seconds: 2e-4 + wire, Fastest: 2e-5 + wire, Slowest: 2e-3 + wire}
	}
	return rec
}

// The ends of the bracket are the answers of sweeps with the ends' own times.
func TestLongBracketIsTheAnswerAtBothEnds(t *testing.T) {
	longtest.Only(t)
	d := assumed(t, bracketedSweep(64))
	at := func(alpha float64) recommend.Answer {
		rec := every(64, true)
		for i := range rec.Results {
			wire := float64(rec.Results[i].Bytes) / 300e9
			s := *rec.Results[i].Isolated.MaxOfRanks
			s.Median *= (alpha + wire) / (2e-4 + wire)
			rec.Results[i].Isolated = &record.Timing{Iterations: 1, MaxOfRanks: &s}
		}
		return assumed(t, rec).Answer
	}
	fast, slow := at(2e-5), at(2e-3)
	require.Equal(t, fast.Least.Elements, d.Bracket.Fastest.Elements)
	require.Equal(t, slow.Least.Elements, d.Bracket.Slowest.Elements)
	require.Less(t, fast.Least.Elements, slow.Least.Elements)
	require.InDelta(t, slow.Default.Step/slow.Least.Step-1, *d.Bracket.Slowest.DefaultCost, 0.02)
	require.Equal(t, fast.Least.Elements, d.Bracket.Lo)
	require.Equal(t, slow.Least.Elements, d.Bracket.Hi)
	require.Equal(t, "the fast end's source", d.Bracket.Fastest.Assumes)
	require.Contains(t, d.Sentence, " % with the higher latency).")
	require.Contains(t, text(t, asText, d), "slow end: the slow end's source")
	for _, x := range d.WhatIf {
		require.NotNil(t, x.Bracket, x.Name)
		if x.Range == "" { // the setting alone, as it prints
			require.InEpsilon(t, x.Bracket.Lo, x.Bracket.Hi, 0.01, x.Name)
		}
	}
}

// The range of a model is between the settings of its two ends, printed as settings are.
func TestRange(t *testing.T) {
	d := &advice.Document{Answer: recommend.Answer{Unit: trainer.Elements, Elements: 120e6}}
	require.Empty(t, d.Range())
	d.Bracket = &advice.Bracket{Lo: 120e6, Hi: 760e6}
	require.Equal(t, "120 to 760 M", d.Range())
	d.Bracket.Hi = 120e6
	require.Equal(t, d.Amount(d.Answer.Elements), d.Range())
}

func whatIf(t *testing.T, d *advice.Document, width int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, table.Text(&b, width, d.WhatIfTable()))
	return b.String()
}

// The other answers take eight lines of 80 columns.
func TestLongWhatIfFitsATerminal(t *testing.T) {
	longtest.Only(t)
	for _, ranks := range []int{64, 1024} {
		for _, rec := range []*record.Record{bracketedSweep(ranks), every(ranks, true)} {
			out := whatIf(t, assumed(t, rec), 80)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			require.LessOrEqual(t, len(lines), 8, out)
			for _, l := range lines {
				require.LessOrEqual(t, utf8.RuneCountInString(l), 80, l)
			}
		}
	}
}

// The command names the folder as a shell takes it.
func TestCommand(t *testing.T) {
	require.Equal(t, "zbench recommend a 'my run' --framework ddp --params FILE --backward-ms MS", advice.Command("ddp", "a", "my run"))
	require.Equal(t, `zbench recommend 'it'\''s' --framework megatron --params FILE --backward-ms MS`, advice.Command("megatron", "it's"))
	require.Equal(t, `zbench recommend ./-x --framework megatron --params FILE --backward-ms MS`, advice.Command("megatron", "-x"))
}
