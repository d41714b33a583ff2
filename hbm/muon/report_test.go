package muon

import (
	"testing"

	"github.com/stretchr/testify/require"

	method "zbench/bench/muon"
	"zbench/bench/stat"
	"zbench/internal/native"
)

// Emulated shapes are checked, reduced ones as what stands in for them, and each
// is kept as soon as it has ended.
func TestReportEmulated(t *testing.T) {
	d := open(t, "keller-jordan")
	d.cfg.Reduce = 24
	var said []string
	kept := 0
	r, err := d.Report([]method.Shape{{Name: "q", Rows: 64, Cols: 128, Batch: 9}, {Rows: 20, Cols: 10, Batch: 1}}, "", stat.Fixed(3),
		func(text string) { said = append(said, text) },
		func(r *method.Report) error { kept++; require.Equal(t, kept, r.Done); return nil })
	require.NoError(t, err)
	require.Equal(t, []string{"64x128x9 q, checked as 12x24x2", "20x10"}, said)
	require.Equal(t, []string{"64x128x9 q", "20x10"}, r.Asked)
	require.Equal(t, 2, kept)
	require.Empty(t, r.Shapes)
	require.Nil(t, r.Step)
	passes(t, r.Checks, nil)
	require.Equal(t, "64x128x9 q", r.Checks[0].Of)
	require.Equal(t, "12x24x2", r.Checks[0].Shape)
	require.Equal(t, "20x10", r.Checks[len(r.Checks)-1].Of)
}

// No check is said twice, and of one that was made twice the worst counts.
func TestReportSaysEachCheckOnce(t *testing.T) {
	d := open(t, "keller-jordan")
	r, err := d.Report([]method.Shape{{Rows: 20, Cols: 10, Batch: 1}}, "", stat.Fixed(3), func(string) {}, func(*method.Report) error { return nil })
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range r.Checks {
		require.False(t, seen[c.Shape+c.What], "%s of %s is there twice", c.What, c.Shape)
		seen[c.Shape+c.What] = true
	}
	require.Len(t, seen, 6)
}

func TestWorstOfAChecksFindings(t *testing.T) {
	good, bad := method.Check{Shape: "a", What: "b"}, method.Check{Shape: "a", What: "b", Found: method.Error{Max: 3}}
	other := method.Check{Shape: "c", What: "b"}
	for _, list := range [][]method.Check{{good, other, bad}, {bad, other, good}} {
		got := once(list, "x")
		require.Len(t, got, 2)
		require.Equal(t, method.Check{Of: "x", Shape: "a", What: "b", Found: method.Error{Max: 3}}, got[0])
	}
}

// After a cancellation what had ended is there.
func TestReportCancelled(t *testing.T) {
	d := open(t, "keller-jordan")
	shape := method.Shape{Rows: 20, Cols: 30, Batch: 1}
	r, err := d.Report([]method.Shape{shape, shape}, "", stat.Fixed(3), func(string) {}, func(*method.Report) error { d.Cancel(); return nil })
	require.ErrorIs(t, err, native.ErrCancelled)
	require.Equal(t, 1, r.Done)
	require.Len(t, r.Asked, 2)
	require.NotEmpty(t, r.Checks)
}

// What the device's memory does not hold is refused before it is asked for.
func TestMeasureRefusesWhatDoesNotFit(t *testing.T) {
	d := open(t, "keller-jordan")
	_, err := d.measure(&method.Report{}, method.Shape{Rows: 1, Cols: 65536, Batch: 65536}, false, stat.Fixed(3))
	require.ErrorIs(t, err, ErrMemory)
	require.ErrorContains(t, err, "it needs 264 GiB, and the device has")
}
