package muon

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
)

func gaussian(rng *rand.Rand, rows, cols int) *mat.Dense {
	d := mat.NewDense(rows, cols, nil)
	d.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, d)
	return d
}

// Newton–Schulz takes each singular value through the polynomials and leaves the
// vectors: an oracle that has no matrix product in it.
func TestNewtonSchulzIsAPolynomialOfSingularValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, c := range Sets() {
		for _, s := range [][2]int{{5, 9}, {9, 5}, {7, 7}, {1, 4}} {
			u := gaussian(rng, s[0], s[1])
			var svd mat.SVD
			require.True(t, svd.Factorize(u, mat.SVDThin))
			values := svd.Values(nil)
			norm := mat.Norm(u, 2)*c.Safety + Epsilon
			for i, v := range values {
				v /= norm
				for _, step := range c.Steps {
					v = step[0]*v + step[1]*v*v*v + step[2]*math.Pow(v, 5)
				}
				values[i] = v
			}
			var left, right, want mat.Dense
			svd.UTo(&left)
			svd.VTo(&right)
			left.Mul(&left, mat.NewDiagDense(len(values), values))
			want.Mul(&left, right.T())
			require.True(t, mat.EqualApprox(NewtonSchulz(u, c), &want, 1e-9), "%s %v", c.Name, s)
		}
	}
}

// What the coefficients are for: singular values come near 1. The bounds are
// those of the shapes at hand, 1:4.
func TestCoefficientsBringSingularValuesNearOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	for name, band := range map[string][2]float64{"keller-jordan": {0.66, 1.15}, "you": {0.97, 1.04}, "polar-express": {0.85, 1.15}} {
		c, err := ByName(name)
		require.NoError(t, err)
		var svd mat.SVD
		require.True(t, svd.Factorize(NewtonSchulz(gaussian(rng, 32, 128), c), mat.SVDNone))
		for _, v := range svd.Values(nil) {
			require.True(t, v > band[0] && v < band[1], "%s: %g", name, v)
		}
		require.NotEmpty(t, c.Source)
	}
}

// The bar is 2 to 3 times a reference's that rounds to bf16, on the same input, and more
// only where luck of few elements decides; what is far off is beyond it.
func TestBarIsOfTheInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	for _, c := range Sets() {
		for _, s := range [][2]int{{192, 96}, {64, 128}, {3, 5}, {5, 3}, {16, 16}, {9, 64}, {1, 65}, {1, 1}} {
			u := gaussian(rng, s[0], s[1])
			exact, bar := Expect(u, c, false)
			found := Compare(NewtonSchulzRounded(u, c, matrix.RoundBF16), exact)
			require.True(t, found.Within(bar), "%s %v: %v of %v", c.Name, s, found, bar)
			if min(s[0], s[1]) >= 64 {
				require.InEpsilon(t, bar.Frobenius, 2.5*found.Frobenius, 1e-9)
				require.InEpsilon(t, bar.Max, 2.5*found.Max, 1e-9)
			}
			off := mat.DenseCopyOf(exact)
			off.Scale(1+2*bar.Frobenius, off)
			require.False(t, Compare(off, exact).Within(bar))
			off.Set(0, 0, math.NaN())
			require.False(t, Compare(off, exact).Within(bar))
		}
	}
}

// Counts by hand, in units of 1e9, of five steps by definition.
func TestEffectiveOperations(t *testing.T) {
	for shape, want := range map[Shape]float64{
		{Rows: 2048, Cols: 4096, Batch: 1}:  429,
		{Rows: 2048, Cols: 2048, Batch: 1}:  258,
		{Rows: 1024, Cols: 2048, Batch: 1}:  54,
		{Rows: 1408, Cols: 2048, Batch: 1}:  109,
		{Rows: 11264, Cols: 2048, Batch: 1}: 1031,
		{Rows: 4096, Cols: 14336, Batch: 1}: 5498,
	} {
		sum := 0.0
		for _, p := range Products() {
			sum += 5 * p.Effective(shape)
		}
		require.InDelta(t, want, sum/1e9, 0.5, "%v", shape)
	}
}

// Executed counts every tile that is made, by walking over them.
func TestExecutedOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	for range 200 {
		s := Shape{Rows: 1 + rng.IntN(600), Cols: 1 + rng.IntN(600), Batch: 1}
		for _, p := range Products() {
			for _, tile := range []int{64, 128} {
				m, n, k := p.Dims(s)
				full, triangle := 0, 0
				for i := 0; i < m; i += tile {
					for j := 0; j < n; j += tile {
						full++
						if j <= i {
							triangle++
						}
					}
				}
				depth := 0
				for depth*Depth < k {
					depth++
				}
				one := 2 * float64(tile*tile*depth*Depth)
				require.Equal(t, one*float64(full), p.Executed(s, tile, true))
				if p.Symmetric() {
					require.Equal(t, one*float64(triangle), p.Executed(s, tile, false))
				} else {
					require.Equal(t, one*float64(full), p.Executed(s, tile, false))
				}
			}
		}
	}
}

func TestTile(t *testing.T) {
	require.Equal(t, 128, Gram.Tile(Shape{Rows: 4096, Cols: 4096, Batch: 1}, 304))
	require.Equal(t, 64, Gram.Tile(Shape{Rows: 1024, Cols: 2048, Batch: 1}, 304), "36 blocks for 304 units")
	require.Equal(t, 128, Gram.Tile(Shape{Rows: 1024, Cols: 2048, Batch: 16}, 304))
	require.Equal(t, 64, Gram.Tile(Shape{Rows: 64, Cols: 2048, Batch: 1000}, 304), "an edge tile would be three quarters zeros")
}

// Presets are models: the weights that they leave out are the embedding's and
// the head's.
func TestPresets(t *testing.T) {
	for name, weights := range map[string][2]float64{ // least and most, 1e9
		"zaya1-base": {7.5, 8.8}, "moonlight-16b": {15, 16}, "llama3-8b": {6.9, 7.1}, "llama3-70b": {68, 69},
	} {
		shapes, err := PresetShapes(name)
		require.NoError(t, err)
		n := float64(elementsOf(shapes)) / 1e9
		require.True(t, n > weights[0] && n < weights[1], "%s: %g", name, n)
		for _, s := range shapes {
			require.NoError(t, s.Check())
		}
	}
	_, err := PresetShapes("gpt")
	require.ErrorContains(t, err, "zaya1-base, moonlight-16b")
	_, err = ByName("mine")
	require.ErrorContains(t, err, "keller-jordan, you, polar-express")
}

func TestReduced(t *testing.T) {
	require.Equal(t, Shape{Rows: 96, Cols: 192, Batch: 2}, Shape{Rows: 2048, Cols: 4096, Batch: 640}.Reduced(192))
	require.Equal(t, Shape{Rows: 192, Cols: 34, Batch: 1}, Shape{Rows: 11264, Cols: 2048, Batch: 1}.Reduced(192))
	require.Equal(t, Shape{Rows: 3, Cols: 4, Batch: 5}, Shape{Rows: 3, Cols: 4, Batch: 5}.Reduced(192))
}

func TestCheckKeepsTheWorst(t *testing.T) {
	c := record.Check{Bar: record.Deviation{Frobenius: 1, Max: 1}}
	c.Worst(record.Deviation{Frobenius: 0.5, Max: 0.25})
	c.Worst(record.Deviation{Frobenius: 0.25, Max: 0.5})
	require.Equal(t, record.Deviation{Frobenius: 0.5, Max: 0.5}, c.Found)
	require.True(t, c.OK())
	c.Worst(record.Deviation{Frobenius: math.NaN()})
	require.False(t, c.OK())
}

// Panels are whole tiles but for the last, no more than eight, and grow with the matrix.
func TestPanels(t *testing.T) {
	require.Equal(t, []int{512, 1024, 1536, 2048}, Panels(2048, PanelRows))
	require.Equal(t, []int{1000}, Panels(1000, PanelRows))
	require.Equal(t, []int{576, 1030}, Panels(1030, PanelRows))
	require.Equal(t, []int{300}, Panels(300, PanelRows))
	require.Equal(t, []int{1088, 2176, 3264, 4352, 5440, 6528, 7616, 8200}, Panels(8200, PanelRows))
	require.Equal(t, []int{64, 65}, Panels(65, 1))
	s := Shape{Rows: 2048, Cols: 4096, Batch: 1}
	require.InEpsilon(t, 0.625*Gram.Effective(s), Gram.Panelled(s, PanelRows), 1e-15)
	require.InEpsilon(t, 0.625*Square.Effective(s), Square.Panelled(s, PanelRows), 1e-15)
	require.InEpsilon(t, Apply.Effective(s), Apply.Panelled(s, PanelRows), 1e-15)
	require.InEpsilon(t, 6.*2048*4096+12*2048*2048, VendorTraffic(s), 1e-15, "as METHOD.md says")
}
