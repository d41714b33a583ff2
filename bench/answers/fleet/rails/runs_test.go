package rails

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// A log of several runs of a pair has the rate of the slowest, of which a better
// placement counts.
func TestTheSlowestRunOfALog(t *testing.T) {
	rec := &record.Record{}
	for _, c := range []struct {
		setup   string
		inPlace bool
		rate    float64
	}{{"run 1", false, 120e9}, {"run 1", true, 122e9}, {"run 2", false, 5e9}, {"run 2", true, 6e9}} {
		rec.Results = append(rec.Results, record.Result{Collective: "all_reduce", Bytes: 1 << 30, Setup: c.setup, InPlace: c.inPlace, Case: record.Case{Status: record.OK}, BusBW: &c.rate})
	}
	require.Equal(t, map[point]float64{{"all_reduce", 1 << 30}: 6e9}, ratesOf(rec))
}
