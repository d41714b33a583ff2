package advice

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
)

// What is said of a setting agrees with the range of good ones, and says of what a
// share is.
func TestCosts(t *testing.T) {
	d := &Document{Answer: recommend.Answer{Least: &recommend.Candidate{Step: 1, Score: 0.001}}}
	const average = " longer on average over slower networks and other computation times,"
	for want, c := range map[string]recommend.Candidate{
		"A training step is 0.1 % longer with your 40 M.":                                                    {Step: 1.0001, Score: 0.002},
		"A training step is 0.7 % longer with your 40 M.":                                                    {Step: 1.007, Score: 0.006},
		"A training step is 120 % longer with your 40 M.":                                                    {Step: 1.8, Score: 1.201},
		"A training step is as long on the curve as measured, and 3 %" + average + " with your 40 M.":        {Step: 0.99, Score: 0.031},
		"A training step is 0.2 % longer on the curve as measured, and 1.9 %" + average + " with your 40 M.": {Step: 1.002, Score: 0.02},
		"Your 40 M takes 2 GiB of buffers, more than the budget.":                                            {Step: 0.9, Memory: 2 << 30, OverBudget: true},
	} {
		require.Equal(t, want, d.costs("your 40 M", &c))
	}
	require.Equal(t, "A training step is 67 % longer with the default, 25 MiB.", d.costs("the default, 25 MiB", &recommend.Candidate{Step: 1.67}))
	require.Equal(t, "The default, 25 MiB, takes 2 GiB of buffers, more than the budget.", d.costs("the default, 25 MiB", &recommend.Candidate{Memory: 2 << 30, OverBudget: true}))
}

// A list of ranges is called by the name that it has wherever it is printed.
func TestAsGoodNamesTheList(t *testing.T) {
	within := []recommend.Range{{Lo: 1e6, Hi: 2e6}, {Lo: 4e6, Hi: 5e6}, {Lo: 8e6, Hi: 9e6}, {Lo: 11e6, Hi: 12e6}}
	d := &Document{Answer: recommend.Answer{
		Verdict: recommend.Recommended, Unit: trainer.Elements, Elements: 8e6, Within: within, Plateau: &within[2],
	}}
	require.Equal(t, `As good within 1 %: 8 M to 9 M and 3 more ranges, listed as "Within 1 %" (--verbose).`, d.AsGood())
	facts := d.Facts()
	require.Equal(t, "Within 1 %", facts[len(facts)-1].Term)
	require.Contains(t, facts[len(facts)-1].Text, "1 M to 2 M, 4 M to 5 M, 8 M to 9 M and 11 M to 12 M: a step at most 1 % longer than with the best size")
	d.Answer.Within = within[2:3]
	require.Equal(t, "As good within 1 %: 8 M to 9 M.", d.AsGood())
	d.Answer.Keep = true
	require.Empty(t, d.AsGood(), "what is kept needs no other")
}

// The reason that is told is one that limits the confidence, and what is to be done is
// against that reason.
func TestNextIsAgainstTheLimit(t *testing.T) {
	d := &Document{Answer: recommend.Answer{Confidence: recommend.Confidence{Level: recommend.Low, Reasons: []recommend.Reason{
		{Code: "compute_estimated", Level: recommend.Medium, Message: "estimated"}, {Code: "noisy", Level: recommend.Low, Message: "varies"},
	}}}}
	require.Equal(t, "varies", d.Answer.Confidence.Why().Message)
	require.Equal(t, "to be surer, sweep again on a quiet cluster", d.Next())
	d.Snippets = []trainer.Snippet{{Title: "PyTorch DDP"}}
	require.Equal(t, `copy the lines for PyTorch DDP; to be surer, sweep again on a quiet cluster`, d.Next())
	d.Answer.Keep = true
	require.Equal(t, "to be surer, sweep again on a quiet cluster", d.Next(), "there is nothing to set")
	d.Answer.Confidence = recommend.Confidence{Level: recommend.High}
	require.Nil(t, d.Answer.Confidence.Why())
	require.Empty(t, d.Next())
}

func TestFewest(t *testing.T) {
	require.Equal(t, "one bucket", fewest(&recommend.Candidate{Buckets: 1}))
	require.Equal(t, "fewest buckets", fewest(&recommend.Candidate{Buckets: 2}), "dense tensors and experts never share one")
}

// Digits are typed, words are read. A kept setting has no range beside it that leaves it
// out, but what it costs at the end of the model where it costs most.
func TestKeptOutsideTheRange(t *testing.T) {
	little, much := 0.02, 0.07
	d := &Document{
		Bracket: &Bracket{Lo: 70e6, Hi: 830e6, Fastest: End{DefaultCost: &much}, Slowest: End{DefaultCost: &little}},
		Answer: recommend.Answer{
			Verdict: recommend.Recommended, Trainer: "megatron", Knob: "ddp_bucket_size", Unit: trainer.Elements, Elements: 1_024_000_000, Keep: true, Gain: 0.009,
		},
	}
	require.Equal(t, "keep --ddp-bucket-size at its default, 1.02 G elements: a training step is 0.9 % longer than with the best size (7 % with the lower latency).", d.Advice())
	require.Empty(t, d.Ends())
	d.Answer.Keep = false
	require.Equal(t, "ask for 70 and 830 M", d.Ends())
}

// The name of the setting is that of the printed lines.
func TestKnobIsThatOfTheLines(t *testing.T) {
	d := &Document{Answer: recommend.Answer{Trainer: "megatron", Knob: "ddp_bucket_size"}}
	require.Equal(t, "--ddp-bucket-size", d.Knob())
	d.Snippets = []trainer.Snippet{{Title: "Primus YAML", Text: "ddp_bucket_size: 1"}}
	require.Equal(t, "ddp_bucket_size", d.Knob())
	d.Answer.Trainer = "of another version"
	require.Equal(t, "ddp_bucket_size", d.Knob())
}

// What a setting costs is said once, and the default is not told apart from a setting that
// equals it.
func TestASettingHasOneCost(t *testing.T) {
	ours := recommend.Candidate{Elements: 40e6, Step: 1.27, Score: 0.28}
	best := recommend.Candidate{Elements: 300e6, Step: 1}
	d := &Document{Answer: recommend.Answer{
		Verdict: recommend.Recommended, Trainer: "megatron", Knob: "ddp_bucket_size", Unit: trainer.Elements, Elements: best.Elements,
		Best: &best, Least: &best, Current: &ours, Default: &ours, Table: []recommend.Candidate{ours, best},
	}}
	require.Equal(t, "set --ddp-bucket-size to 300000000 (300 M elements). A training step is 28 % longer with your 40 M, which is the default.", d.Advice())
	require.Equal(t, 0.28, d.Rows(12)[0].Cost)
}
