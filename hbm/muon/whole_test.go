package muon

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/internal/native"
	"zbench/test/longtest"
)

// Correct kernels pass at odd small shapes with every list of coefficients, where 3 % of
// float64 is less than rounding to bf16 leaves.
func TestOddShapesPass(t *testing.T) {
	oddShapesPass(t, 3)
}

func TestLongOddShapesPass(t *testing.T) {
	longtest.Only(t)
	oddShapesPass(t, 50)
}

func oddShapesPass(t *testing.T, seeds int) {
	d := open(t, "keller-jordan")
	for _, d.cfg.Coefficients = range method.Sets() {
		for _, s := range [][2]int{{3, 5}, {5, 3}, {16, 16}, {9, 64}, {1, 65}, {65, 1}, {1, 1}, {17, 33}} {
			w := work(t, d, s[0], s[1], 1)
			for seed := range seeds {
				d.cfg.Seed = uint64(seed) //nolint:gosec // small
				checks, err := w.Check()
				passes(t, checks, err)
				checks, err = w.Products(checkElements)
				passes(t, checks, err)
			}
		}
	}
}

// A tile that a kernel does not make in one of the steps is found, though another run has
// left the right result there, and is told from what is not the same when it is made again.
func TestProductsFindATile(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds under a detector: TestStepAgainstFloat64 makes the same launches and checks")
	}
	d := open(t, "keller-jordan")
	w := work(t, d, 200, 140, 1)
	require.NoError(t, w.Fill())
	checks, err := w.Products(checkElements)
	passes(t, checks, err)
	for _, p := range method.Products() {
		for _, again := range []bool{false, true} {
			first := true
			short := maker{name: method.Product.String, elements: 1, launches: func(q method.Product, i int) []native.Step {
				steps := w.Product(q, i, false)
				if q == p && i == 3 && (first || !again) {
					first = false
					steps[0].Launch.Grid[0]--
				}
				return steps
			}}
			checks, err := w.wholes(short, 5, method.Products())
			require.NoError(t, err)
			k := slices.IndexFunc(checks, func(c record.Check) bool { return c.What == whole(p.String()) })
			require.False(t, checks[k].OK(), "%s: %+v", p, checks[k])
			want := map[bool]string{false: record.PatternTiles, true: record.PatternUnstable}[again]
			require.Equal(t, want, checks[k].Pattern, checks[k].Note)
			require.Contains(t, checks[k].Note, "step 4, matrix 0: ")
			v := verdict(entry{kernel: p.String()}, checks[k:k+1])
			require.Equal(t, record.VerifiedWrong, v.State)
			require.Contains(t, v.Reason, p.String()+", whole of 200x140: step 4, matrix 0: ")
			require.Equal(t, again, elementsChange(v.Hint()), v.Hint())
		}
	}
}

// A chunk that is not cast and a tile that is not scaled are found, in rows that are full
// and that are filled up.
func TestBeforeIsHeldWhole(t *testing.T) {
	d := open(t, "you")
	for _, s := range [][2]int{{100, 130}, {130, 96}} {
		w := work(t, d, s[0], s[1], 2)
		require.NoError(t, w.Fill())
		checks, err := w.before()
		passes(t, checks, err)
		require.Len(t, checks, 2)
		for i, of := range []*int{&w.chunks, &w.tiles} {
			*of--
			checks, err = w.before()
			require.NoError(t, err)
			require.False(t, checks[i].OK(), "%+v", checks)
			require.Equal(t, record.PatternTiles, checks[i].Pattern)
			require.Contains(t, checks[i].Note, "matrix 1: ")
			*of++
		}
		checks, err = w.before()
		passes(t, checks, err)
	}
}

func elementsChange(hint string) bool {
	return hint == (&record.Verified{}).Hint()+": the pattern is that of elements that change"
}

// What is only numerically off sends nobody to the memory's counters.
func TestHintIsOfThePattern(t *testing.T) {
	for pattern, memory := range map[string]bool{
		"": false, record.PatternTiles: false, record.PatternRounding: false, record.PatternIsolated: true, record.PatternUnstable: true,
	} {
		v := record.Verified{Checks: []record.Check{{What: checkedUpdate, Found: record.Deviation{Max: 1}, Pattern: pattern}}}
		require.Equal(t, memory, elementsChange(v.Hint()), pattern)
		if !memory {
			require.NotContains(t, v.Hint(), "memory")
		}
	}
}
