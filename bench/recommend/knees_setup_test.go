package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// Results of other devices are another curve, and the table says which.
func TestSetupsAreKneesOfTheirOwn(t *testing.T) {
	rec := &record.Record{}
	for k := 10; k < 30; k++ {
		for setup, slow := range map[string]float64{"node-a:0 node-b:0": 1, "node-c:0 node-d:0": 20} {
			size := int64(1) << k
			r := record.Result{Collective: "all_reduce", Dtype: "float", Op: "sum", Ranks: 2, Nodes: 2, GPUsPerProcess: 1, Groups: 1, Bytes: size, Setup: setup, Status: record.OK}
			r.Burst = &record.Timing{MeanOfRanks: stat.Summarize([]float64{slow * (1e-5 + float64(size)/1e11)})}
			r.SetHeadline(1)
			rec.Results = append(rec.Results, r)
		}
	}
	a := KneesOf(rec)
	require.Len(t, a.Curves, 2)
	require.Equal(t, "node-a:0 node-b:0", a.Curves[0].Setup)
	require.InEpsilon(t, 20, a.Curves[0].PlateauBusBW/a.Curves[1].PlateauBusBW, 1e-9)
	require.Equal(t, "node-c:0 node-d:0", a.Curves[1].Setup)
}
