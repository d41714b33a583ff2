package native_test

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// These tests look at the calls that the driver makes, on a provider that notes
// them: what the loopback's model cannot show, because its time does not depend
// on it, a real machine would.

// rig is a batch on the noting provider.
type rig struct {
	p       *native.Provider
	b       *native.Batch
	kernels map[unsafe.Pointer]string
	ranks   []native.Rank
}

const (
	rigBytes = 1 << 16
	stride   = 512
)

func newRig(t testing.TB, n int, note bool) *rig {
	t.Helper()
	r := &rig{p: native.OpenNoop(note)}
	t.Cleanup(r.p.Close)
	f, kernels := native.NoopFunctions(n)
	t.Cleanup(f.Close)
	r.kernels = kernels
	devices := make([]int, n)
	for i := range devices {
		devices[i] = i
	}
	comms, err := r.p.InitComms(native.UniqueID{}, n, 0, devices, 0, false)
	require.NoError(t, err)
	r.b = r.p.NewBatch(n)
	t.Cleanup(r.b.Close)
	for i := range n {
		stream, err := r.p.NewStream(i)
		require.NoError(t, err)
		var buffers [4]native.Buffer
		for k := range buffers {
			buffers[k], err = r.p.Alloc(i, rigBytes)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, r.p.Free(buffers[k])) })
		}
		rank := native.Rank{
			Device: i, Number: i, Ranks: n, Comm: comms[i], Stream: stream,
			Send: native.Address{Buffer: buffers[0]}, Recv: native.Address{Buffer: buffers[1]}, Sync: native.Address{Buffer: buffers[2]}, Found: native.Address{Buffer: buffers[3]},
		}
		r.ranks = append(r.ranks, rank)
		r.b.SetRank(i, rank)
	}
	r.b.UseFunctions(f)
	require.NoError(t, r.b.MakeEvents())
	r.p.TakeCalls()
	return r
}

func (r *rig) work(t testing.TB, w native.Work) {
	t.Helper()
	require.NoError(t, r.b.SetWork(w, 10))
}

// simple is a collective of a float that rotates over three slots.
func simple(collective string) native.Work {
	return native.Work{Collective: collective, Dtype: "float", Op: "sum", Count: 7, Slots: 3, SendStride: stride, RecvStride: 2 * stride}
}

// only keeps the calls of the given names.
func only(calls []native.RecordedCall, names ...string) []native.RecordedCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c native.RecordedCall) bool { return !slices.Contains(names, c.Name) })
}

// of keeps the calls on a rank's stream.
func (r *rig) of(calls []native.RecordedCall, rank int) []native.RecordedCall {
	stream := r.ranks[rank].Stream.Pointer()
	return slices.DeleteFunc(slices.Clone(calls), func(c native.RecordedCall) bool { return c.Stream != stream })
}

// index is where the first call of the name stands, last where the last does.
func index(calls []native.RecordedCall, name string) int {
	return slices.IndexFunc(calls, func(c native.RecordedCall) bool { return c.Name == name })
}

func last(calls []native.RecordedCall, name string) int {
	for i, c := range slices.Backward(calls) {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// checkDevices holds every call on a stream to its device.
func (r *rig) checkDevices(t *testing.T, calls []native.RecordedCall) {
	t.Helper()
	for _, c := range calls {
		for _, rank := range r.ranks {
			if c.Stream == rank.Stream.Pointer() {
				require.Equal(t, rank.Device, c.Device, "device current at %s", c.Name)
			}
		}
	}
}

// A burst: barrier, every rank's clock, all launches in groups, then the first
// query; a rank's time ends with the clock behind its last query.
func TestBurstCallsInOrder(t *testing.T) {
	const n, iterations = 3, 4
	r := newRig(t, n, true)
	r.work(t, simple("broadcast"))
	r.p.Stall(5)
	seconds, err := r.b.Burst(iterations, 0)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	require.Len(t, only(calls, "barrier"), 1)
	require.Equal(t, 0, index(calls, "barrier"), "nothing comes before the barrier")
	require.Equal(t, []string{"now", "now", "now", "group start"}, names(calls[1:5]))
	launches := only(calls, "broadcast")
	require.Len(t, launches, n*iterations)
	for _, c := range launches {
		require.Equal(t, 1, c.Depth, "several ranks' calls are in one group")
	}
	require.Len(t, only(calls, "group start"), iterations)
	require.Len(t, only(calls, "group end"), iterations)
	require.Less(t, last(calls, "group end"), index(calls, "query"))
	for i := range n {
		stream := r.ranks[i].Stream.Pointer()
		done := 0
		for k, c := range calls {
			if c.Name == "query" && c.Stream == stream {
				done = k
			}
		}
		require.Equal(t, "now", calls[done+1].Name)
		want := float64(calls[done+1].Count-calls[1+i].Count) * 1e-9 / iterations
		require.InDelta(t, want, seconds[i], 1e-12, "rank %d", i)
	}
}

func names(calls []native.RecordedCall) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Name)
	}
	return out
}

// Isolated launches: on each stream the delay, then for each the align, the
// start, the collective, the stop; events outside of groups, no wait in between.
func TestIsolatedCallsInOrder(t *testing.T) {
	const n, iterations = 3, 4
	r := newRig(t, n, true)
	r.work(t, simple("broadcast"))
	seconds, err := r.b.Isolated(iterations, 1e-3)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	require.Equal(t, 0, index(calls, "barrier"))
	require.Less(t, last(calls, "record"), index(calls, "query"), "no wait inside of a batch")
	for _, c := range only(calls, "record", "kernel") {
		require.Zero(t, c.Depth, "%s inside of a group", c.Name)
	}
	for i := range n {
		mine := r.of(calls, i)
		require.Equal(t, "kernel", mine[0].Name)
		require.Equal(t, fmt.Sprint("delay ", i), r.kernels[mine[0].Handle], "the kernel of the rank's own device")
		for k := range iterations {
			step := mine[1+4*k : 5+4*k]
			require.Equal(t, []string{"all_reduce", "record", "broadcast", "record"}, names(step))
			require.Equal(t, 1, step[0].Count, "4 bytes align")
			start, stop := event(step[1]), event(step[3])
			require.InDelta(t, (1000*start+stop)*1e-3, seconds[k*n+i], 1e-9, "the interval is of this launch's events")
		}
		require.Equal(t, "query", mine[1+4*iterations].Name)
	}
}

// A warm-up marks every launch as isolated timing does, as far as there are
// events; a burst, which is timed, has none.
func TestWarmUpMarksItsLaunches(t *testing.T) {
	r := newRig(t, 2, true)
	r.work(t, simple("broadcast"))
	_, err := r.b.WarmUp(3)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	for i := range r.ranks {
		steps := names(only(r.of(calls, i), "record", "broadcast"))
		require.Equal(t, []string{"record", "broadcast", "record", "record", "broadcast", "record", "record", "broadcast", "record"}, steps)
	}
	_, err = r.b.WarmUp(native.MaxIsolated + 1)
	require.NoError(t, err)
	require.Empty(t, only(r.p.TakeCalls(), "record"))
	_, err = r.b.Burst(3, 0)
	require.NoError(t, err)
	require.Empty(t, only(r.p.TakeCalls(), "record"))
}

// event is the number of the event that was recorded.
func event(c native.RecordedCall) float64 {
	return float64(uintptr(c.Handle) - uintptr(native.NoopHandle(0)))
}

// The floor is that of the same events with nothing between them.
func TestEventFloorTimesNothing(t *testing.T) {
	r := newRig(t, 2, true)
	r.work(t, simple("broadcast"))
	_, err := r.b.EventFloor(3)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	require.Empty(t, only(calls, "broadcast"))
	require.Len(t, only(calls, "record"), 2*2*3)
}

// Buffers go on from slot to slot, whatever the batches are.
func TestSlotsContinueAcrossBatches(t *testing.T) {
	r := newRig(t, 2, true)
	w := simple("broadcast")
	r.work(t, w)
	for _, batch := range []func() ([]float64, error){
		func() ([]float64, error) { return r.b.Burst(4, 0) },
		func() ([]float64, error) { return r.b.Isolated(4, 0) },
		func() ([]float64, error) { return r.b.Burst(1, 0) },
		func() ([]float64, error) { return r.b.Isolated(2, 0) },
	} {
		_, err := batch()
		require.NoError(t, err)
	}
	calls := only(r.p.TakeCalls(), "broadcast")
	for i, rank := range r.ranks {
		for k, c := range r.of(calls, i) {
			slot := k % int(w.Slots)
			require.Equal(t, uintptr(slot*stride), uintptr(c.Send)-uintptr(rank.Send.Pointer()), "launch %d", k)
			require.Equal(t, uintptr(2*slot*stride), uintptr(c.Recv)-uintptr(rank.Recv.Pointer()), "launch %d", k)
		}
	}
}
