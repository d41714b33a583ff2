package recordtest

import (
	"fmt"
	"strings"
	"testing"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/test/project"
)

// Point is one size of a published curve.
type Point struct {
	Bytes   int64
	Seconds float64
}

// Curve reads a published table of sizes and microseconds from testdata/curves.
func Curve(t testing.TB, name string) []Point {
	t.Helper()
	var points []Point
	for line := range strings.Lines(project.Read(t, "testdata/curves/"+name+".csv")) {
		var bytes int64
		var micros float64
		if n, _ := fmt.Sscanf(line, "%d,%g", &bytes, &micros); n == 2 { // other lines are comments or the header
			points = append(points, Point{bytes, micros * 1e-6})
		}
	}
	if len(points) < 20 {
		t.Fatalf("%s has %d sizes", name, len(points))
	}
	return points
}

// Published returns a published curve of all_reduce on nodes of 8 GPUs, as an imported record.
func Published(t testing.TB, name string, ranks int) *record.Record {
	t.Helper()
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Imported}}
	for _, p := range Curve(t, name) {
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: fmt.Sprint(p.Bytes), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: p.Bytes, Ranks: ranks, Nodes: ranks / 8, GPUsPerProcess: 1, Groups: 1, Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{p.Seconds})},
		})
	}
	return rec
}
