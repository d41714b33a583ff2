package native_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// The runtime keeps the error of a failed call for whoever asks next, and RCCL
// asks after launches of its own. So each is taken back, in the same crossing:
// the thread may be another one afterwards.
func TestErrorsAreTakenBack(t *testing.T) {
	r := newRig(t, 1, true)
	r.p.TakeNoted()
	_, err := r.p.Alloc(0, 1<<62)
	require.Error(t, err)
	require.Len(t, only(r.p.TakeNoted(), "last error"), 1)

	buffer, err := r.p.Alloc(0, 64)
	require.NoError(t, err)
	require.NoError(t, r.p.Free(buffer))
	require.Empty(t, only(r.p.TakeNoted(), "last error"), "nothing failed")

	r.work(t, simple("broadcast"))
	r.p.Stall(1 << 60)
	require.NoError(t, r.b.SetWork(simple("broadcast"), 1e-3))
	_, err = r.b.Burst(1, 0)
	require.ErrorIs(t, err, native.ErrDeadline)
	require.NotEmpty(t, only(r.p.TakeNoted(), "last error"), "not ready is one, too, for some")
}

// How far a rank got is asked of its events, never by an interval.
func TestProgressIsAskedOfEvents(t *testing.T) {
	r := newRig(t, 1, true)
	require.NoError(t, r.b.SetWork(simple("broadcast"), 1e-3))
	r.p.Stall(1 << 60)
	_, err := r.b.WarmUp(3)
	var hang *native.HangError
	require.ErrorAs(t, err, &hang)
	require.Equal(t, []native.Progress{{Begun: 3, Ended: 3}}, hang.Ranks)
	calls := r.p.TakeNoted()
	require.Len(t, only(calls, "event query"), 6)
}
