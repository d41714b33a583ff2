package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// An interval that is not positive says nothing: it is counted and left out.
func TestImpossibleIntervalsAreDiscarded(t *testing.T) {
	d := &script{ranks: 8, isolated: func(launch, rank int) float64 {
		if launch%4 == 0 && rank == 3 {
			return 0
		}
		return 1e-3
	}}
	r := run(t, d, axes(t, "all_reduce").Cases()[:1], options(2, 12))[0]
	require.Positive(t, r.Isolated.Discarded)
	require.InDelta(t, 1e-3, r.Isolated.MaxOfRanks.Min, 0)
}

// Where events never see time pass, as in place on one rank, the timing ends and
// says so; what bursts gave stays.
func TestNoIntervalAtAll(t *testing.T) {
	for _, each := range []int{1 << 30, 50} {
		d := &script{ranks: 8, isolated: func(launch, _ int) float64 {
			if launch%each == each-1 {
				return 1e-3
			}
			return 0
		}}
		r := run(t, d, axes(t, "all_reduce").Cases()[:1], options(2, 200))[0]
		require.Equal(t, record.OK, r.Status)
		require.NotNil(t, r.Burst)
		require.Equal(t, each == 50, r.Isolated != nil)
		codes := []string{}
		for _, w := range r.Warnings {
			codes = append(codes, w.Code)
		}
		require.Contains(t, codes, "no_time")
	}
}
