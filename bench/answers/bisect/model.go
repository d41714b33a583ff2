package bisect

import (
	"math"
	"slices"
)

// reading is the logarithm of one time of a case, with its variant and the index of its child.
type reading struct {
	variant, at int
	log         float64
}

// normal holds a case's readings, with level and drift removed, as normal equations of the
// variants' effects: squares is y'y, by[v] is x_v'y and cross[u][v] is x_u'x_v, where x_v marks the
// readings of variant v.
type normal struct {
	squares float64
	by      []float64
	cross   [][]float64
	// gather fills in `behind` with sums of `by`, and `both` with sums of `cross`.
	behind []float64
	both   [][]float64
	// n is the number of readings. logDet is half the logarithm of the determinant of the readings'
	// covariance, in units of the noise's variance.
	n      int
	logDet float64
	// end is the filter's state after the last reading.
	end filter
}

// filter is the state of the Kalman filter that follows the level: the estimate of the level, the share
// of each variant's effect in the estimate, and the estimate's variance in units of the noise's variance.
type filter struct {
	level  float64
	marks  []float64
	spread float64
	at     int
	wander float64
}

// `next` updates the filter with one reading. It fills `row` with the whitened marks of the variants and
// returns the whitened time and half the logarithm of the reading's variance.
func (f *filter) next(r reading, row []float64) (y, logDet float64) {
	f.spread += f.wander * float64(r.at-f.at)
	f.at = r.at
	total := f.spread + 1
	gain, root := f.spread/total, math.Sqrt(total)
	for v := range row {
		x := -f.marks[v]
		if v == r.variant {
			x++
		}
		row[v] = x / root
		f.marks[v] += gain * x
	}
	y = (r.log - f.level) / root
	f.level += gain * (r.log - f.level)
	f.spread *= 1 - gain
	return y, math.Log(total) / 2
}

// `ahead` returns the rows that the next readings would add, given their variants.
func (n *normal) ahead(at int, variants ...int) [][]float64 {
	f := n.end
	f.marks = slices.Clone(f.marks)
	out := make([][]float64, len(variants))
	for i, v := range variants {
		out[i] = make([]float64, len(n.by))
		f.next(reading{variant: v, at: at + i}, out[i])
	}
	return out
}

// whiten removes level and drift from readings in order of time. A reading is level + effect + noise. The
// level wanders from child to child by a random walk. The variance of its steps is `wander` times the
// noise's variance (a local level model, Durbin & Koopman 2012, §2). The first level is unknown and costs
// one degree of freedom. The filter is linear, so the same gains serve the times and the marks of the
// variants.
func whiten(readings []reading, variants int, wander float64) *normal {
	n := &normal{by: make([]float64, variants), cross: make([][]float64, variants), n: len(readings)}
	for v := range n.cross {
		n.cross[v] = make([]float64, variants)
	}
	if len(readings) == 0 {
		return n
	}
	first, row := readings[0], make([]float64, variants)
	f := filter{level: first.log, marks: make([]float64, variants), spread: 1, at: first.at, wander: wander}
	f.marks[first.variant] = 1
	for _, r := range readings[1:] {
		y, logDet := f.next(r, row)
		n.add(row, y)
		n.logDet += logDet
	}
	n.end = f
	return n
}

func (n *normal) add(row []float64, y float64) {
	n.squares += y * y
	for u, x := range row {
		n.by[u] += x * y
		for v, z := range row {
			n.cross[u][v] += x * z
		}
	}
}

// gather sums the equations from each variant on. behind[k] is a sum over `by`, and both[k][l] is a sum
// over `cross`. A step at variant k is then a single column.
func (n *normal) gather() {
	size := len(n.by)
	n.behind, n.both = make([]float64, size+1), make([][]float64, size+1)
	n.both[size] = make([]float64, size+1)
	for k := size - 1; k >= 0; k-- {
		n.behind[k] = n.behind[k+1] + n.by[k]
		n.both[k] = make([]float64, size+1)
		for l := size - 1; l >= 0; l-- {
			n.both[k][l] = n.both[k+1][l] + n.both[k][l+1] - n.both[k+1][l+1] + n.cross[k][l]
		}
	}
}

// fit is the least-squares estimate of the variants' effects against the first variant with
// readings.
type fit struct {
	// effects are NaN for a variant without readings; covariance is per unit of the noise's
	// variance.
	effects    []float64
	covariance [][]float64
	// squares is the sum of squared residuals, with df degrees of freedom; logDet is half the logarithm
	// of the determinant of the estimated effects' precision.
	squares float64
	df      int
	logDet  float64
}

// solve fits a separate effect for every variant with readings.
func (n *normal) solve() fit {
	f := fit{effects: make([]float64, len(n.by)), covariance: make([][]float64, len(n.by)), squares: n.squares, df: n.n - 1}
	var free []int // the level absorbs the first variant's effect
	first := true
	for v := range n.by {
		f.effects[v], f.covariance[v] = math.NaN(), make([]float64, len(n.by))
		if n.cross[v][v] == 0 {
			continue
		}
		if first {
			f.effects[v], first = 0, false
			continue
		}
		free = append(free, v)
	}
	inverse := n.invert(free, &f.logDet)
	for i, u := range free {
		f.effects[u] = 0
		for j, v := range free {
			f.effects[u] += inverse[i][j] * n.by[v]
			f.covariance[u][v] = inverse[i][j]
		}
		f.squares -= f.effects[u] * n.by[u]
	}
	f.squares, f.df = max(f.squares, 0), max(f.df-len(free), 0)
	return f
}

// `between` returns the normal equations of the difference of two variants' effects; nil if one of the
// variants has no readings.
func (f *fit) between(a, b int) *normal {
	difference := f.effects[b] - f.effects[a]
	variance := f.covariance[a][a] + f.covariance[b][b] - 2*f.covariance[a][b]
	if math.IsNaN(difference) || variance <= 0 {
		return nil
	}
	weight := 1 / variance
	return &normal{
		squares: f.squares + difference*difference*weight,
		by:      []float64{-difference * weight, difference * weight},
		cross:   [][]float64{{weight, -weight}, {-weight, weight}}, n: f.df + 2,
	}
}

// invert inverts the part of `cross` that belongs to the given variants, by Gauss–Jordan elimination.
// This part is positive definite. invert adds half the logarithm of its determinant to logDet.
func (n *normal) invert(of []int, logDet *float64) [][]float64 {
	k := len(of)
	a := make([][]float64, k)
	for i, u := range of {
		a[i] = make([]float64, 2*k)
		for j, v := range of {
			a[i][j] = n.cross[u][v]
		}
		a[i][k+i] = 1
	}
	for i := range k {
		pivot := a[i][i]
		*logDet += math.Log(pivot) / 2
		for j := range a[i] {
			a[i][j] /= pivot
		}
		for r := range k {
			if factor := a[r][i]; r != i && factor != 0 {
				for j := range a[r] {
					a[r][j] -= factor * a[i][j]
				}
			}
		}
	}
	out := make([][]float64, k)
	for i := range out {
		out[i] = a[i][k:]
	}
	return out
}

// noise is the variance of one reading, pooled over the cases.
type noise struct {
	// squares is the sum of squared residuals of all cases. df is its number of degrees of freedom.
	squares float64
	df      int
}

// wanders are the variances of a drift step that are tried, divided by the noise's variance. The smallest
// drift stays below the noise even after thirty children. With the largest drift, little more than the
// differences between neighbouring children counts.
var wanders = []float64{0.03, 0.1, 0.3, 1, 3}

// Limits of the noise estimate.
const (
	// leastSpread is the smallest credible standard deviation of a logarithm. A clock's resolution and a
	// simulation without noise are below this value.
	leastSpread = 1e-4
	// borrowed bounds the degrees of freedom that a case's variance borrows from the other cases, because
	// cases are not equally noisy, and cases of one child are not independent.
	borrowed = 12
)

// estimate pools the noise over cases, with the drift of highest likelihood (restricted maximum
// likelihood). It also returns the normal equations of each case.
func estimate(cases [][]reading, variants int) (noise, []*normal) {
	var best noise
	var normals []*normal
	most := math.Inf(-1)
	for _, wander := range wanders {
		now, all, likelihood := noise{}, make([]*normal, len(cases)), 0.0
		for i, readings := range cases {
			all[i] = whiten(readings, variants, wander)
			f := all[i].solve()
			now.squares += f.squares
			now.df += f.df
			likelihood -= all[i].logDet + f.logDet
		}
		spread := (now.squares + leastSpread*leastSpread) / float64(max(now.df, 1))
		likelihood -= float64(now.df) / 2 * math.Log(spread)
		if likelihood > most || normals == nil {
			best, normals, most = now, all, likelihood
		}
	}
	return best, normals
}

// variance returns the variance of one reading.
func (n noise) variance() float64 {
	return max(n.squares/float64(max(n.df, 1)), leastSpread*leastSpread)
}
