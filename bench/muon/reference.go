package muon

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"zbench/bench/record"
)

// NewtonSchulz is the iteration in float64, without any rounding: what a kernel
// is held against. The matrix is as it came, the result has its shape.
func NewtonSchulz(u mat.Matrix, c Coefficients) *mat.Dense {
	exact := func(*mat.Dense) {}
	return iterate(u, c, exact)
}

// NewtonSchulzRounded is the same with round applied where the kernels store
// bf16: to the input, the scaled input, and the result of every product.
func NewtonSchulzRounded(u mat.Matrix, c Coefficients, round func(float64) float64) *mat.Dense {
	return iterate(u, c, func(x *mat.Dense) {
		x.Apply(func(_, _ int, v float64) float64 { return round(v) }, x)
	})
}

func iterate(u mat.Matrix, c Coefficients, round func(*mat.Dense)) *mat.Dense {
	x := mat.DenseCopyOf(u)
	rows, cols := x.Dims()
	if rows > cols {
		x = mat.DenseCopyOf(x.T())
	}
	round(x)
	x.Scale(1/(mat.Norm(x, 2)*c.Safety+Epsilon), x) // gonum's 2-norm is Frobenius'
	round(x)
	for _, step := range c.Steps {
		var a, b, next mat.Dense
		a.Mul(x, x.T())
		round(&a)
		b.Mul(&a, &a)
		b.Scale(step[2], &b)
		b.Apply(func(i, j int, v float64) float64 { return v + step[1]*a.At(i, j) }, &b)
		round(&b)
		next.Mul(&b, x)
		next.Apply(func(i, j int, v float64) float64 { return v + step[0]*x.At(i, j) }, &next)
		round(&next)
		x = &next
	}
	if rows > cols {
		return mat.DenseCopyOf(x.T())
	}
	return x
}

// RoundBF16 rounds to bfloat16, to nearest and ties to even.
func RoundBF16(v float64) float64 {
	return float64(FromBF16(ToBF16(float32(v))))
}

// ToBF16 rounds a float to the bits of a bfloat16, to nearest, ties to even.
func ToBF16(v float32) uint16 {
	u := math.Float32bits(v)
	if u&0x7fffffff > 0x7f800000 {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// FromBF16 widens a bfloat16.
func FromBF16(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// Tolerance is what a result of Newton–Schulz in bf16 may be off by: five steps
// round to 1.2 % and 0.004 on Gaussian input, and truncated to 2 %.
var Tolerance = record.Deviation{Frobenius: 0.03, Max: 0.02}

// Compare holds a result against the reference.
func Compare(got, want mat.Matrix) record.Deviation {
	var diff mat.Dense
	diff.Sub(got, want)
	e := record.Deviation{Frobenius: mat.Norm(&diff, 2)}
	if norm := mat.Norm(want, 2); norm > 0 {
		e.Frobenius /= norm
	}
	for _, v := range diff.RawMatrix().Data {
		if !(math.Abs(v) <= e.Max) { // not a number is the worst
			e.Max = math.Abs(v)
		}
	}
	return e
}
