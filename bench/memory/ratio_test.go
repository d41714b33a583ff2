package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A ratio is of the same device, type and shape, in times for the work kernel by
// kernel and in rates for the copy; without a time there is none.
func TestRatios(t *testing.T) {
	other := timed("o", Unfused, 1, 1<<20, 9e-3)
	shape := timed("s", Copy, 0, 1<<20, 9e-3)
	shape.Hidden = 128
	rec := &Record{Results: []Result{
		other, shape,
		timed("f", Fused, 0, 1<<20, 2e-3), timed("u", Unfused, 0, 1<<21, 5e-3), timed("c", Copy, 0, 1<<19, 0.8e-3),
		timed("g", Fused, 1, 1<<20, 3e-3),
	}}
	checked := timed("n", Fused, 2, 1<<20, 1e-3)
	checked.Timing, checked.Rate = nil, nil
	rec.Results = append(rec.Results, checked)

	all := rec.Ratios()
	require.Len(t, all, 2, "what was not timed has no ratio")
	require.InDelta(t, 2.5, *all[0].Speedup, 1e-12)
	require.InDelta(t, (1<<20/2e-3)/(1<<19/0.8e-3), *all[0].OfCopy, 1e-12)
	require.InDelta(t, 3, *all[1].Speedup, 1e-12)
	require.Nil(t, all[1].OfCopy)
	require.Equal(t, all[1], rec.RatioOf(&rec.Results[5]))
	require.Zero(t, rec.RatioOf(&rec.Results[3]))
}
