package native_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/policy"
	"zbench/internal/native"
)

// A burst that is replayed: every rank's launches are captured on its stream and
// made a graph; then the barrier, the clocks, the graphs, and no launch beside
// them; what was made is given back.
func TestReplayedBurstCallsInOrder(t *testing.T) {
	const n, iterations, replays = 3, 4, 5
	r := newRig(t, n, true)
	r.work(t, simple("broadcast"))
	seconds, err := r.b.Burst(iterations, replays)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	barrier := index(calls, "barrier")
	before, after := calls[:barrier], calls[barrier:]
	require.Len(t, only(before, "broadcast"), n*iterations)
	require.Empty(t, only(after, "broadcast", "begin capture", "end capture", "instantiate"))
	require.Equal(t, []string{"barrier", "now", "now", "now", "graph"}, names(after[:5]))
	graphs := only(after, "graph")
	require.Len(t, graphs, n*replays)
	for i := range n {
		mine := r.of(before, i)
		require.Equal(t, append(append([]string{"begin capture"}, slices.Repeat([]string{"broadcast"}, iterations)...), "end capture"), names(mine))
		require.Equal(t, 1, mine[0].Count, "the mode is that of the thread alone")
		graph := uintptr(mine[len(mine)-1].Handle)
		for _, g := range r.of(graphs, i) {
			require.Zero(t, g.Depth)
			require.Equal(t, graph+1, uintptr(g.Handle), "rank %d replays its own graph", i)
		}
		want := float64(lastNow(r, calls, i)-after[1+i].Count) * 1e-9 / (iterations * replays)
		require.InDelta(t, want, seconds[i], 1e-12)
	}
	require.Len(t, only(after, "drop exec"), n)
	require.Len(t, only(after, "drop graph"), n)
	require.Greater(t, index(after, "drop exec"), last(after, "query"))
}

// lastNow is the clock behind the last query of a rank.
func lastNow(r *rig, calls []native.RecordedCall, rank int) int {
	now := 0
	for k, c := range calls {
		if c.Name == "query" && c.Stream == r.ranks[rank].Stream.Pointer() {
			now = calls[k+1].Count
		}
	}
	return now
}

// Captured launches rotate over the slots too, and go on from burst to burst.
func TestSlotsContinueAcrossGraphs(t *testing.T) {
	r := newRig(t, 1, true)
	w := simple("broadcast")
	r.work(t, w)
	for _, replays := range []int{2, 0, 1} {
		_, err := r.b.Burst(4, replays)
		require.NoError(t, err)
	}
	for k, c := range only(r.p.TakeCalls(), "broadcast") {
		require.Equal(t, uintptr(k%int(w.Slots)*stride), uintptr(c.Send)-uintptr(r.ranks[0].Send.Pointer()), "launch %d", k)
	}
}

// A cancelled capture is ended, and nothing of it runs.
func TestCancelledInCapture(t *testing.T) {
	r := newRig(t, 2, true)
	r.work(t, simple("broadcast"))
	r.b.Cancel()
	_, err := r.b.Burst(4, 2)
	require.ErrorIs(t, err, native.ErrCancelled)
	calls := r.p.TakeCalls()
	require.Empty(t, only(calls, "broadcast", "graph", "barrier"))
	require.Len(t, only(calls, "begin capture"), 2)
	require.Len(t, only(calls, "end capture"), 2)
	require.Len(t, only(calls, "drop graph"), 2)
}

// A runtime without graphs says which call it lacks.
func TestRuntimeWithoutGraphs(t *testing.T) {
	lib := filepath.Join(t.TempDir(), "lib")
	require.NoError(t, os.MkdirAll(lib, 0o755))
	compileVendor(t, filepath.Join(lib, "librccl.so.1"), "-DCOLLECTIVES")
	compileVendor(t, filepath.Join(lib, "libamdhip64.so.6"), "-DRUNTIME")
	p, err := native.Open(native.Choice{Backend: "rocm", Getenv: func(key string) string {
		return map[string]string{"ROCM_PATH": filepath.Dir(lib)}[key]
	}})
	require.NoError(t, err)
	defer p.Close()
	require.ErrorIs(t, p.CanCall(policy.Calls{GraphLaunches: 1}), native.ErrUnavailable)
	require.ErrorContains(t, p.CanCall(policy.Calls{GraphLaunches: 1}), "no hipStreamBeginCapture, which -G needs")
	b := p.NewBatch(1)
	defer b.Close()
	_, err = b.Burst(1, 1)
	require.ErrorIs(t, err, native.ErrUnavailable)
	require.NoError(t, openLoopback(t).CanCall(policy.Calls{GraphLaunches: 1}))
}

// On the loopback a launch that is refused ends the capture: the next burst runs,
// and takes what it always took.
func TestFailureInCapture(t *testing.T) {
	p := openLoopback(t)
	b := loopbackBatch(t, p)
	w := native.Work{Collective: "all_reduce", Dtype: "float", Op: "sum", Count: 1 << 20, Slots: 1}
	require.NoError(t, b.SetWork(w, 10))
	_, err := b.Burst(4, 2)
	require.ErrorContains(t, err, "all_reduce on device 0: invalid argument")
	w.Count = 1 << 10
	require.NoError(t, b.SetWork(w, 10))
	var medians []float64
	for _, replays := range []int{0, 2} {
		seconds, err := b.Burst(4, replays)
		require.NoError(t, err)
		medians = append(medians, seconds[0])
	}
	require.Less(t, math.Abs(medians[0]-medians[1])/medians[0], 0.1)
	_, err = p.Alloc(0, 1<<10)
	require.NoError(t, err, "no capture is open")
}

// loopbackBatch is a batch of eight ranks with buffers of 4 KiB.
func loopbackBatch(t *testing.T, p *native.Provider) *native.Batch {
	t.Helper()
	const n = 8
	id, err := p.NewUniqueID()
	require.NoError(t, err)
	comms, err := p.InitComms(id, n, 0, []int{0, 1, 2, 3, 4, 5, 6, 7}, 0, false)
	require.NoError(t, err)
	b := p.NewBatch(n)
	t.Cleanup(b.Close)
	for i := range n {
		r := native.Rank{Device: i, Number: i, Ranks: n, Comm: comms[i]}
		r.Stream, err = p.NewStream(i)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.FreeStream(r.Stream)) })
		for _, to := range []*native.Buffer{&r.Send.Buffer, &r.Recv.Buffer} {
			*to, err = p.Alloc(i, 4<<10)
			require.NoError(t, err)
		}
		b.SetRank(i, r)
	}
	return b
}
