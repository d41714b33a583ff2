package native_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/internal/native"
)

// Cancelled before, nothing is launched.
func TestCancelledBeforeLaunch(t *testing.T) {
	for name, run := range map[string]func(*native.Batch) ([]float64, error){
		"burst":    func(b *native.Batch) ([]float64, error) { return b.Burst(4, 0) },
		"isolated": func(b *native.Batch) ([]float64, error) { return b.Isolated(4, 0) },
		"warm-up":  func(b *native.Batch) ([]float64, error) { return b.WarmUp(4) },
		"verification": func(b *native.Batch) ([]float64, error) {
			_, err := b.Verify(make([]native.Expect, 2), 1)
			return nil, err
		},
	} {
		r := newRig(t, 2, true)
		r.work(t, simple("broadcast"))
		r.b.Cancel()
		_, err := run(r.b)
		require.ErrorIs(t, err, native.ErrCancelled, name)
		require.Empty(t, only(r.p.TakeCalls(), "broadcast"), name)
	}
}

// Cancelled during a hang, the wait ends long before the deadline.
func TestCancelledInWait(t *testing.T) {
	r := newRig(t, 2, true)
	r.work(t, simple("broadcast"))
	require.NoError(t, r.b.SetWork(simple("broadcast"), 100)) // the clock makes a µs a look
	r.p.Stall(1 << 60)
	time.AfterFunc(20*time.Millisecond, r.b.Cancel)
	_, err := r.b.Burst(1, 0)
	require.ErrorIs(t, err, native.ErrCancelled)
}

// At the deadline the ranks that have finished are told from those that have
// not: the first of three is asked once more than the others need to stall.
func TestEvidenceAtTheDeadline(t *testing.T) {
	r := newRig(t, 3, true)
	require.NoError(t, r.b.SetWork(simple("broadcast"), 1e-3))
	r.p.StallStream(r.ranks[1].Stream, 1<<60)
	_, err := r.b.Burst(2, 0)
	var hang *native.HangError
	require.ErrorAs(t, err, &hang)
	require.ErrorIs(t, err, native.ErrDeadline)
	done, left := native.Progress{Started: -1, Ended: -1, Finished: true}, native.Progress{Started: -1, Ended: -1}
	require.Equal(t, []native.Progress{done, left, done}, hang.Ranks)
	require.Equal(t, 1, hang.Rank)
	require.True(t, hang.Timeout(), "others did not come")
	calls := r.p.TakeCalls()
	took := float64(calls[last(calls, "now")].Count-calls[1].Count) * 1e-9
	require.InDelta(t, 1e-3, took, 1e-4, "it ends at the deadline, not before and not much later")
}

// A verification launch: poison, then fill, on every rank, and a wait; then data
// are switched on, the collective, a wait, the check; data are off at the end.
func TestVerifyCallsInOrder(t *testing.T) {
	r := newRig(t, 2, true)
	r.work(t, simple("broadcast"))
	expect := native.Expect{Fill: 7, Check: 7, RecvBytes: 28, Block: 7}
	for range 2 {
		wrong, err := r.b.Verify([]native.Expect{expect, expect}, 1)
		require.ErrorContains(t, err, "looked at 0 of 7 elements", "a check that did nothing is no pass")
		require.Empty(t, wrong)
		calls := r.p.TakeCalls()
		r.checkDevices(t, calls)
		for i := range r.ranks {
			var steps []string
			for _, c := range calls {
				switch {
				case c.Name == "move data":
					steps = append(steps, map[int]string{0: "data off", 1: "data on"}[c.Count])
				case c.Stream != r.ranks[i].Stream.Pointer():
				case c.Name == "kernel":
					name, device, _ := strings.Cut(r.kernels[c.Handle], " ")
					require.Equal(t, strconv.Itoa(i), device, "the kernel of the rank's own device")
					steps = append(steps, name)
				default:
					steps = append(steps, c.Name)
				}
			}
			require.Equal(t, []string{"data on", "poison", "fill", "query", "record", "broadcast", "record", "query", "copy", "check", "query", "data off"}, steps)
		}
	}
	_, err := r.b.Burst(3, 0)
	require.NoError(t, err)
	require.Empty(t, only(r.p.TakeCalls(), "move data", "kernel"), "a timed launch neither fills nor moves")
}

// Every argument arrives where the library's header has it: numbers of rccl.h.
func TestArgumentsArrive(t *testing.T) {
	r := newRig(t, 3, true)
	const double, highest = 8, 2
	for _, name := range native.Collectives() {
		c, err := collective.ByName(name)
		require.NoError(t, err)
		w := native.Work{Collective: name, Dtype: "double", Count: 5, Slots: 1, Root: 1}
		if c.Reduces {
			w.Op = "max"
		}
		r.work(t, w)
		_, err = r.b.Burst(1, 0)
		require.NoError(t, err)
		calls := r.p.TakeCalls()
		r.checkDevices(t, calls)
		for i, rank := range r.ranks {
			for _, call := range only(r.of(calls, i), name) {
				want := native.RecordedCall{
					Name: name, Device: i, Depth: 1, Dtype: double, Count: 5, Stream: rank.Stream.Pointer(), Handle: rank.Comm.Pointer(),
					Send: rank.Send.Pointer(), Recv: rank.Recv.Pointer(),
				}
				if c.Reduces {
					want.Op = highest
				}
				if c.Rooted {
					want.Peer = 1
				}
				require.Equal(t, want, call)
			}
		}
		if len(only(calls, name)) == 0 {
			checkMessages(t, r, c, calls)
		} else {
			require.Len(t, only(calls, name), 3, name)
		}
	}
}

// checkMessages delivers the messages of a launch that is made of them, and
// holds what each rank got to the table of collectives.
func checkMessages(t *testing.T, r *rig, c collective.Collective, calls []native.RecordedCall) {
	t.Helper()
	const count, width = 5, 8
	n := len(r.ranks)
	type block struct{ rank, base int }
	got := make([]map[int]block, n)
	for i := range got {
		got[i] = map[int]block{}
	}
	for to := range n {
		for from := range n {
			sends := messages(r, calls, "send", from, to)
			recvs := messages(r, calls, "recv", to, from)
			require.Len(t, recvs, len(sends), "%s: every message has two ends", c.Name)
			for k, s := range sends {
				require.Equal(t, count, s.Count)
				require.Equal(t, count, recvs[k].Count)
				require.Positive(t, s.Depth, "messages outside of a group wait for each other")
				base := int(uintptr(s.Send)-uintptr(r.ranks[from].Send.Pointer())) / width / count
				place := int(uintptr(recvs[k].Recv)-uintptr(r.ranks[to].Recv.Pointer())) / width / count
				require.NotContains(t, got[to], place, "%s: written twice", c.Name)
				got[to][place] = block{from, base}
			}
		}
	}
	for to := range n {
		want := map[int]block{}
		result := c.Result(to, n, 1)
		for b := range result.Blocks {
			want[b] = block{result.From + b*result.Step, result.Base}
		}
		require.Equal(t, want, got[to], "%s: rank %d", c.Name, to)
	}
}

// messages are a rank's sends to, or receives from, a peer.
func messages(r *rig, calls []native.RecordedCall, name string, rank, peer int) []native.RecordedCall {
	var out []native.RecordedCall
	for _, c := range only(r.of(calls, rank), name) {
		if c.Peer == peer {
			out = append(out, c)
		}
	}
	return out
}
