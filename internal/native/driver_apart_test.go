package native_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// Processes get the order of a burst at different times. Each starts its clock when all
// have arrived: behind a small all_reduce on every communicator, and a wait for it. The
// loopback has a barrier of hosts instead, and one process alone needs neither.
func TestBurstsOfSeveralProcessesBeginTogether(t *testing.T) {
	const n, iterations, bursts = 3, 4, 2
	for _, x := range []struct{ apart, barrier, meets bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		r := newRig(t, n, true)
		if !x.barrier {
			r.p.DropBarrier()
		}
		r.b.SetApart(x.apart)
		r.work(t, simple("broadcast"))
		for range bursts {
			r.p.Stall(5)
			_, err := r.b.Burst(iterations, 0)
			require.NoError(t, err)
			calls := r.p.TakeCalls()
			r.checkDevices(t, calls)
			aligned := only(calls, "all_reduce")
			require.Len(t, only(calls, "broadcast"), n*iterations)
			require.Equal(t, x.barrier, index(calls, "barrier") == 0)
			if !x.meets {
				require.Empty(t, aligned)
				continue
			}
			require.Len(t, aligned, n)
			for _, c := range aligned {
				require.Equal(t, [2]int{1, 1}, [2]int{c.Count, c.Depth}, "one element, in a group")
			}
			// All of them are seen to have ended before any rank's clock starts.
			first := index(calls, "broadcast")
			met := last(calls[:first], "query")
			require.Greater(t, met, last(calls, "all_reduce"))
			starts := only(calls[met+1:first], "now")
			require.Len(t, starts, n+1, "the clock behind the last query, then that of each rank")
		}
	}
}

// A burst that is replayed begins together too, and its graph has no such launch.
func TestReplaysOfSeveralProcessesBeginTogether(t *testing.T) {
	r := newRig(t, 2, true)
	r.p.DropBarrier()
	r.b.SetApart(true)
	r.work(t, simple("broadcast"))
	_, err := r.b.Burst(3, 5)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	require.Len(t, only(calls, "all_reduce"), 2)
	require.Less(t, last(calls, "broadcast"), index(calls, "all_reduce"), "captured before")
	require.Less(t, last(calls, "all_reduce"), index(calls, "graph"))
}

// Processes that do not meet are a burst without any launch, which ends at the deadline.
func TestProcessesThatDoNotMeet(t *testing.T) {
	r := newRig(t, 2, true)
	r.p.DropBarrier()
	r.b.SetApart(true)
	r.work(t, simple("broadcast"))
	r.p.Stall(1 << 40)
	_, err := r.b.Burst(4, 0)
	require.ErrorIs(t, err, native.ErrDeadline)
	require.Empty(t, only(r.p.TakeCalls(), "broadcast"))
}

// A process without ranks in a case has nothing to launch.
func TestBatchWithoutRanks(t *testing.T) {
	r := newRig(t, 1, true)
	b := r.p.NewBatch(0)
	defer b.Close()
	b.SetApart(true)
	require.NoError(t, b.SetWork(simple("broadcast"), 10))
	r.p.TakeCalls()
	seconds, err := b.Burst(4, 0)
	require.NoError(t, err)
	require.Empty(t, seconds)
	_, err = b.WarmUp(4)
	require.NoError(t, err)
	_, err = b.Isolated(4, 1e-3)
	require.NoError(t, err)
	launched := slices.DeleteFunc(r.p.TakeCalls(), func(c native.RecordedCall) bool { return c.Name == "barrier" })
	require.Empty(t, launched)
}
