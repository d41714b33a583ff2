package advice

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/recommend"
	"zbench/bench/trainer"
)

// What is said of a setting agrees with the range of good ones, and says of what a
// share is.
func TestCosts(t *testing.T) {
	d := &Document{Answer: recommend.Answer{Best: &recommend.Candidate{Step: 1, Score: 0.001}}}
	const average = " longer on average over slower networks and other computation times."
	for want, c := range map[string]recommend.Candidate{
		"With your 40 M a training step takes 0 % longer.":                                                {Step: 1.0001, Score: 0.002},
		"With your 40 M a training step takes 0.7 % longer.":                                              {Step: 1.007, Score: 0.006},
		"With your 40 M a training step takes 80 % longer.":                                               {Step: 1.8, Score: 1.2},
		"With your 40 M a training step takes as long on the curve as measured, and 3 %" + average:        {Step: 0.99, Score: 0.031},
		"With your 40 M a training step takes 0.2 % longer on the curve as measured, and 1.9 %" + average: {Step: 1.002, Score: 0.02},
		"Your 40 M takes 2 GiB of buffers, more than the budget.":                                         {Step: 0.9, Memory: 2 << 30, OverBudget: true},
	} {
		require.Equal(t, want, d.costs("your 40 M", &c))
	}
	require.Equal(t, "With the default, 25 MiB, a training step takes 67 % longer.", d.costs("the default, 25 MiB,", &recommend.Candidate{Step: 1.67}))
	require.Equal(t, "The default, 25 MiB, takes 2 GiB of buffers, more than the budget.", d.costs("the default, 25 MiB,", &recommend.Candidate{Memory: 2 << 30, OverBudget: true}))
}

// A list of ranges is called by the name that it has wherever it is printed.
func TestAsGoodNamesTheList(t *testing.T) {
	within := []recommend.Range{{Lo: 1e6, Hi: 2e6}, {Lo: 4e6, Hi: 5e6}, {Lo: 8e6, Hi: 9e6}, {Lo: 11e6, Hi: 12e6}}
	d := &Document{Answer: recommend.Answer{
		Verdict: recommend.Recommended, Unit: trainer.Elements, Elements: 8e6, Within: within, Plateau: &within[2],
	}}
	require.Equal(t, `8 M to 9 M are within 1 % of its step time, and so are 3 more ranges, listed as "Within 1 %".`, d.AsGood())
	facts := d.Facts()
	require.Equal(t, "Within 1 %", facts[len(facts)-1].Term)
	require.Contains(t, facts[len(facts)-1].Text, "1 M to 2 M, 4 M to 5 M, 8 M to 9 M and 11 M to 12 M: a step at most 1 % longer than with the best size")
	d.Answer.Within = within[2:3]
	require.Equal(t, "Anything from 8 M to 9 M is within 1 % of its step time.", d.AsGood())
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
	require.Equal(t, `copy the lines under "PyTorch DDP"; to be surer, sweep again on a quiet cluster`, d.Next())
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
