package advice

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/recommend"
)

// What is said of a setting agrees with the range of good ones before it.
func TestCosts(t *testing.T) {
	d := &Document{Answer: recommend.Answer{Best: &recommend.Candidate{Step: 1, Score: 0.001}}}
	for want, c := range map[string]recommend.Candidate{
		"costs 0 % of a step":   {Step: 1.0001, Score: 0.002},
		"costs 0.7 % of a step": {Step: 1.007, Score: 0.006},
		"costs 80 % of a step":  {Step: 1.8, Score: 1.2},
		"is as fast as measured, and costs 3 % on average over slower networks and other computation":        {Step: 0.99, Score: 0.031},
		"costs 0.2 % of a step as measured, and 1.9 % on average over slower networks and other computation": {Step: 1.002, Score: 0.02},
		"takes 2 GiB of buffers, more than the budget":                                                       {Step: 0.9, Memory: 2 << 30, OverBudget: true},
	} {
		require.Equal(t, want, d.costs(&c))
	}
}

func TestFewest(t *testing.T) {
	require.Equal(t, "one bucket", fewest(&recommend.Candidate{Buckets: 1}))
	require.Equal(t, "fewest buckets", fewest(&recommend.Candidate{Buckets: 2}), "dense tensors and experts never share one")
}
