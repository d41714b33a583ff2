package matrix

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// A Claim is that C = Alpha·A·Bᵀ + Beta·S + Shift·I, made in float and rounded to C's
// type once, to nearest. Check holds the whole of C against it without making the product
// again: Freivalds' check (Rusins Freivalds, "Probabilistic machines can use less running
// time", 1977). For a random v of ±1, C·v is compared with Alpha·A·(Bᵀ·v) + Beta·S·v, and
// vᵀ·C alike, in float64.
//
// What rounding leaves in a row is Σ v_j·e_j with |e_j| at most h_j, half a unit in the
// last place and what the sum in float may be off by. v knows nothing of e, so by
// Hoeffding's inequality it exceeds t·(Σ h_j²)^½ with a probability of at most
// 2·exp(-t²/2); it never exceeds Σ h_j.
type Claim struct {
	C, A, B            Half
	S                  *Half
	Alpha, Beta, Shift float64
	// Parted: Alpha·A·Bᵀ was rounded to bf16 before the sum.
	Parted bool
	// Coarse is what the sum may be off by beyond that of floats, as a share.
	Coarse float64
}

const (
	// vectors are the random vectors of a side.
	vectors = 2
	// falseAlarm is about the probability that rounding to nearest fails a check.
	falseAlarm = 1e-9
	// uniform is the share of Σ h² that the mean square of rounding may have: errors that are
	// uniform within half a unit have a third of it, truncated ones four thirds.
	uniform = 0.45
)

// Residuals are what a check found, as shares of what rounding explains: above 1, or not
// a number, C is not what was claimed.
type Residuals struct {
	// RMS is of all rows or all columns together: errors too large everywhere, as
	// truncation leaves them, show here.
	RMS float64
	// Max is of the worst row or column: few wrong elements show here.
	Max float64
	// Rows and Cols are those with a share above 1.
	Rows, Cols []int
}

// OK reports whether rounding explains what was found.
func (r Residuals) OK() bool { return r.RMS <= 1 && r.Max <= 1 }

// Check takes the random vectors from rng.
func (c *Claim) Check(rng *rand.Rand) Residuals {
	var found Residuals
	a, b := norms(c.A), norms(c.B)
	for range vectors {
		found.Rows = found.add(c.side(rng, false, a, b), found.Rows)
		found.Cols = found.add(c.side(rng, true, a, b), found.Cols)
	}
	return found
}

// add takes in a side's residuals and returns its lines above 1, with those known.
func (r *Residuals) add(lines []line, known []int) []int {
	square := 0.0
	for i, l := range lines {
		share := math.Abs(l.residual) / math.Min(l.most, likely(len(lines))*math.Sqrt(l.square))
		if !(share <= 1) {
			if !slices.Contains(known, i) {
				known = append(known, i)
			}
			share = finite(share)
		}
		r.Max = math.Max(r.Max, share)
		square += l.residual * l.residual / l.square / float64(len(lines))
	}
	// the tail of a mean of squares (Laurent, Massart, 2000)
	x := math.Log(1/falseAlarm) / float64(len(lines))
	r.RMS = math.Max(r.RMS, finite(math.Sqrt(square/(uniform*(1+2*math.Sqrt(x)+2*x)))))
	return known
}

// Bar is the most that [Claim.Sample] may find.
func (c *Claim) Bar() float64 { return c.C.number().half + c.Coarse }

// likely is how many deviations the worst of so many lines stays within.
func likely(lines int) float64 {
	return math.Sqrt(2 * math.Log(4*vectors*float64(lines)/falseAlarm))
}

func finite(v float64) float64 {
	if math.IsNaN(v) {
		return math.MaxFloat64
	}
	return math.Min(v, math.MaxFloat64)
}

// A line is a row or a column of C: its residual, and Σ h² and Σ h.
type line struct{ residual, square, most float64 }

// norms are those of the rows.
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

// side is C·v, or with columns vᵀ·C, less what it must be. a and b are the norms of the
// rows of A and B.
func (c *Claim) side(rng *rand.Rand, columns bool, a, b []float64) []line {
	n, with, other := c.C.Cols, c.B, c.A
	if columns {
		n, with, other = c.C.Rows, c.A, c.B
	}
	v := signs(rng, n)
	y := combine(with, v)
	lines := make([]line, other.Rows)
	parallel(len(lines), func(from, to int) func() {
		row := make([]float64, other.Cols)
		for i := from; i < to; i++ {
			lines[i].residual = -c.Alpha * dot(other.Row(i, row), y)
			if i < n {
				lines[i].residual -= c.Shift * v[i]
			}
		}
		return func() {}
	})
	if columns {
		c.columns(v, a, b, lines)
	} else {
		c.rows(v, a, b, lines)
	}
	return lines
}

// rows adds C·v - Beta·S·v to the residuals of the rows, and the rounding of each.
func (c *Claim) rows(v, a, b []float64, lines []line) {
	parallel(c.C.Rows, func(from, to int) func() {
		row, s := make([]float64, c.C.Cols), make([]float64, c.C.Cols)
		for i := from; i < to; i++ {
			c.load(i, row, s)
			l := &lines[i]
			for j, got := range row {
				h := c.rounding(i, j, got, s[j], a[i]*b[j])
				l.residual += v[j] * (got - c.Beta*s[j])
				l.square += h * h
				l.most += h
			}
		}
		return func() {}
	})
}

// columns does so for the columns.
func (c *Claim) columns(v, a, b []float64, lines []line) {
	parallel(c.C.Rows, func(from, to int) func() {
		row, s := make([]float64, c.C.Cols), make([]float64, c.C.Cols)
		sum := make([]line, c.C.Cols)
		for i := from; i < to; i++ {
			c.load(i, row, s)
			for j, got := range row {
				h := c.rounding(i, j, got, s[j], a[i]*b[j])
				sum[j].residual += v[i] * (got - c.Beta*s[j])
				sum[j].square += h * h
				sum[j].most += h
			}
		}
		return func() {
			for j, l := range sum {
				lines[j].residual += l.residual
				lines[j].square += l.square
				lines[j].most += l.most
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

// rounding is the most that an element may be off by: the rounding to bf16, and that of
// a sum in float. Partial sums are about as large as the element, or as random signs
// make them; each of the depth's roundings may be one-sided.
func (c *Claim) rounding(i, j int, got, s, norms float64) float64 {
	depth := float64(c.A.Cols)
	sum := math.Abs(got) + math.Abs(c.Beta*s) + 2*math.Abs(c.Alpha)*norms/math.Sqrt(depth)
	h := c.C.number().halfUnit(got) + ((depth/2+16)*0x1p-24+c.Coarse)*sum
	if c.Parted {
		part := math.Abs(got - c.Beta*s)
		if i == j {
			part = math.Abs(got - c.Beta*s - c.Shift)
		}
		h += bf16.halfUnit(part + h)
	}
	return h
}

// signs are n random ±1.
func signs(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(int(rng.Uint32()>>31)*2 - 1)
	}
	return v
}

// combine is hᵀ·v.
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

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// parallel shares 0 … n-1 out. What each share returns is called in order at the end, so
// that sums have a fixed order.
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
