package muon

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/internal/native"
)

func open(t testing.TB, coefficients string) *Driver {
	t.Helper()
	c, err := method.ByName(coefficients)
	require.NoError(t, err)
	d, err := Open(Config{
		Native:       native.Choice{Backend: "loopback", Machine: Machine(), Getenv: func(string) string { return "" }},
		Coefficients: c, Seed: 7,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func work(t testing.TB, d *Driver, rows, cols, batch int) *Work {
	t.Helper()
	w, err := d.NewWork(method.Shape{Rows: rows, Cols: cols, Batch: batch})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func passes(t testing.TB, checks []record.Check, err error) {
	t.Helper()
	require.NoError(t, err)
	for _, c := range checks {
		require.True(t, c.OK(), "%+v", c)
	}
}

// A whole step on the device's kernels against float64: random shapes, wide,
// tall and square, and the edges of tiles and of 16 bytes.
func TestStepAgainstFloat64(t *testing.T) {
	d := open(t, "keller-jordan")
	rng := rand.New(rand.NewPCG(7, 1))
	shapes := [][2]int{{1, 1}, {63, 65}, {65, 63}, {65, 130}, {192, 192}, {1, 65}, {63, 1}}
	random := 6
	if testing.Short() {
		random = 1 // the edges are in the list
	}
	for range random {
		shapes = append(shapes, [2]int{1 + rng.IntN(192), 1 + rng.IntN(192)})
	}
	for _, s := range shapes {
		w := work(t, d, s[0], s[1], 1+rng.IntN(3))
		checks, err := w.Check()
		passes(t, checks, err)
		checks, err = w.Products(50)
		passes(t, checks, err)
		checks, err = w.EveryTile(50)
		passes(t, checks, err)
		require.Len(t, checks, 5, "two products: whole, 50 elements; symmetry")
	}
	checks, err := work(t, d, 1408, 16, 1).Check()
	passes(t, checks, err)
}

// Each list of coefficients, an odd and an even number of steps among them.
func TestCoefficients(t *testing.T) {
	d := open(t, "keller-jordan")
	for _, d.cfg.Coefficients = range method.Sets() {
		checks, err := work(t, d, 96, 160, 2).Check()
		passes(t, checks, err)
	}
	d.cfg.Coefficients = method.Sets()[0]
	for steps := 1; steps <= 4; steps++ {
		d.cfg.Coefficients.Steps = method.Sets()[0].Steps[:steps]
		checks, err := work(t, d, 70, 40, 2).Check()
		passes(t, checks, err)
	}
}

// A batch has the bits that each of its matrices has alone.
func TestBatchIsOneByOne(t *testing.T) {
	d := open(t, "you")
	batch := work(t, d, 65, 130, 3)
	_, err := batch.Check()
	require.NoError(t, err)
	for i := range 3 {
		want, err := batch.Result(i)
		require.NoError(t, err)
		one := work(t, d, 65, 130, 1)
		require.NoError(t, one.Fill())
		in := batch.input(i)
		require.NoError(t, d.p.Write(one.at(one.gradient), encode(in.gradient)))
		require.NoError(t, d.p.Write(one.at(one.momentum), encode(in.momentum)))
		require.NoError(t, d.run(one.Step()...))
		got, err := one.Result(0)
		require.NoError(t, err)
		require.True(t, mat.Equal(got, want), "matrix %d", i)
	}
}

// The steps of a sequence can be run again on the same input.
func TestIterateRepeats(t *testing.T) {
	d := open(t, "polar-express")
	w := work(t, d, 64, 128, 1)
	_, err := w.Check()
	require.NoError(t, err)
	first, err := w.Result(0)
	require.NoError(t, err)
	require.NoError(t, d.run(w.Iterate()...))
	again, err := w.Result(0)
	require.NoError(t, err)
	require.True(t, mat.Equal(first, again))
}

// The kernels are as near to float64 that rounds where they round as float sums
// allow, and far from one that truncates there: this is what holds the rounding.
func TestKernelsRoundToNearest(t *testing.T) {
	d := open(t, "keller-jordan")
	truncate := func(v float64) float64 {
		return float64(matrix.FromBF16(uint16(math.Float32bits(float32(v)) >> 16)))
	}
	for _, s := range [][2]int{{96, 192}, {150, 60}} {
		w := work(t, d, s[0], s[1], 1)
		_, err := w.Check()
		require.NoError(t, err)
		got, err := w.Result(0)
		require.NoError(t, err)
		u := w.input(0).nesterov(w.shape)
		near := method.Compare(got, method.NewtonSchulzRounded(u, d.cfg.Coefficients, matrix.RoundBF16))
		far := method.Compare(got, method.NewtonSchulzRounded(u, d.cfg.Coefficients, truncate))
		t.Logf("%v: rounded %.2g, truncated %.2g", s, near.Frobenius, far.Frobenius)
		require.Less(t, near.Frobenius, 0.01)
		require.Greater(t, far.Frobenius, 0.015)
	}
}
