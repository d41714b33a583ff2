package recommend

import (
	"math"
	"math/rand/v2"
	"slices"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

const (
	// scatterFrom is the smallest message whose residual is used, in bytes. The time of smaller messages is
	// all latency, and no trainer sends such messages.
	scatterFrom = 64 * unit.KiB
	// fitPoints is the number of neighbouring sizes in a local fit. The fit is a parabola in the
	// logarithms: over three octaves α + S/B and power laws are close to a parabola.
	fitPoints = 4
	// minResiduals is the number of residuals below which their spread is unknown.
	minResiduals = 4
	// madNormal is the median of |z| for a standard normal z.
	madNormal = 0.6744897501960817
	// madWorth is the number of independent normal values that one residual counts as. Neighbouring fits
	// share points, and a median uses only 37 % of the information.
	madWorth = 0.4
)

// Scatter is the error of each point of a curve.
type Scatter struct {
	// Sigma is the standard deviation of the logarithm of a point's time.
	Sigma float64
	// Worth is the number of independent values behind Sigma.
	Worth float64
}

// Scatter estimates the error of the points, which the samples of one run need not show. It uses the
// residuals about a local fit to each size and its neighbours. If there are several runs and their
// differences are smaller, it uses the differences. A kink or a dip that all runs repeat is not an error.
// It returns false if there are too few sizes.
func (c *Curve) Scatter() (Scatter, bool) {
	s, ok := scatterOf(c.residuals())
	if d, is := scatterOf(c.differences()); is && (!ok || d.Sigma < s.Sigma) {
		return d, true
	}
	return s, ok
}

// scatterOf returns the spread of values of mean zero. A few outliers do not change the result.
func scatterOf(values []float64) (Scatter, bool) {
	if len(values) < minResiduals {
		return Scatter{}, false
	}
	for i, v := range values {
		values[i] = math.Abs(v)
	}
	return Scatter{stat.Quantile(values, 0.5) / madNormal, madWorth * float64(len(values))}, true
}

// residuals returns the residuals of parabolas through four neighbouring points, in units of one point's
// error.
func (c *Curve) residuals() []float64 {
	first := slices.IndexFunc(c.Points, func(p Point) bool { return p.Bytes >= scatterFrom })
	if first < 0 {
		return nil
	}
	var all []float64
	for points := c.Points[first:]; len(points) >= fitPoints; points = points[1:] {
		sum, squares := 0.0, 0.0
		for i, p := range points[:fitPoints] {
			w := 1.0
			for j, q := range points[:fitPoints] {
				if i != j {
					w /= math.Log(float64(p.Bytes) / float64(q.Bytes))
				}
			}
			sum += w * math.Log(p.Seconds)
			squares += w * w
		}
		all = append(all, sum/math.Sqrt(squares))
	}
	return all
}

// medianRange[n] is the median range of n standard normal values.
var medianRange = []float64{2: 0.954, 1.588, 1.978, 2.257, 2.472, 2.645, 2.790, 2.915, 3.024}

// differences returns the differences between runs at each size that several runs have, in units of the error
// of their median.
func (c *Curve) differences() []float64 {
	var all []float64
	for _, p := range c.Points {
		if p.Bytes >= scatterFrom && p.Disagree > 0 {
			n := min(c.Runs, len(medianRange)-1)
			all = append(all, p.Disagree*madNormal/medianRange[n]/math.Sqrt(float64(n)))
		}
	}
	return all
}

// draw returns a random factor for Sigma. The fewer residuals Sigma was estimated from, the more the factor
// varies.
func (s Scatter) draw(rng *rand.Rand) float64 {
	n := max(1, math.Round(s.Worth))
	sum := 0.0
	for range int(n) {
		z := rng.NormFloat64()
		sum += z * z
	}
	return math.Sqrt(n / sum)
}
