package recommend

import (
	"math"
	"slices"

	"zbench/bench/base/stat"
)

// leastSlope is the least slope of the tail, as a share of the average slope. A last point that is too fast
// would otherwise make large messages almost free.
const leastSlope = 0.3

// tailPoints is the number of last points whose median slope is the tail's slope.
const tailPoints = 4

// CostModel gives the time of a message of any size by interpolation between points. log T is a cubic of
// log S that does not overshoot the points. Straight lines between the logarithms would lie up to 1.5 %
// above a curve of latency plus bandwidth between powers of two.
type CostModel struct {
	size, logSize []float64
	logTime       []float64
	// tangent is the derivative of log T by log S at each point.
	tangent []float64
	least   float64
	// Beyond the last point the time is a straight line from point `from`. slope is in seconds per byte.
	slope float64
	from  int
}

// Zones of a Place.
const (
	below = iota
	within
	above
)

// Place is the position of a size among the points of a model. A place is valid for any model of the same
// sizes.
type Place struct {
	// offset is the weight of the next point, from 0 to 1. Above the last point, offset is the number of
	// bytes past that point.
	offset float64
	point  int32
	zone   int8
}

// Beyond reports whether the size is larger than the largest of the sweep.
func (p Place) Beyond() bool { return p.zone == above }

// NewCostModel returns the model through the points. Sizes ascend; all values are positive.
func NewCostModel(sizes []int64, seconds []float64) *CostModel {
	m := &CostModel{logTime: make([]float64, len(sizes))}
	for _, s := range sizes {
		m.size = append(m.size, float64(s))
		m.logSize = append(m.logSize, math.Log(float64(s)))
	}
	m.set(seconds)
	return m
}

// With returns the model of the same sizes with other times.
func (m *CostModel) With(seconds []float64) *CostModel {
	other := &CostModel{size: m.size, logSize: m.logSize, logTime: make([]float64, len(seconds))}
	other.set(seconds)
	return other
}

// SameSizes reports whether both models have the same sizes. A [Place] of one model is then valid for the
// other model.
func (m *CostModel) SameSizes(other *CostModel) bool { return slices.Equal(m.size, other.size) }

func (m *CostModel) set(seconds []float64) {
	for i, t := range seconds {
		m.logTime[i] = math.Log(t)
	}
	m.bend()
	m.least = slices.Min(seconds)
	m.tail(len(seconds) - 1)
}

// `apart` is the least distance, in log S, between the two points that a slope is computed from. Between
// closer points a small error in time would make a steep slope.
const apart = math.Ln2 / 2

// bend sets the tangents by the rule of Fritsch and Butland (1984): the weighted harmonic mean of the
// slopes on both sides, and 0 where the time has a minimum or maximum.
func (m *CostModel) bend() {
	last := len(m.logTime) - 1
	m.tangent = make([]float64, last+1)
	slope := func(i, step int) (width, slope float64) {
		k := i + step
		for 0 < k && k < last && math.Abs(m.logSize[k]-m.logSize[i]) < apart {
			k += step
		}
		width = m.logSize[k] - m.logSize[i]
		return math.Abs(width), (m.logTime[k] - m.logTime[i]) / width
	}
	for i := 1; i < last; i++ {
		u, before := slope(i, -1)
		v, after := slope(i, 1)
		if before*after > 0 {
			m.tangent[i] = 3 * (u + v) / ((u+2*v)/before + (2*u+v)/after)
		}
	}
	if last > 0 {
		_, m.tangent[0] = slope(0, 1)
		_, m.tangent[last] = slope(last, -1)
	}
}

// tail sets the point from which larger messages are extrapolated, and the slope there.
func (m *CostModel) tail(from int) {
	seconds := func(i int) float64 { return math.Exp(m.logTime[i]) }
	m.from, m.slope = from, seconds(from)/m.size[from]
	var slopes []float64
	for i := max(1, from-tailPoints+2); i <= from; i++ {
		slopes = append(slopes, (seconds(i)-seconds(i-1))/(m.size[i]-m.size[i-1]))
	}
	if len(slopes) > 0 {
		m.slope = max(stat.Quantile(slopes, 0.5), leastSlope*m.slope)
	}
}

// `fallen` is the least loss of bandwidth that counts as a dip. Repeated measurements differ by less.
const fallen = 0.05

// Recovered reports whether the curve ends in a dip. If it does, `other` is the model of a library whose
// dip ends with the last point: larger messages continue from the point of the best bandwidth. loss is the
// share of the best bandwidth that the last point lacks.
func (m *CostModel) Recovered() (other *CostModel, loss float64, dip bool) {
	best, last := 0, len(m.size)-1
	rate := func(i int) float64 { return m.size[i] / math.Exp(m.logTime[i]) }
	for i := range m.size {
		if rate(i) > rate(best) {
			best = i
		}
	}
	loss = 1 - rate(last)/rate(best)
	if loss <= fallen {
		return m, loss, false
	}
	alike := *m
	alike.tail(best)
	return &alike, loss, true
}

// maxDip is the largest number of neighbouring sizes that count as one dip. A longer run of slow sizes is
// taken as real.
const maxDip = 2

// Filled returns the model without its dips of at most maxDip sizes. Their times are interpolated from the
// sizes around them, and `dips` lists the changed points. A lasting step to slower times is not a dip, nor
// is the end of the sweep.
func (m *CostModel) Filled() (other *CostModel, dips []int) {
	alike := *m
	alike.logTime = slices.Clone(m.logTime)
	for first := 1; first < len(m.size)-1; first++ {
		for n := maxDip; n > 0; n-- {
			if !m.dips(first, first+n) {
				continue
			}
			for i := first; i < first+n; i++ {
				alike.logTime[i] = m.chord(i, first-1, first+n)
				dips = append(dips, i)
			}
			first += n
			break
		}
	}
	alike.bend()
	alike.tail(len(m.size) - 1)
	alike.least = math.Exp(slices.Min(alike.logTime))
	return &alike, dips
}

// dips reports whether the time jumps up at point `first` and back down at point `end`, by more than the
// growth around them explains.
func (m *CostModel) dips(first, end int) bool {
	if end >= len(m.size) {
		return false
	}
	var grows []float64
	for _, i := range []int{first - 1, end + 1} {
		if 0 < i && i < len(m.size) {
			grows = append(grows, (m.logTime[i]-m.logTime[i-1])/(m.logSize[i]-m.logSize[i-1]))
		}
	}
	jump := func(i int) float64 {
		return m.logTime[i] - m.logTime[i-1] - stat.Quantile(grows, 0.5)*(m.logSize[i]-m.logSize[i-1])
	}
	return len(grows) > 0 && jump(first) > fallen && jump(end) < -fallen
}

// chord returns the logarithm of the time of point i on the power law through points a and b.
func (m *CostModel) chord(i, a, b int) float64 {
	w := (m.logSize[i] - m.logSize[a]) / (m.logSize[b] - m.logSize[a])
	return m.logTime[a] + w*(m.logTime[b]-m.logTime[a])
}

// Place returns the position of a size in bytes.
func (m *CostModel) Place(bytes int64) Place {
	s := float64(bytes)
	last := len(m.size) - 1
	if s < m.size[0] {
		return Place{zone: below}
	}
	if s >= m.size[last] {
		if s == m.size[last] {
			return Place{zone: within, point: int32(last)}
		}
		return Place{zone: above, point: int32(last), offset: s - m.size[last]}
	}
	i, found := slices.BinarySearch(m.size, s)
	if found {
		return Place{zone: within, point: int32(i)}
	}
	w := (math.Log(s) - m.logSize[i-1]) / (m.logSize[i] - m.logSize[i-1])
	return Place{zone: within, point: int32(i - 1), offset: w}
}

// At returns the time in seconds of a size. The place may be from any model of the same sizes.
func (m *CostModel) At(p Place) float64 {
	switch {
	case p.zone == below:
		return m.least
	case p.zone == above:
		return math.Exp(m.logTime[m.from]) + m.slope*(p.offset+m.size[p.point]-m.size[m.from])
	case p.offset == 0:
		return math.Exp(m.logTime[p.point])
	}
	i, w := p.point, p.offset
	width := m.logSize[i+1] - m.logSize[i]
	rise := m.logTime[i+1] - m.logTime[i]
	from, to := width*m.tangent[i]-rise, rise-width*m.tangent[i+1] // how much the straight line differs from the tangent at either end
	return math.Exp(m.logTime[i] + w*rise + w*(1-w)*((1-w)*from+w*to))
}

// Seconds returns the time of a message of that many bytes, in seconds: interpolated between swept sizes,
// the least time below the smallest size, and on a straight line above the largest size.
func (m *CostModel) Seconds(bytes int64) float64 { return m.At(m.Place(bytes)) }

// Fit returns alpha (at least 0, in seconds) and the bandwidth (bytes per second) of T = alpha +
// S/bandwidth through the points, by least squares of the relative error. The fit explains a curve; no
// decision uses it.
func (c *Curve) Fit() (alpha, bandwidth float64) {
	var w0, w1, w2, y0, y1 float64 // sums of 1/T² · {1, S, S²} and of 1/T · {1, S}
	for _, p := range c.Points {
		s, t := float64(p.Bytes), p.Seconds
		w0 += 1 / (t * t)
		w1 += s / (t * t)
		w2 += s * s / (t * t)
		y0 += 1 / t
		y1 += s / t
	}
	det := w0*w2 - w1*w1
	alpha, slope := (y0*w2-y1*w1)/det, (w0*y1-w1*y0)/det
	if !(det > 0) || alpha < 0 || !(slope > 0) {
		return 0, w2 / y1
	}
	return alpha, 1 / slope
}
