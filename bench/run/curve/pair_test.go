package curve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// How far placements lie apart is said of what was measured alone, also where the run was interrupted.
func TestPlacementsWithoutTimesAreNotCompared(t *testing.T) {
	of := func(status record.Status, in float64) Curve {
		row := func(inPlace bool, seconds float64) record.Result {
			r := record.Result{Collective: "all_reduce", Bytes: 1 << 20, InPlace: inPlace, Case: record.Case{Status: status}}
			if seconds > 0 {
				r.Burst = &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds})}
			}
			return r
		}
		drawn, note := Drawn(Of(&record.Record{Results: []record.Result{row(false, 1e-4), row(true, in)}}))
		if len(drawn) == 2 {
			return Curve{Apart: 1}
		}
		require.Equal(t, drawn[0].Apart >= 0, note != "")
		return drawn[0]
	}
	require.InDelta(t, 0.03, of(record.OK, 1.03e-4).Apart, 1e-9)
	require.InDelta(t, 0.03, of(record.Interrupted, 1.03e-4).Apart, 1e-9)
	require.Equal(t, 1.0, of(record.Interrupted, 2e-4).Apart, "a difference has a curve of its own")
	require.Negative(t, of(record.Interrupted, 0).Apart)
	require.Negative(t, of(record.Failed, 0).Apart)
}
