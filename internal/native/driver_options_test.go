package native_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/policy"
)

// Aggregated launches are in one group each, the last with what is left of the burst.
func TestLaunchesAreAggregated(t *testing.T) {
	const n = 2
	r := newRig(t, n, true)
	r.work(t, simple("broadcast"))
	r.b.SetCalls(policy.Calls{Aggregate: 4})
	_, err := r.b.Burst(10, 0)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	var groups []int
	for _, c := range calls {
		switch {
		case c.Name == "group start" && c.Depth == 0:
			groups = append(groups, 0)
		case c.Name == "broadcast":
			require.Equal(t, 2, c.Depth)
			groups[len(groups)-1]++
		}
	}
	require.Equal(t, []int{4 * n, 4 * n, 2 * n}, groups)
}

// A blocking burst waits behind each launch; -z 1 also meets the other hosts.
func TestBlockingBurstsWaitForEachLaunch(t *testing.T) {
	const n, iterations = 2, 3
	for blocking, barriers := range map[int]int{0: 1, 1: 1 + iterations, 2: 1} {
		r := newRig(t, n, true)
		r.work(t, simple("broadcast"))
		r.b.SetCalls(policy.Calls{Blocking: blocking})
		r.p.Stall(2)
		_, err := r.b.Burst(iterations, 0)
		require.NoError(t, err)
		calls := r.p.TakeCalls()
		r.checkDevices(t, calls)
		require.Len(t, only(calls, "barrier"), barriers, "-z %d", blocking)
		waited, launched := 0, false
		for _, c := range calls {
			switch {
			case c.Name == "broadcast":
				launched = true
			case c.Name == "query" && launched:
				waited, launched = waited+1, false
			}
		}
		require.Equal(t, map[bool]int{true: iterations, false: 1}[blocking > 0], waited, "-z %d", blocking)
	}
}
