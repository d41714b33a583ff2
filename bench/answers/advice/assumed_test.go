package advice_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
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

// The assumed answer is that of the assumptions given one by one, and so is the rule
// beside it.
func TestAssumedIsTheExplicitAnswer(t *testing.T) {
	rec := every(64, false)
	d := assumed(t, rec)
	explicit := func(tokens int64) *advice.Document {
		q, err := advice.Prepare(&spec.Advice{Framework: "megatron", Preset: "llama3-8b", Tokens: tokens, DP: 64})
		require.NoError(t, err)
		d, err := q.Ask([]recommend.Source{{Record: rec}})
		require.NoError(t, err)
		return d
	}
	asked := explicit(16384)
	require.Equal(t, asked.Answer, d.Answer)
	require.Equal(t, asked.Compute, d.Compute)
	require.InDelta(t, 4*16384*7.5e9/293e12, *d.Answer.Backward, 0.01)
	require.Contains(t, d.Compute, "MI300X", "where the FLOP/s are from")
	require.NoError(t, schematest.Fits(t, schematest.Compile(t, advice.SchemaJSON), text(t, asJSON, d)))

	r := explicit(0)
	require.Equal(t, recommend.Ruled, r.Answer.Verdict)
	require.Equal(t, r.Answer.Rule.Points, d.Answer.Rule.Points, "the rule beside it is that of the question without tokens")
	require.Empty(t, r.Snippets)
	require.NoError(t, schematest.Fits(t, schematest.Compile(t, advice.SchemaJSON), text(t, asJSON, r)))
}

// One sentence states for whom it is, the setting with its range and its gain; then come the
// confidence and whether it is simulated.
func TestAssumedSaysWhatItAssumes(t *testing.T) {
	d := assumed(t, every(64, false))
	require.Regexp(t, `^Assuming Llama 3 8B on Megatron's distributed optimizer with Adam, data parallel over 64 ranks: (keep|set) --ddp-bucket-size .*Medium confidence\.$`, d.Sentence)
	require.True(t, strings.HasPrefix(d.Judgement.Findings[0].Text, "Bucket size, assuming Llama 3 8B"))
	require.Contains(t, text(t, asText, d), "16,384 tokens a microbatch at 293 TFLOP/s")
	require.Contains(t, assumed(t, every(64, true)).Sentence, "SIMULATED: Assuming")
}

// Where only all_reduce was measured the answer is PyTorch DDP's. Where there is none what the sharded optimizer
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
	require.Contains(t, d.Sentence, "ssuming Llama 3 8B on PyTorch DDP, data parallel over 64 ranks: ")
	require.NotContains(t, text(t, asText, d), "Megatron", "nobody asked")
	require.Contains(t, d.Commands("x")[0].Line, "--framework ddp")

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
}

// One rank has nothing to reduce. Of a log that does not tell its ranks nothing is
// assumed.
func TestAssumedOfFewRanks(t *testing.T) {
	rec := every(1, true)
	rec.World.Ranks = 1
	d := assumed(t, rec)
	require.Equal(t, recommend.NoCommunication, d.Answer.Verdict)
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
	require.LessOrEqual(t, fast.Least.Elements, slow.Least.Elements)
	require.InDelta(t, slow.Default.Step/slow.Least.Step-1, *d.Bracket.Slowest.DefaultCost, 0.02)
	require.Equal(t, fast.Least.Elements, d.Bracket.Lo)
	require.Equal(t, slow.Least.Elements, d.Bracket.Hi)
	require.Equal(t, "the fast end's source", d.Bracket.Fastest.Assumes)
	require.Contains(t, text(t, asText, d), "slow end: the slow end's source")
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

// The command names the folder as a shell takes it.
func TestCommand(t *testing.T) {
	require.Equal(t, "zbench recommend a 'my run' --framework ddp --params FILE --backward-ms MS", advice.Command("ddp", "a", "my run"))
	require.Equal(t, `zbench recommend 'it'\''s' --framework megatron --params FILE --backward-ms MS`, advice.Command("megatron", "it's"))
	require.Equal(t, `zbench recommend ./-x --framework megatron --params FILE --backward-ms MS`, advice.Command("megatron", "-x"))
}
