package muon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// A row says which share of the memory's peak it has, and whether a cache had part in it; the way that is of
// our products and the vendor's has a name and a place in the sentence of its own.
func TestShareOfThePeakAndMixedProducts(t *testing.T) {
	row := func(role string, vendor float64) record.Kernel {
		return record.Kernel{
			Kernel: Iteration, Role: role, Library: "librocblas.so", Status: record.OK, Shape: record.Shape{Rows: 64, Cols: 128, Batch: 1, Measured: 1},
			Metrics: record.Metrics{ToVendor: &vendor, OfPeak: new(0.125)}, Timing: &record.KernelTiming{Seconds: &stat.Summary{Median: 1e-3}},
		}
	}
	rec := &record.Record{SequenceSeconds: new(0.5), Kernels: []record.Kernel{row(record.Sequence, 0.8), row(record.Hybrid, 1.25)}}
	rec.Kernels[1].CacheResident = true
	tables := figures([]*record.Kernel{&rec.Kernels[0], &rec.Kernels[1]})
	cells := func(row int, name string) string {
		for i, c := range tables.Columns {
			if c.Name == name {
				return tables.Groups[0].Rows[row].Cells[i]
			}
		}
		return "no column " + name
	}
	require.Equal(t, "12.5 %", cells(0, "of peak"))
	require.Equal(t, "–", cells(0, "notes"))
	require.Equal(t, "cache-resident", cells(1, "notes"))
	require.Equal(t, "Newton–Schulz, own triangles and librocblas.so", cells(1, "what"))
	require.Equal(t, "Newton–Schulz of all matrices on one such GPU: 500 ms per optimiser step, 0.8 × as fast as by the vendor's products; with our triangles and its B·X 1.2 ×.", products(rec)[0].Text)
}
