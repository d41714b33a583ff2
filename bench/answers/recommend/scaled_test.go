package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// A scaled source has the same curve at other times, and leaves its record alone.
func TestScaled(t *testing.T) {
	rec := sweep("all_reduce", sizesOf(8), steadySamples(20))
	before := onlyCurve(t, Source{Record: rec})
	kept := rec.Results[3].Bytes
	got := onlyCurve(t, Source{Name: "a", Record: rec}.Scaled(func(r *record.Result) float64 {
		if r.Bytes == kept {
			return 0
		}
		return 3
	}))
	require.Equal(t, before, onlyCurve(t, Source{Record: rec}), "the record is as it was")
	require.Len(t, got.Points, len(before.Points))
	for i, p := range got.Points {
		by := 3.0
		if p.Bytes == kept {
			by = 1
		}
		require.InEpsilon(t, by*before.Points[i].Seconds, p.Seconds, 1e-12)
		require.InEpsilon(t, by**before.Points[i].Lo, *p.Lo, 1e-12)
		require.InEpsilon(t, by**before.Points[i].Hi, *p.Hi, 1e-12)
		require.Equal(t, before.Points[i].N, p.N)
	}
}
