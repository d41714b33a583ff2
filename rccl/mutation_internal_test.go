package rccl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
)

const testCache = 1 << 20

// openCases opens four ranks with buffers for every collective from 64 B to
// 256 KiB, all below the cache, in place and out of place.
func openCases(t *testing.T) (*Driver, []plan.Case) {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}
	m, err := f.Resolve(w, fabric.Conditions{})
	require.NoError(t, err)
	d, err := Open(Config{Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Ranks: 4, CacheBytes: testCache})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	a := plan.Axes{MinBytes: 64, MaxBytes: 256 << 10, Factor: 4, InPlace: []bool{false, true}, World: spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}}
	a, err = a.Named("double", "sum")
	require.NoError(t, err)
	a.Collectives = collective.All()
	cases := a.Cases()
	require.NoError(t, d.Allocate(t.Context(), plan.Room{Cache: testCache}.For(cases)))
	return d, cases
}

// end is the first byte behind the last slot of a buffer.
func end(at native.Address, slots, stride, bytes int64) int64 {
	return at.Offset + (slots-1)*stride + bytes
}

// Launches of a case rotate over at least twice the cache, through slots that
// are apart and inside of the buffers; in place is one buffer, else two are.
func TestBuffersRotateOverTwiceTheCache(t *testing.T) {
	d, cases := openCases(t)
	for _, c := range cases {
		require.NoError(t, d.Begin(c, 0))
		w, l := d.work, c.Layout
		require.GreaterOrEqual(t, w.Slots*max(w.SendStride, w.RecvStride), int64(2*testCache), c.Key)
		require.GreaterOrEqual(t, w.SendStride, l.SendBytes, c.Key)
		require.GreaterOrEqual(t, w.RecvStride, l.RecvBytes, c.Key)
		for i, m := range d.ranks {
			send, recv := m.rank.Send, m.rank.Recv
			require.LessOrEqual(t, end(send, w.Slots, w.SendStride, l.SendBytes), send.Buffer.Bytes, c.Key)
			require.LessOrEqual(t, end(recv, w.Slots, w.RecvStride, l.RecvBytes), recv.Buffer.Bytes, c.Key)
			require.Equal(t, send.Buffer, recv.Buffer, "an arena a rank")
			require.GreaterOrEqual(t, min(send.Offset, recv.Offset), int64(plan.ArenaHead), c.Key)
			sendEnd, recvEnd := end(send, w.Slots, w.SendStride, l.SendBytes), end(recv, w.Slots, w.RecvStride, l.RecvBytes)
			require.Equal(t, !c.InPlace, recv.Offset >= sendEnd || send.Offset >= recvEnd, c.Key)
			if c.InPlace {
				// The smaller buffer is the rank's own share of the larger.
				apart := max(send.Offset, recv.Offset) - plan.ArenaHead
				require.Equal(t, int64(plan.ArenaHead), min(send.Offset, recv.Offset), c.Key)
				require.Equal(t, w.SendStride, w.RecvStride, c.Key)
				if l.SendBytes != l.RecvBytes {
					require.Equal(t, int64(i)*min(l.SendBytes, l.RecvBytes), apart, c.Key)
				} else {
					require.Zero(t, apart, c.Key)
				}
			}
		}
	}
}

// What is verified differs from case to case, launch to launch, seed to seed.
func TestVerificationDataDiffer(t *testing.T) {
	d, cases := openCases(t)
	seen := map[uint64]string{}
	for _, d.cfg.Seed = range []uint64{0, 1} {
		for _, c := range cases {
			for launch := range 3 {
				seed := d.seed(c, launch)
				require.NotContains(t, seen, seed, "%s, launch %d, has the data of %s", c.Key, launch, seen[seed])
				seen[seed] = c.Key
			}
		}
	}
}

// The delay kernel holds the streams back for longer than enqueueing takes.
func TestStreamsAreHeldBack(t *testing.T) {
	d, cases := openCases(t)
	require.NoError(t, d.Begin(cases[0], 0))
	for range 3 {
		_, err := d.Isolated(t.Context(), 10)
		require.NoError(t, err)
		require.Greater(t, d.hold*10, d.batch.EnqueueSeconds())
	}
}
