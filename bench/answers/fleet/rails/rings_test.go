package rails

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// Each ring runs through one GPU of every node alone, once uncounted and once counted.
func TestCountRings(t *testing.T) {
	s := survey(t, 3, 2)
	n := &surveyNetwork{t: t, ranks: 6, fails: -1, time: func(int, int) float64 { return 1 }}
	// The NIC of rank r counts what r sends; n.seen has what was sent.
	read := func() []record.NICCounters {
		var out []record.NICCounters
		for rank := range 6 {
			sum := uint64(0)
			for _, e := range n.seen {
				if e.To[rank] >= 0 {
					sum += uint64(e.Launches+e.Warmup) * uint64(e.Case.Layout.Bytes) //nolint:gosec // small
				}
			}
			out = append(out, record.NICCounters{Node: string(rune('a' + rank/2)), NIC: string(rune('x' + rank%2)), Sent: &sum})
		}
		return out
	}
	rings, err := s.CountRings(t.Context(), &free{n}, 9, read)
	require.NoError(t, err)
	require.Len(t, n.seen, 4, "two exchanges for each of two GPUs")
	require.Equal(t, []int{2, -1, 4, -1, 0, -1}, n.seen[0].To)
	require.Equal(t, []int{-1, 3, -1, 5, -1, 1}, n.seen[2].To)
	require.Equal(t, []int{9, 9, 10, 10}, []int{n.seen[0].Round, n.seen[1].Round, n.seen[2].Round, n.seen[3].Round})
	require.Len(t, rings, 2)
	for gpu, r := range rings {
		require.Equal(t, gpu, r.GPU)
		require.EqualValues(t, 2<<20, r.Bytes)
		require.Len(t, r.NICs, 6)
		for i, c := range r.NICs {
			want := uint64(0)
			if i%2 == gpu {
				want = 2 << 20
			}
			require.Equal(t, want, *c.Sent)
		}
	}
	n.seen, n.fails = nil, 10
	rings, err = s.CountRings(t.Context(), &free{n}, 9, read)
	require.ErrorContains(t, err, "round 11 (the ring of GPU 1 of every node): a rank hangs")
	require.Len(t, rings, 1)
}
