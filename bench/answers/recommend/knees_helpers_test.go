package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/test/recordtest"
)

// kneeWorld is where a test's curve was taken.
type kneeWorld struct {
	collective   string
	ranks, nodes int
}

var kneeNode = kneeWorld{"all_reduce", 8, 1}

// kneeSweep builds a record with one result per size; seconds gives its time.
func kneeSweep(t testing.TB, w kneeWorld, sizes []int64, seconds func(s float64) float64) *record.Record {
	t.Helper()
	rec := &record.Record{Schema: record.Schema}
	for _, s := range sizes {
		rec.Results = append(rec.Results, result(t, w, s, seconds(float64(s))))
	}
	return rec
}

func result(t testing.TB, w kneeWorld, size int64, seconds float64) record.Result {
	t.Helper()
	c, err := collective.ByName(w.collective)
	require.NoError(t, err)
	op := ""
	if c.Reduces {
		op = "sum"
	}
	r := record.Result{
		Case:       record.Case{Key: record.Key(c.Name, "float", op, size, w.ranks, 1, false), Status: record.OK},
		Collective: c.Name, Dtype: "float", Op: op, BytesRequested: size, Bytes: size, Count: size / 4,
		Ranks: w.ranks, Nodes: w.nodes, GPUsPerProcess: 1,
		Burst: &record.Timing{Iterations: 20, MeanOfRanks: stat.Summarize([]float64{seconds})},
	}
	r.SetHeadline(c.BusFactor(w.ranks))
	return r
}

// wide is the default sweep.
func kneeWide() []int64 { return doubling(unit.KiB, 8*unit.GiB) }

// publishedFile is a published curve.
func publishedFile(t testing.TB, name string, w kneeWorld) *record.Record {
	t.Helper()
	rec := &record.Record{Schema: record.Schema}
	for _, p := range recordtest.Curve(t, name) {
		rec.Results = append(rec.Results, result(t, w, p.Bytes, p.Seconds))
	}
	return rec
}

// onlyKnees returns the single curve of an answer, which must have three points.
func onlyKnees(t testing.TB, a Knees) KneeCurve {
	t.Helper()
	require.Len(t, a.Curves, 1)
	require.Len(t, a.Curves[0].Points, 3, a.Curves[0].Reason)
	return a.Curves[0]
}

// sizes lists the bytes of the curve's points.
func sizes(c KneeCurve) []int64 {
	var s []int64
	for _, p := range c.Points {
		s = append(s, p.Bytes)
	}
	return s
}
