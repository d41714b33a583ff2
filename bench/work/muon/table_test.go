package muon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// A row says which share of the memory's peak it has, and whether a cache had part in it; the way that is of
// our products and the vendor's has a name and a place in the sentence of its own.
func TestShareOfThePeakAndMixedProducts(t *testing.T) {
	row := func(role string, vendor float64) record.Kernel {
		return record.Kernel{
			Kernel: Iteration, Role: role, Library: "librocblas.so", Case: record.Case{Status: record.OK}, Shape: record.Shape{Rows: 64, Cols: 128, Batch: 1, Measured: 1},
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

// A terminal's table keeps to 100 columns, with one rate a row: a product's operations, a pass's bytes. Of the checks
// it has those that failed.
func TestShortResults(t *testing.T) {
	row := func(kernel, role string, m record.Metrics, checks ...record.Check) record.Kernel {
		return record.Kernel{
			Kernel: kernel, Role: role, Library: "libcublas.so.13", Dtype: "bfloat16", Case: record.Case{Status: record.OK, Verified: record.Verified{Checks: checks}}, Shape: record.Shape{Rows: 2048, Cols: 2048, Batch: 16, Measured: 16}, Metrics: m,
			Timing: &record.KernelTiming{Seconds: &stat.Summary{Median: 1.426e-3}, Conditions: []record.Conditions{{Clock: 1.5e9}}},
		}
	}
	rec := &record.Record{
		Source: record.Source{Kind: record.Measured, Backend: "cuda"},
		World:  record.World{Devices: []record.Device{{Name: "NVIDIA H200", Kind: record.GPU}}}, Kernels: []record.Kernel{
			row(Iteration, record.Hybrid, record.Metrics{Effective: new(592e12), Executed: new(494.7e12), Rate: new(1e12), ToVendor: new(0.8186)}),
			row(Prepare, record.Pass, record.Metrics{Rate: new(3.4e12), OfPeak: new(0.708)}, record.Check{What: "right", Bar: record.Deviation{Max: 1}}),
		},
	}
	tables := short(rec)
	require.Len(t, tables, 1, "no check failed")
	require.LessOrEqual(t, tables[0].Width(len(tables[0].Columns)), 100)
	require.Equal(t, []string{"Newton–Schulz, ours and cublas", "1.43 ms", "592 TFLOP/s", "50 %", "–", "0.82", "1.50 GHz"}, tables[0].Groups[0].Rows[0].Cells)
	require.Equal(t, []string{"momentum, cast, norm", "1.43 ms", "3.40 TB/s", "70.8 %", "–", "–", "1.50 GHz"}, tables[0].Groups[0].Rows[1].Cells)
	rec.Kernels[1].Verified.Checks[0].Found.Max = 2
	tables = short(rec)
	require.Len(t, tables, 2)
	require.Equal(t, "right", tables[1].Groups[0].Rows[0].Cells[0])
}
