package recommend

import (
	"math"
	"math/rand/v2"
	"slices"

	"zbench/bench/base/stat"
)

// Sources of a resampled curve, the strongest first.
const (
	FromSamples  = "samples"
	FromInterval = "interval of the median"
	FromCV       = "coefficient of variation"
	FromScatter  = "residuals about a local fit"
)

// width95 is the width of a 95 % interval of a normal variable, in standard
// deviations.
const width95 = 2 * 1.959963984540054

// medianError is the ratio of the standard deviations of a median and of a mean, for normal samples:
// √(π/2).
const medianError = 1.2533141373155003

// Resampler draws curves that another measurement of the same machine might give.
type Resampler struct {
	// From says what is resampled: the weakest source of all points.
	From    string
	points  []drawer
	scatter Scatter
}

// drawer draws the median of one point.
type drawer struct {
	seconds float64
	// `sorted` holds the samples. nEff is the number of independent samples that would be as precise.
	sorted []float64
	nEff   float64
	// sigma is the standard deviation of the logarithm of the median.
	sigma float64
	// `more` is the part of the point's scatter that its own samples do not show, as a standard deviation of
	// the logarithm.
	more float64
}

// Resampler returns the resampler of the curve. It returns nil if neither a point's samples nor the scatter
// of all points about a local fit show the point's spread.
func (c *Curve) Resampler() *Resampler {
	r := &Resampler{From: FromSamples}
	scatter, scattered := c.Scatter()
	r.scatter = scatter
	for _, p := range c.Points {
		d, from := p.drawer()
		shown := d.shown()
		switch {
		case from == "" && !scattered:
			return nil
		case from == "" || scatter.Sigma > shown:
			d.more, from = math.Sqrt(scatter.Sigma*scatter.Sigma-shown*shown), FromScatter
		}
		r.weaken(from)
		r.points = append(r.points, d)
	}
	return r
}

// drawer returns the spread that the point's own samples show, and its source. `from` is empty if the
// samples show no spread.
func (p *Point) drawer() (d drawer, from string) {
	d = drawer{seconds: p.Seconds}
	switch {
	case len(p.Samples) >= minSamples:
		d.sorted = slices.Sorted(slices.Values(p.Samples))
		d.nEff = float64(len(p.Samples))
		if s := stat.Summarize(p.Samples); s.NEff != nil {
			d.nEff = *s.NEff
		}
		return d, FromSamples
	case p.Lo != nil && p.Hi != nil && *p.Lo > 0:
		d.sigma = math.Log(*p.Hi / *p.Lo) / width95
		return d, FromInterval
	case p.CV != nil && p.N >= 2:
		d.sigma = medianError * *p.CV / math.Sqrt(float64(p.N))
		return d, FromCV
	}
	return d, ""
}

// `shown` returns the standard deviation of the logarithm of a draw from the samples.
func (d drawer) shown() float64 {
	if d.sorted == nil {
		return d.sigma
	}
	return math.Log(d.draw(1)/d.draw(-1)) / 2
}

// weaken keeps the weakest of the points' sources.
func (r *Resampler) weaken(from string) {
	order := []string{FromSamples, FromInterval, FromCV, FromScatter}
	if slices.Index(order, from) > slices.Index(order, r.From) {
		r.From = from
	}
}

// Draw returns times for the points of the curve, in seconds.
func (r *Resampler) Draw(rng *rand.Rand) []float64 {
	t := make([]float64, len(r.points))
	scale := 0.0
	if r.From == FromScatter {
		scale = r.scatter.draw(rng)
	}
	for i, d := range r.points {
		t[i] = d.draw(rng.NormFloat64())
		if d.more > 0 {
			t[i] *= math.Exp(scale * d.more * rng.NormFloat64())
		}
	}
	return t
}

// draw returns the median of a resampling of the samples; z is a standard normal value. It takes the order
// statistic at a share of the samples with mean ½ and variance 1/(4·n_eff), so that correlated samples
// spread like n_eff independent samples.
func (d drawer) draw(z float64) float64 {
	if d.sorted == nil {
		return d.seconds * math.Exp(z*d.sigma)
	}
	q := min(1, max(0, 0.5+z/(2*math.Sqrt(d.nEff))))
	return stat.QuantileSorted(d.sorted, q)
}
