package native_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// The runtime keeps the error of a failed call for the next query, and RCCL queries
// after its own launches. So the driver clears each error in the same cgo call: the
// thread may be another one afterwards.
func TestFailedCallsErrorIsCleared(t *testing.T) {
	r := newRig(t, 1, true)
	r.p.TakeCalls()
	_, err := r.p.Alloc(0, 1<<62)
	require.Error(t, err)
	require.Len(t, only(r.p.TakeCalls(), "last error"), 1)

	buffer, err := r.p.Alloc(0, 64)
	require.NoError(t, err)
	require.NoError(t, r.p.Free(buffer))
	require.Empty(t, only(r.p.TakeCalls(), "last error"), "nothing failed")

	r.work(t, simple("broadcast"))
	r.p.Stall(1 << 60)
	require.NoError(t, r.b.SetWork(simple("broadcast"), 1e-3))
	_, err = r.b.Burst(1, 0)
	require.ErrorIs(t, err, native.ErrDeadline)
	require.NotEmpty(t, only(r.p.TakeCalls(), "last error"), "not ready is one, too, for some")
}

// How far a rank got is asked of its events, never by an interval.
func TestProgressIsAskedOfEvents(t *testing.T) {
	r := newRig(t, 1, true)
	require.NoError(t, r.b.SetWork(simple("broadcast"), 1e-3))
	r.p.Stall(1 << 60)
	_, err := r.b.WarmUp(3)
	var hang *native.HangError
	require.ErrorAs(t, err, &hang)
	require.Equal(t, []native.Progress{{Started: 3, Ended: 3}}, hang.Ranks)
	calls := r.p.TakeCalls()
	require.Len(t, only(calls, "event query"), 6)
}
