package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// grouped is the result of a case of groups with those medians, so many nodes
// wide.
func grouped(ranks, stride, nodes int, medians ...float64) Result {
	planned := Result{
		Case: Case{Key: "case", Status: Interrupted}, Collective: "all_reduce", Ranks: ranks, Stride: stride, Nodes: nodes, Groups: len(medians),
	}
	alone := &IsolatedSamples{Max: []float64{2e-5}, Spread: []float64{0}, Groups: medians}
	var parts []Part
	for pass := range Passes {
		parts = append(parts, Part{
			Key: "case", Pass: pass, Status: OK, Isolated: alone,
			Burst: &BurstSamples{Iterations: 20, Mean: []float64{1e-5}, Max: []float64{1e-5}},
		})
	}
	return Assemble(planned, parts)
}

// Every group that is slow is named, in the record and in the warning: two that
// share a NIC are equally slow, and noise alone says which is the slowest.
func TestSlowGroupsAreAllNamed(t *testing.T) {
	r := grouped(2, 8, 2, 1e-5, 1e-5, 2e-5, 1.99e-5, 1e-5, 1e-5, 1e-5, 1e-5)
	require.Equal(t, []int{2, 3}, r.SlowestGroup.Slow)
	require.Equal(t, 2, r.SlowestGroup.FirstRank)
	require.Equal(t, "slow_group", r.Warnings[0].Code)
	require.Equal(t, "2 of 8 groups take up to 100 % longer than the typical one: ranks 2 and 10; ranks 3 and 11", r.Warnings[0].Message)
	require.Contains(t, r.Warnings[0].Hint, "may share a NIC, for example after a NIC failure")
	require.Contains(t, r.Warnings[0].Hint, "a larger --strides")

	r = grouped(4, 0, 1, 1e-5, 2e-5, 1.02e-5, 1e-5)
	require.Equal(t, []int{4}, r.SlowestGroup.Slow)
	require.Equal(t, "the group of ranks 4 to 7 takes 98 % longer than the typical one", r.Warnings[0].Message)
	require.Contains(t, r.Warnings[0].Hint, "--groups 2")

	r = grouped(2, 16, 2, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 2e-5, 2e-5, 2e-5, 2e-5, 2e-5)
	require.Len(t, r.SlowestGroup.Slow, 5)
	require.Contains(t, r.Warnings[0].Message, "; 1 more")

	r = grouped(4, 0, 1, 1e-5, 1.04e-5, 1.02e-5, 1e-5)
	require.Empty(t, r.SlowestGroup.Slow)
	require.Empty(t, r.Warnings)
}

// Launches far above the median are counted by group and over the passes; the
// others leave nothing behind.
func TestSlowLaunchesAreCounted(t *testing.T) {
	require.Equal(t, 0, CountSlow(nil))
	require.Equal(t, 0, CountSlow([]float64{1, 1.4, 1, 1.2}))
	require.Equal(t, 2, CountSlow([]float64{1, 1, 1.5, 9, 1}))

	var c slowCounts
	c.add(&IsolatedSamples{Max: make([]float64, 20), Groups: []float64{1, 1, 1}, Slow: []int{0, 3, 0}})
	c.add(&IsolatedSamples{Max: make([]float64, 30), Groups: []float64{1, 1, 1}})
	c.add(&IsolatedSamples{Max: make([]float64, 10), Groups: []float64{1, 1, 1}, Slow: []int{1, 2, 0}})
	require.Equal(t, &SlowLaunches{Launches: 60, Groups: []SlowGroup{{0, 1}, {4, 5}}}, c.of(4, 0))
	require.Equal(t, &SlowLaunches{Launches: 60, Groups: []SlowGroup{{0, 1}, {1, 5}}}, c.of(4, 3))

	c = slowCounts{}
	c.add(&IsolatedSamples{Max: []float64{1, 1, 1, 2}})
	require.Equal(t, &SlowLaunches{Launches: 4, Groups: []SlowGroup{{0, 1}}}, c.of(8, 0))
	c = slowCounts{}
	c.add(&IsolatedSamples{Max: []float64{1, 1, 1, 1}})
	require.Nil(t, c.of(8, 0))
}

// A pass whose counts do not belong to its groups is refused.
func TestSlowLaunchesOfAPartAreChecked(t *testing.T) {
	good := IsolatedSamples{Max: []float64{1, 1}, Spread: []float64{0, 0}, Groups: []float64{1, 1}, Slow: []int{0, 2}}
	require.NoError(t, good.check(4))
	for _, slow := range [][]int{{1}, {0, 3}, {-1, 0}} {
		bad := good
		bad.Slow = slow
		require.Error(t, bad.check(4), "%v", slow)
	}
}
