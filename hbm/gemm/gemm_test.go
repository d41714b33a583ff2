package gemm

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	method "zbench/bench/work/gemm"
	"zbench/internal/native"
)

func open(t *testing.T, devices int, faults ...string) *Driver {
	d, err := Open(Config{Native: native.Choice{Backend: "loopback", Machine: Machine(devices, faults)}, All: devices > 1, Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// rows takes both passes of the shapes' jobs.
func rows(t *testing.T, d *Driver, most int, dtypes []string, shapes ...method.Shape) []record.Kernel {
	t.Helper()
	all, jobs, err := d.Plan(shapes, dtypes, most, stat.Fixed(6))
	require.NoError(t, err)
	taken := plan.NewTaken(nil)
	require.NoError(t, taken.Run(context.Background(), jobs, nil, func(int) {}))
	for i, k := range all {
		all[i] = record.AssembleKernel(k, taken.Parts[k.Key], nil)
	}
	return all
}

func shape(t *testing.T, text string) method.Shape {
	s, err := method.ParseShape(text)
	require.NoError(t, err)
	return s
}

// Every layout and type: all choices and PyTorch's call are right and timed; the best of eight is not the
// first. A batch is checked at both ends.
func TestProducts(t *testing.T) {
	d := open(t, 1)
	layouts := []string{"TN", "NN", "NT"}
	if testing.Short() {
		layouts = layouts[:1] // a detector sees as much in one
	}
	for _, layout := range layouts {
		s := shape(t, "300x200x170x3/"+layout)
		all := rows(t, d, method.MostChoices, method.Dtypes(), s)
		require.Len(t, all, 4*(method.MostChoices+1))
		best, first := 0.0, 0.0
		for _, k := range all {
			require.Equal(t, record.OK, k.Status, "%s: %s", k.Key, k.Reason)
			require.Equal(t, record.VerifiedOK, k.Verified.State)
			require.Len(t, k.Verified.Checks, 4, "two of each end")
			require.Equal(t, "200x184x136x2/"+layout, k.Verified.Checks[0].Shape, "the stand-in makes the data of a reduced shape")
			require.Equal(t, int64(2*200*184), k.Verified.Elements)
			require.Equal(t, 6, k.Timing.Seconds.N)
			require.InEpsilon(t, 2*300*200*170*3/k.Timing.Seconds.Median, *k.Metrics.Effective, 1e-12)
			if k.Dtype == method.BF16 && k.Role == record.Choice {
				best = max(best, *k.Metrics.Effective)
				if k.Config.Choice == 1 {
					first = *k.Metrics.Effective
				}
			}
			if k.Role == record.Torch {
				require.Equal(t, int64(76<<20), k.Config.Workspace)
			}
		}
		require.Greater(t, best, 1.2*first)
	}
}

// A bit of the result that flips is found in every row, with its place; the twin has none, and no less data for
// the small product before it.
func TestWrongDataIsFound(t *testing.T) {
	s := shape(t, "300x200x170")
	d := open(t, 1)
	for _, k := range rows(t, d, 2, []string{method.BF16, method.FP16}, shape(t, "16x16x16"), s) {
		require.Equal(t, record.OK, k.Status, "%s: %s", k.Key, k.Reason)
	}
	require.NoError(t, d.Close()) // a process has one loopback
	// The high byte of an element: its exponent.
	for _, k := range rows(t, open(t, 1, "store 0 31"), 2, []string{method.BF16}, s) {
		require.Equal(t, record.WrongData, k.Status, k.Key)
		require.Equal(t, int64(1), *k.Verified.Wrong)
		require.Equal(t, record.PatternIsolated, k.Verified.Checks[0].Pattern)
		require.Contains(t, k.Reason, "row 0, column 15 is ")
		require.True(t, k.LeftWrong())
	}
}

// Several devices run at once: a row each, in one job.
func TestAllDevices(t *testing.T) {
	all := rows(t, open(t, 4), 1, []string{method.BF16}, method.Peaks(304)[0])
	require.Len(t, all, 8)
	for i, k := range all {
		require.Equal(t, i%4, k.Device)
		require.Equal(t, record.OK, k.Status, k.Reason)
		require.Equal(t, all[i/4*4].Job(), k.Job())
	}
}

// The operands' places: enough sets to leave the cache, fewer where the memory is short, and an error where
// there is none for one.
func TestPlaces(t *testing.T) {
	d := open(t, 1)
	k := d.kindOf(method.BF16)
	p, err := d.place(shape(t, "1024x1024x1024"), k)
	require.NoError(t, err)
	require.Equal(t, 64, p.sets)
	require.Equal(t, int64(2<<20), p.c[1])
	p, err = d.place(shape(t, "8192x8192x8192"), k)
	require.NoError(t, err)
	require.GreaterOrEqual(t, int64(p.sets)*p.set, 2*d.units[0].info.Cache)
	require.Equal(t, p.a[1], p.at(d.units[0], 1, 1).Offset-p.at(d.units[0], 1, 0).Offset)
	p, err = d.place(shape(t, "30000x60000x30000"), k)
	require.NoError(t, err)
	require.Equal(t, 1, p.sets)
	_, err = d.place(shape(t, "16777216x16777216x1024"), k)
	require.ErrorIs(t, err, ErrMemory)
}

// Of large sides lines far apart are checked, so near that each tile of 128² has some.
func TestApart(t *testing.T) {
	for _, side := range []int64{1, 17, 2048, 2049, 16384, 262272, 1 << 24} {
		a := apart(side)
		require.LessOrEqual(t, a, int64(mostApart))
		require.True(t, side/a <= mostLines || a == mostApart)
	}
	require.Less(t, mostApart, 128)
}

func TestRefused(t *testing.T) {
	_, err := Open(Config{Native: native.Choice{Backend: "loopback", Machine: Machine(1, nil)}, Device: 3})
	require.ErrorIs(t, err, native.ErrDevice)
	d := open(t, 1)
	require.True(t, strings.HasPrefix(d.VendorText(), "loopback libhipblaslt.so; no plain product: "), d.VendorText())
	require.Equal(t, record.OnLoopback, d.Devices()[0].Kind)
}

// A planted clock is that GPU's alone.
func TestClockBesideProducts(t *testing.T) {
	for _, k := range rows(t, open(t, 2, "clock 1 1.2e9 0"), 1, method.Dtypes()[:1], shape(t, "300x200x170")) {
		hz, _ := k.Timing.Clock()
		require.InEpsilon(t, []float64{2.1e9, 1.2e9}[k.Device], hz, 1e-3, k.Key)
	}
}
