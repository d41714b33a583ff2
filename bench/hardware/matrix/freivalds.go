package matrix

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// A Claim states that C = Alpha·A·Bᵀ + Beta·S + Shift·I, computed in float and rounded once to C's
// type, to nearest. Check tests all elements of C without repeating the product, by Freivalds'
// check (Rusins Freivalds, "Probabilistic machines can use less running time", 1977). For a random
// v of ±1 it compares C·v with Alpha·A·(Bᵀ·v) + Beta·S·v in float64. For vᵀ·C it makes the same
// comparison.
//
// Rounding leaves a residual Σ v_j·e_j in a row. Here |e_j| is at most h_j: half a unit in the last
// place plus the error of the sum in float. v is independent of e. So by Hoeffding's inequality the
// residual exceeds t·(Σ h_j²)^½ with a probability of at most 2·exp(-t²/2); it never exceeds Σ h_j.
type Claim struct {
	C, A, B            Half
	S                  *Half
	Alpha, Beta, Shift float64
	// Parted is true if Alpha·A·Bᵀ was rounded to bf16 before the sum.
	Parted bool
	// Split is true if a library may have summed parts over the depth and rounded each to C's type
	// before adding them, as cuBLAS and hipBLASLt do by default. A product is excused only if this
	// rounding explains every recomputed element, so that wrong elements are still found.
	Split bool
	parts bool
	// Coarse is the relative error of the sum in addition to the error of float arithmetic.
	Coarse float64
}

const (
	// vectors is the number of random vectors per side.
	vectors = 2
	// falseAlarm is approximately the probability that a correct product, rounded to nearest, fails
	// the check.
	falseAlarm = 1e-9
	// uniform is the allowed mean square of the rounding errors, as a share of the mean h². Errors
	// that are uniform within half a unit have a mean square of h²/3. Truncation errors have a mean
	// square of 4h²/3.
	uniform = 0.45
)

// Residuals are a check's results, divided by the largest residual that rounding explains. If one
// of them is above 1 or not a number, C is wrong.
type Residuals struct {
	// RMS covers all rows or all columns together. It shows errors that are too large everywhere,
	// as after truncation.
	RMS float64
	// Max covers the worst row or column. It shows a few wrong elements.
	Max float64
	// Rows and Cols are the indices of the rows and columns whose residual is above 1.
	Rows, Cols []int
}

// OK reports whether rounding explains the residuals.
func (r Residuals) OK() bool { return r.RMS <= 1 && r.Max <= 1 }

// Check checks the claim with random vectors from rng.
func (c *Claim) Check(rng *rand.Rand) Residuals {
	found := c.check(rng)
	if found.OK() || !c.Split {
		return found
	}
	split := *c
	split.parts = true
	if split.Wrong(found).Elements > 0 {
		return found
	}
	return split.check(rng)
}

func (c *Claim) check(rng *rand.Rand) Residuals {
	rows, cols := lines{of: c.A, with: c.B}, lines{of: c.B, with: c.A}
	for k := range vectors {
		rows.draw(rng, k, c)
		cols.draw(rng, k, c)
	}
	c.compare(&rows, &cols)
	var found Residuals
	for k := range vectors {
		found.Rows = found.add(&rows, k, found.Rows)
		found.Cols = found.add(&cols, k, found.Cols)
	}
	return found
}

// add includes the residuals of vector k. It appends the indices of lines whose residual is above 1
// to the list known, and returns the list.
func (r *Residuals) add(l *lines, k int, known []int) []int {
	square, n := 0.0, len(l.square)
	for i, left := range l.residual[k] {
		share := math.Abs(left) / math.Min(l.most[i], likely(n)*math.Sqrt(l.square[i]))
		if !(share <= 1) {
			if !slices.Contains(known, i) {
				known = append(known, i)
			}
			share = finite(share)
		}
		r.Max = math.Max(r.Max, share)
		square += left * left / l.square[i] / float64(n)
	}
	// the upper tail of a mean of squares (Laurent, Massart, 2000)
	x := math.Log(1/falseAlarm) / float64(n)
	r.RMS = math.Max(r.RMS, finite(math.Sqrt(square/(uniform*(1+2*math.Sqrt(x)+2*x)))))
	return known
}

// Bar is the largest result of [Claim.Sample] that passes.
func (c *Claim) Bar() float64 { return c.C.number().half + c.Coarse }

// likely returns t of Hoeffding's bound: the worst of n lines stays within t·(Σ h²)^½.
func likely(lines int) float64 {
	return math.Sqrt(2 * math.Log(4*vectors*float64(lines)/falseAlarm))
}

func finite(v float64) float64 {
	if math.IsNaN(v) {
		return math.MaxFloat64
	}
	return math.Min(v, math.MaxFloat64)
}

// lines holds one entry per row of C or per column of C. square is Σ h² of each line, and most is Σ
// h of each line. residual has each line's residual per random vector. The field `of` is A for rows
// of C and B for columns of C. The field `with` is the other matrix.
type lines struct {
	of, with     Half
	v, residual  [vectors][]float64
	square, most []float64
}

// draw draws a random vector and starts the residuals with the expected product, negated. Later the
// method compare adds C·v or vᵀ·C, so that a correct product leaves only rounding errors.
func (l *lines) draw(rng *rand.Rand, k int, c *Claim) {
	v := signs(rng, l.with.Rows)
	y := combine(l.with, v)
	left := make([]float64, l.of.Rows)
	parallel(len(left), func(from, to int) func() {
		row := make([]float64, l.of.Cols)
		for i := from; i < to; i++ {
			left[i] = -c.Alpha * dot(l.of.Row(i, row), y)
			if i < len(v) {
				left[i] -= c.Shift * v[i]
			}
		}
		return func() {}
	})
	l.v[k], l.residual[k] = v, left
	l.square, l.most = make([]float64, len(left)), make([]float64, len(left))
}

// norms returns the Euclidean norm of each row.
func norms(h Half) []float64 {
	out := make([]float64, h.Rows)
	parallel(h.Rows, func(from, to int) func() {
		row := make([]float64, h.Cols)
		for i := from; i < to; i++ {
			out[i] = math.Sqrt(dot(h.Row(i, row), row))
		}
		return func() {}
	})
	return out
}

// compare reads C once. It adds C·v - Beta·S·v to the residuals of the rows and vᵀ·C - Beta·vᵀ·S to
// the residuals of the columns. It also adds up the rounding errors of each line.
func (c *Claim) compare(rows, cols *lines) {
	a, b := norms(c.A), norms(c.B)
	parallel(c.C.Rows, func(from, to int) func() {
		row, s := make([]float64, c.C.Cols), make([]float64, c.C.Cols)
		part := lines{square: make([]float64, c.C.Cols), most: make([]float64, c.C.Cols)} // sums of the columns over the rows of one goroutine
		for k := range vectors {
			part.residual[k] = make([]float64, c.C.Cols)
		}
		for i := from; i < to; i++ {
			c.load(i, row, s)
			for j, got := range row {
				h := c.rounding(i, j, got, s[j], a[i]*b[j])
				rows.square[i] += h * h
				rows.most[i] += h
				part.square[j] += h * h
				part.most[j] += h
				row[j] = got - c.Beta*s[j]
			}
			for k := range vectors {
				rows.residual[k][i] = add(rows.residual[k][i], rows.v[k], row)
				for j, x := range row {
					part.residual[k][j] += cols.v[k][i] * x
				}
			}
		}
		return func() {
			for j := range part.square {
				cols.square[j] += part.square[j]
				cols.most[j] += part.most[j]
				for k := range vectors {
					cols.residual[k][j] += part.residual[k][j]
				}
			}
		}
	})
}

func (c *Claim) load(i int, row, s []float64) {
	c.C.Row(i, row)
	if c.S != nil {
		c.S.Row(i, s)
	}
}

// rounding returns the largest error of an element. The error has two parts: the rounding to C's
// type and the error of the sum in float. Partial sums are assumed to be as large as the element,
// or as a sum of products with random signs. The rounding errors along the depth may all have the
// same sign.
func (c *Claim) rounding(i, j int, got, s, norms float64) float64 {
	depth := float64(c.A.Cols)
	sum := math.Abs(got) + math.Abs(c.Beta*s) + 2*math.Abs(c.Alpha)*norms/math.Sqrt(depth)
	h := c.C.number().halfUnit(got) + ((depth/2+16)*0x1p-24+c.Coarse)*sum
	if !c.Parted && !c.parts {
		return h
	}
	part := math.Abs(got - c.Beta*s)
	if i == j {
		part = math.Abs(got - c.Beta*s - c.Shift)
	}
	if c.Parted {
		h += bf16.halfUnit(part + h)
	}
	if c.parts {
		h += c.split(part, norms)
	}
	return h
}

// split returns the largest additional error if a library adds four rounded parts. Each part is
// assumed to be half as large as the sum, or as a sum of products with random signs.
func (c *Claim) split(sum, norms float64) float64 {
	return 2 * c.C.number().halfUnit(math.Max(sum, math.Abs(c.Alpha)*norms/math.Sqrt(float64(c.A.Cols))))
}

// signs returns n random values of +1 or −1.
func signs(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(int(rng.Uint32()>>31)*2 - 1)
	}
	return v
}

// combine returns hᵀ·v.
func combine(h Half, v []float64) []float64 {
	y := make([]float64, h.Cols)
	parallel(h.Rows, func(from, to int) func() {
		row, sum := make([]float64, h.Cols), make([]float64, h.Cols)
		for i := from; i < to; i++ {
			for k, x := range h.Row(i, row) {
				sum[k] += v[i] * x
			}
		}
		return func() {
			for k, x := range sum {
				y[k] += x
			}
		}
	})
	return y
}

func dot(x, y []float64) float64 { return add(0, x, y) }

// add returns sum + Σ x·y, in order.
func add(sum float64, x, y []float64) float64 {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// parallel divides 0 … n-1 among goroutines. Each call of the function `do` returns another
// function. The returned functions run in order at the end, so that sums are added in a fixed
// order.
func parallel(n int, do func(from, to int) func()) {
	const least = 64
	parts := max(1, min(runtime.GOMAXPROCS(0), n/least))
	ends := make([]func(), parts)
	var wait sync.WaitGroup
	for p := range parts {
		wait.Go(func() { ends[p] = do(p*n/parts, (p+1)*n/parts) })
	}
	wait.Wait()
	for _, end := range ends {
		end()
	}
}
