package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/curve"
	"zbench/bench/run/record"
)

// Results of other devices are lines of their own, named after them.
func TestSetupsAreCurvesOfTheirOwn(t *testing.T) {
	rec := &record.Record{}
	for _, setup := range []string{"node-a:0 node-b:0", "node-c:0 node-d:0"} {
		for _, bytes := range []int64{1024, 2048} {
			rec.Results = append(rec.Results, record.Result{Collective: "all_reduce", Dtype: "float", Ranks: 2, Nodes: 2, Bytes: bytes, Setup: setup, Case: record.Case{Status: record.OK}})
		}
	}
	curves := curve.Of(rec)
	require.Len(t, curves, 2)
	require.Equal(t, "all_reduce node-a:0 node-b:0", curves[0].Name)
	require.Equal(t, "all_reduce node-c:0 node-d:0", curves[1].Name)
	require.Len(t, curves[1].Rows, 2)
}
