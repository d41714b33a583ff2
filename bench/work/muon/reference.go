package muon

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
)

// NewtonSchulz is the reference for kernels: the iteration in float64 without rounding. It does not
// change its argument. The result has the shape of the argument.
func NewtonSchulz(u mat.Matrix, c Coefficients) *mat.Dense {
	return iterate(u, c, func(*mat.Dense) {}, false)
}

// NewtonSchulzRounded computes NewtonSchulz and calls the function round where the kernels store
// bf16: for the input, for the scaled input, and for the result of every product.
func NewtonSchulzRounded(u mat.Matrix, c Coefficients, round func(float64) float64) *mat.Dense {
	return rounded(u, c, round, false)
}

func rounded(u mat.Matrix, c Coefficients, round func(float64) float64, folded bool) *mat.Dense {
	return iterate(u, c, func(x *mat.Dense) {
		x.Apply(func(_, _ int, v float64) float64 { return round(v) }, x)
	}, folded)
}

// iterate calls the function round where the kernels store a matrix. If folded is true, it calls
// round where a vendor's products store a matrix: c·A² is rounded before the sum, and the diagonal
// of B includes the coefficient a.
func iterate(u mat.Matrix, c Coefficients, round func(*mat.Dense), folded bool) *mat.Dense {
	x := mat.DenseCopyOf(u)
	rows, cols := x.Dims()
	if rows > cols {
		x = mat.DenseCopyOf(x.T())
	}
	round(x)
	x.Scale(1/(mat.Norm(x, 2)*c.Safety+Epsilon), x) // gonum's 2-norm is the Frobenius norm
	round(x)
	for _, step := range c.Steps {
		var a, b, next mat.Dense
		shift, beside := 0.0, step[0]
		if folded {
			shift, beside = step[0], 0
		}
		a.Mul(x, x.T())
		round(&a)
		b.Mul(&a, &a)
		b.Scale(step[2], &b)
		if folded {
			round(&b)
		}
		b.Apply(func(i, j int, v float64) float64 {
			if i == j {
				v += shift
			}
			return v + step[1]*a.At(i, j)
		}, &b)
		round(&b)
		next.Mul(&b, x)
		next.Apply(func(i, j int, v float64) float64 { return v + beside*x.At(i, j) }, &next)
		round(&next)
		x = &next
	}
	if rows > cols {
		return mat.DenseCopyOf(x.T())
	}
	return x
}

const (
	// bars is the largest deviation of a kernel, as a multiple of the deviation of a reference that
	// rounds to bf16. Emulated kernels have 0.95 to 1.06 times that deviation.
	bars = 2.5
	// The constant few is the short side below which a single rounding can decide a reference's
	// error by chance. For such matrices the worst of several references counts. The constant draws
	// is the number of these further references. In them, products change at random by up to a
	// quarter of a unit before they are rounded.
	few   = 64
	draws = 8
)

// Expect returns the iteration in float64, and how far a bf16 result may be from it. That distance
// is bars times the distance of a reference that rounds where the kernels do, for the same input.
// folded is true for the products of a vendor's library.
func Expect(u mat.Matrix, c Coefficients, folded bool) (exact *mat.Dense, bar record.Deviation) {
	exact = NewtonSchulz(u, c)
	const half = 0x1p-8 // relative error of the last rounding alone, half a unit
	bar = record.Deviation{Frobenius: half, Max: half * max(mat.Max(exact), -mat.Min(exact))}
	wider := func(round func(float64) float64) {
		d := Compare(rounded(u, c, round, folded), exact)
		bar = record.Deviation{Frobenius: max(bar.Frobenius, d.Frobenius), Max: max(bar.Max, d.Max)}
	}
	wider(matrix.RoundBF16)
	if rows, cols := u.Dims(); min(rows, cols) < few {
		rng := rand.New(rand.NewPCG(few, draws)) //nolint:gosec // test data
		for range draws {
			wider(func(v float64) float64 { return matrix.RoundBF16(v * (1 + (rng.Float64()-0.5)*0x1p-9)) })
		}
	}
	return exact, record.Deviation{Frobenius: bars * bar.Frobenius, Max: bars * bar.Max}
}

// Compare compares a result with the reference.
func Compare(got, want mat.Matrix) record.Deviation {
	var diff mat.Dense
	diff.Sub(got, want)
	e := record.Deviation{Frobenius: mat.Norm(&diff, 2)}
	if norm := mat.Norm(want, 2); norm > 0 {
		e.Frobenius /= norm
	}
	for _, v := range diff.RawMatrix().Data {
		if !(math.Abs(v) <= e.Max) { // a NaN counts as the worst
			e.Max = math.Abs(v)
		}
	}
	return e
}
