package gemm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// timed is a row of a shape by the n-th choice, at so many operations a second.
func timed(s Shape, role string, choice, device int, rate float64) record.Kernel {
	seconds := s.Flop() / rate
	return record.Kernel{
		Case: record.Case{Key: record.KernelKey(role+s.String(), device), Status: record.OK}, Device: device, Kernel: Kernel, Role: role, Dtype: BF16, Effective: s.Flop(),
		Shape:   record.Shape{Name: strings.TrimSpace(s.Pass + " " + s.Name), Rows: s.M, Cols: s.N, Depth: s.K, Layout: s.Layout, Batch: s.Batch, Measured: s.Batch, Count: s.Count},
		Config:  record.LaunchConfig{Choice: choice},
		Timing:  &record.KernelTiming{Launches: 1, Seconds: &stat.Summary{N: 1, Min: seconds, Median: seconds, Max: seconds}},
		Metrics: record.Metrics{Effective: &rate, Executed: &rate},
	}
}

func recordOf(k spec.Kernels, devices int, rows ...record.Kernel) *record.Record {
	rec := &record.Record{Spec: &spec.Spec{Benchmark: spec.Gemm, Kernels: &k}, Kernels: rows}
	for i := range devices {
		rec.World.Devices = append(rec.World.Devices, record.Device{Index: i, Name: "AMD Instinct MI300X", Kind: record.GPU, Units: 304})
	}
	return rec
}

func texts(rec *record.Record) map[string]string {
	all := map[string]string{}
	for _, f := range figures(rec) {
		all[f.Code] += f.Text + "\n"
	}
	return all
}

// The gap of the first choice, the share of what others reached, strides, and a wrong row that counts for
// nothing.
func TestFindings(t *testing.T) {
	s := Shape{Name: "q", Pass: Forward, Layout: TN, M: 4096, N: 3000, K: 2048, Batch: 1, Count: 3}
	wrong := timed(s, record.Choice, 3, 0, 900e12)
	wrong.Status, wrong.Verified.State = record.WrongData, record.VerifiedWrong
	rec := recordOf(spec.Kernels{}, 1, timed(s, record.Choice, 1, 0, 472e12), timed(s, record.Choice, 2, 0, 531e12), wrong, timed(s, record.Torch, 1, 0, 470e12), timed(s, record.Vendor, 0, 0, 400e12))
	found := texts(rec)
	require.Contains(t, found[CodeRate], "4096x3000x2048 at 531 TFLOP/s, 40.6 % of the published 1307 TFLOP/s, 75 % of the 708 TFLOP/s that others reached (AMD, ")
	require.Contains(t, found[CodeGap], "in 1 of 1 products; at the most 11.1 % (bfloat16 4096x3000x2048/TN, choice 2)")
	require.Contains(t, found[CodeStrides], "1 of 1 products, 4096x3000x2048")
	require.Empty(t, found[CodeGPUs]+found[CodeSizes])
	d := &document.Document{}
	show(d, rec)
	sheet := d.Sections[0].Blocks[0].(document.Sheet)
	require.Equal(t, []string{"forward q", "4096×3000×2048", "1", "TN", BF16, "531", "472", "11.1 %", "470", "400", "75 %", "40.6 %"}, sheet.Groups[0].Rows[0].Cells[:12])
	require.Equal(t, "AB", sheet.Groups[0].Rows[0].Cells[15])

	rec.World.Devices[0].Clock = 2.1e9
	rec.Kernels[1].Timing.Conditions = []record.Conditions{{Clock: 1.2e9}, {Clock: 1.214e9}}
	require.Contains(t, texts(rec)[CodeRate], "40.6 % of the published 1307 TFLOP/s (70.7 % of what its units do at 1.21 GHz), 75 %")

	rec.World.Devices[0].Kind = record.OnLoopback // nobody's rates are held against a GPU's
	require.NotContains(t, texts(rec)[CodeRate], "reached")
	require.Nil(t, figures(recordOf(spec.Kernels{}, 1)))
	require.Nil(t, best(recordOf(spec.Kernels{}, 1)))
}

// The slowest and the fastest of eight GPUs by the best of each.
func TestPeakNamesGPUs(t *testing.T) {
	var rows []record.Kernel
	for i, s := range Peaks(304)[:2] {
		for g := range 8 {
			rate := 700e12 + 1e12*float64(g+i)
			if g == 5 {
				rate = 650e12
			}
			rows = append(rows, timed(s, record.Choice, 1, g, rate))
		}
	}
	require.Contains(t, texts(recordOf(spec.Kernels{Reachable: true}, 8, rows...))[CodeGPUs],
		"Reachable on 8 GPUs at once: 5580 TFLOP/s by 4864x4096x8256; slowest GPU 5 at 650 TFLOP/s, fastest GPU 7 at 708 TFLOP/s, 8.2 % apart.")

	rec := recordOf(spec.Kernels{Reachable: true}, 8, rows...)
	rec.World.GPUsPerNode, rec.World.Hosts = 4, []string{"gpu-17", "gpu-18"}
	for i := range rec.World.Devices {
		rec.World.Devices[i].Host = rec.World.Hosts[i/4]
	}
	require.Contains(t, texts(rec)[CodeGPUs], "Reachable on 8 GPUs of 2 nodes at once: 5580 TFLOP/s by 4864x4096x8256; slowest GPU 1 of gpu-18 at 650 TFLOP/s, fastest GPU 3 of gpu-18 at 708 TFLOP/s")
	same := byRate(products(rec)) // a row for each product, not one for each GPU
	require.Len(t, same, 2)
	require.Equal(t, "GPU 1 of gpu-18", rec.GPU(same[0][0].any))
	require.Equal(t, "GPU 3 of gpu-18", rec.GPU(same[0][7].any))

	for i := range rec.Kernels { // larger sums are in PFLOP/s; a name for each row's GPU keeps to 100 columns
		*rec.Kernels[i].Metrics.Effective *= 2
	}
	require.Contains(t, texts(rec)[CodeGPUs], "at once: 11.2 PFLOP/s by 4864x4096x8256")
	d := &document.Document{}
	show(d, rec)
	short := d.Sections[1].Blocks[0].(document.Sheet)
	require.Contains(t, short.Groups[0].Rows[1].Cells, "11.2 PFLOP/s")
	require.LessOrEqual(t, short.Width(len(short.Columns)), 100)
}

// A model of the times chooses among the products, too: what PyTorch would call is no measurement of it.
func TestNoPyTorchOfAModel(t *testing.T) {
	s := Shape{Name: "q", Pass: Forward, Layout: TN, M: 4096, N: 3000, K: 2048, Batch: 1, Count: 3}
	rec := recordOf(spec.Kernels{}, 1, timed(s, record.Choice, 1, 0, 472e12), timed(s, record.Torch, 1, 0, 470e12))
	names := func() string {
		return fmt.Sprint(slice.Map(results(rec, products(rec)).Columns, func(c table.Column) string { return c.Name }))
	}
	require.Contains(t, names(), "PyTorch")
	rec.Simulated = true
	require.NotContains(t, names(), "PyTorch")
}

// The products at which a GPU's vendor reached the most come first.
func TestPeakTakesPublishedPoints(t *testing.T) {
	all, err := Request(&spec.Kernels{Reachable: true}, record.Device{Name: "AMD Instinct MI300X", Units: 304})
	require.NoError(t, err)
	require.Len(t, all, 10)
	require.Equal(t, "4864x4096x32896/NN", all[0].String())
	require.Equal(t, "3648x4096x32896/NN", all[1].String())
	require.Equal(t, "published", all[1].Name)
	all, err = Request(&spec.Kernels{Reachable: true}, record.Device{Name: "a GPU that nobody knows", Units: 304})
	require.NoError(t, err)
	require.Equal(t, Peaks(304), all)
}

// Every unit makes as many tiles, and nothing lies beyond an edge.
func TestPeaksFillTheUnits(t *testing.T) {
	for _, units := range []int{304, 132, 80, 1} {
		shapes := Peaks(units)
		require.Len(t, shapes, 8)
		for _, s := range shapes {
			f := Fill(s, Tiles()[0], units)
			require.Zero(t, f.Lost, "%s on %d", s, units)
			require.Equal(t, f.Tiles, f.Waves*int64(units))
			require.NotContains(t, s.Strides(2, 2), "A", "the depth is no power of two")
		}
	}
}

// Hidden sizes by measured times: the sums are those of a microbatch, the advice and the picture follow, and
// the table has the model's own products alone.
func TestAroundByTimes(t *testing.T) {
	k := spec.Kernels{Preset: "llama3-8b", Tokens: 4096, Around: 1}
	models, err := Models(&k)
	require.NoError(t, err)
	require.Len(t, models, 3)
	shapes, err := Request(&k, record.Device{Units: 304})
	require.NoError(t, err)
	rates := map[int64]float64{4032: 500e12, 4096: 520e12, 4160: 560e12}
	var rows []record.Kernel
	seen := map[string]bool{}
	for _, m := range models {
		for _, s := range m.Shapes {
			if !seen[s.Pass+s.String()] {
				rows = append(rows, timed(s, record.Choice, 1, 0, rates[m.Hidden]))
			}
			seen[s.Pass+s.String()] = true
		}
	}
	require.Len(t, rows, len(shapes))
	rec := recordOf(k, 1, rows...)
	points, hidden := measured(rec, products(rec))
	require.Equal(t, int64(4096), hidden)
	require.Len(t, points, 3)
	require.InEpsilon(t, 520e12, points[1].Rate(), 1e-9)
	lines := texts(rec)[CodeSizes]
	require.Contains(t, lines, "is 4160: +")
	d := &document.Document{}
	show(d, rec)
	require.Len(t, d.Sections[0].Blocks[0].(document.Sheet).Groups[0].Rows, len(models[0].Shapes))
	require.Len(t, d.Sections[2].Blocks[0].(document.Bars).Bars, len(models[0].Shapes), "rates")
	require.Len(t, d.Sections[3].Blocks[0].(document.Bars).Bars, 3)
	rows[0].Metrics.Effective = nil // one of the model's own has no time
	points, _ = measured(rec, products(rec))
	require.Len(t, points, 2)
}

func TestRequests(t *testing.T) {
	for text, k := range map[string]spec.Kernels{
		"give one of":     {},
		"one of --preset": {Preset: "zaya1-base", Shapes: []string{"1x1x1"}},
		"needs a":         {Shapes: []string{"1x1x1"}, Around: 2},
	} {
		require.Contains(t, lacks(&k), text)
	}
	require.Empty(t, lacks(&spec.Kernels{Reachable: true}))
	all, err := Request(&spec.Kernels{Shapes: []string{"1x2x3", "1x2x3/TN", "1x2x3/NN"}}, record.Device{Units: 304})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Error(t, Family.Check(&spec.Kernels{Shapes: []string{"1x2"}}))
	require.Error(t, Family.Check(&spec.Kernels{Preset: "gpt"}))
	require.Error(t, Family.Check(&spec.Kernels{Reachable: true, Dtypes: []string{"int8"}}))
}
