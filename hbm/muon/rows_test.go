package muon

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
)

// Emulated shapes are checked in one pass, reduced ones as what stands in for them,
// and nothing is timed.
func TestEmulatedRows(t *testing.T) {
	d := open(t, "keller-jordan")
	d.cfg.Reduce = 24
	var said []string
	d.cfg.Say = func(text string) { said = append(said, text) }
	rows := rowsOf(t, d, false, method.Shape{Name: "q", Rows: 64, Cols: 128, Batch: 9}, method.Shape{Rows: 20, Cols: 10, Batch: 1})
	require.Equal(t, []string{"64x128x9 q, checked as 12x24x2", "20x10"}, said)
	require.Len(t, rows, 14)
	seen := map[string]bool{}
	for _, k := range rows {
		require.Nil(t, k.Timing)
		require.Equal(t, record.VerifiedOK, k.Verified.State)
		require.NotEmpty(t, k.Verified.Checks, k.Key)
		for _, c := range k.Verified.Checks {
			seen[c.Shape+" "+c.What] = true
		}
	}
	require.Len(t, seen, 24, "twelve checks of each shape: %v", seen)
	require.Equal(t, "own/X·Xᵀ/64x128x9 q@0", rows[0].Key)
	require.Equal(t, "12x24x2", rows[0].Verified.Checks[0].Shape)
}

func TestWorstOfAChecksFindings(t *testing.T) {
	good, bad := record.Check{Shape: "a", What: "b"}, record.Check{Shape: "a", What: "b", Found: record.Deviation{Max: 3}}
	other := record.Check{Shape: "c", What: "b"}
	for _, list := range [][]record.Check{{good, other, bad}, {bad, other, good}} {
		got := mergeRepeats(list)
		require.Len(t, got, 2)
		require.Equal(t, bad, got[0])
	}
}

// A check that found too much makes its rows wrong, and says what was found.
func TestVerdictOfARow(t *testing.T) {
	bad := record.Check{Shape: "8x4", What: checkedUpdate, Found: record.Deviation{Frobenius: 0.04, Max: 0.01}, Bar: record.Deviation{Frobenius: 0.03, Max: 0.02}}
	held := byKernel([]record.Check{bad})
	require.Len(t, held, 3)
	for kernel, checks := range held {
		v := verdict(entry{kernel: kernel}, checks)
		require.Equal(t, record.VerifiedWrong, v.State)
		require.Equal(t, "update against float64 of 8x4: off by 0.04 in all (bar 0.03), by 0.01 at the most (bar 0.02)", v.Reason)
	}
}

// After a cancellation what had ended is there, and nothing of the pass that was cut.
func TestRowsCancelled(t *testing.T) {
	d := open(t, "keller-jordan")
	_, jobs, err := d.Plan([]method.Shape{{Rows: 20, Cols: 30, Batch: 1}, {Rows: 20, Cols: 31, Batch: 1}}, false, stat.Fixed(3))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	taken := plan.NewTaken(nil)
	require.NoError(t, taken.Run(ctx, jobs, func(record.Part) error {
		if len(taken.Parts) == 7 { // the first shape is through
			d.Cancel()
			cancel()
		}
		return nil
	}, func(int) {}))
	require.Len(t, taken.Parts, 7)
	require.Empty(t, taken.Failed)
	parts, whole := jobs[7].Take(ctx, 0)
	require.False(t, whole, "%v", parts)
}

// What the device's memory does not hold is refused before it is asked for.
func TestPlanRefusesWhatDoesNotFit(t *testing.T) {
	d := open(t, "keller-jordan")
	_, _, err := d.Plan([]method.Shape{{Rows: 1, Cols: 65536, Batch: 65536}}, false, stat.Fixed(3))
	require.ErrorIs(t, err, ErrMemory)
	require.ErrorContains(t, err, "it needs 264 GiB, and the device has")
}

// A few matrices of a model's are measured, and the row says how many.
func TestFewOfAModels(t *testing.T) {
	d := open(t, "keller-jordan")
	d.timed = true
	shape := method.Shape{Rows: 64, Cols: 64, Batch: 640}
	for few, want := range map[bool]int64{true: mostBatch, false: 640} {
		rows, _, err := d.Plan([]method.Shape{shape}, few, stat.Fixed(3))
		require.NoError(t, err)
		require.Equal(t, want, rows[0].Shape.Measured)
		require.Equal(t, int64(640), rows[0].Shape.Batch)
		require.InEpsilon(t, float64(want)*method.Gram.Effective(shape), rows[0].Effective, 1e-12)
	}
}

// What is scaled in place is no zeros however often it was timed.
func TestScalingIsTimedOnWhatItWasGiven(t *testing.T) {
	d := open(t, "keller-jordan")
	d.batch, d.settle, d.timed = 0, 0, true // one round a sample: thirty are as many scalings
	shape := method.Shape{Rows: 64, Cols: 96, Batch: 2}
	rows, jobs, err := d.Plan([]method.Shape{shape}, false, stat.Fixed(30))
	require.NoError(t, err)
	at := slices.IndexFunc(rows, func(k record.Kernel) bool { return k.Kernel == transpose })
	parts, whole := jobs[at].Take(context.Background(), 1)
	require.True(t, whole, "%v", parts)
	require.GreaterOrEqual(t, len(parts[0].Kernel.Seconds), 12)
	require.NoError(t, d.run(d.work.Before()[0:1]...)) // a reference: cast before it is scaled
	for i := range shape.Batch {
		flipped, err := d.work.read(int64(d.work.list[i].Flipped), shape.Cols, shape.Rows) //nolint:gosec // an offset
		require.NoError(t, err)
		require.InDelta(t, 1, flipped.Norm(), 0.01, "matrix %d", i)
	}
}

// A working set of less than four times the last level of cache is not the memory's. It is
// what a row touches, however often.
func TestCacheResidentRows(t *testing.T) {
	d := open(t, "keller-jordan")
	shape := method.Shape{Rows: 64, Cols: 128, Batch: 1}
	e := 2.0 * 64 * 128 // bytes of a matrix of bf16
	d.about.Cache = 0
	for _, k := range rowsOf(t, d, false, shape) {
		require.False(t, k.CacheResident, "the cache's size is not known")
		if k.Kernel == method.Iteration {
			require.InDelta(t, 6*e+2*2*64*64, k.WorkingSet, 0)
			require.Greater(t, k.Moved, k.WorkingSet)
		}
		if k.Kernel == transpose {
			require.InDelta(t, 2*e, k.WorkingSet, 0)
		}
	}
	d.about.Cache = 2 * int64(e) // four times it is eight matrices
	resident := map[string]bool{}
	for _, of := range []method.Shape{shape, {Rows: 64, Cols: 128, Batch: 4}} {
		for _, entry := range d.entries(of) {
			k := d.row(target{of, of}, entry)
			resident[k.Key] = k.CacheResident
		}
	}
	require.True(t, resident["pass/"+transpose+"/64x128@0"], "%v", resident)
	require.False(t, resident["pass/"+transpose+"/64x128x4@0"])
}
