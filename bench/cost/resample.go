package cost

import (
	"math"
	"math/rand/v2"
	"slices"

	"zbench/bench/stat"
)

// Where a resampled curve comes from.
const (
	FromSamples  = "samples"
	FromInterval = "interval of the median"
	FromCV       = "coefficient of variation"
)

// width95 is the width of a 95 % interval of a normal variable, in standard
// deviations.
const width95 = 2 * 1.959963984540054

// medianError is the standard deviation of a median over that of a mean, for
// normal samples: √(π/2).
const medianError = 1.2533141373155003

// Resampler draws curves as other measurements of the same machine might have
// given them.
type Resampler struct {
	// From says what is resampled, the weakest of the points'.
	From   string
	points []drawer
}

// drawer draws one point's median.
type drawer struct {
	seconds float64
	// sorted samples, and how many independent ones they are worth.
	sorted []float64
	nEff   float64
	// sigma is the standard deviation of the logarithm of the median.
	sigma float64
}

// Resampler is nil where the spread of a point is not known.
func (c *Curve) Resampler() *Resampler {
	r := &Resampler{From: FromSamples}
	for _, p := range c.Points {
		d := drawer{seconds: p.Seconds}
		switch {
		case len(p.Samples) >= MinSamples:
			d.sorted = slices.Sorted(slices.Values(p.Samples))
			d.nEff = float64(len(p.Samples))
			if s := stat.Summarize(p.Samples); s.NEff != nil {
				d.nEff = *s.NEff
			}
		case p.Lo != nil && p.Hi != nil && *p.Lo > 0:
			d.sigma = math.Log(*p.Hi / *p.Lo) / width95
			r.weaken(FromInterval)
		case p.CV != nil && p.N >= 2:
			d.sigma = medianError * *p.CV / math.Sqrt(float64(p.N))
			r.weaken(FromCV)
		default:
			return nil
		}
		r.points = append(r.points, d)
	}
	return r
}

func (r *Resampler) weaken(from string) {
	if r.From != FromCV {
		r.From = from
	}
}

// Draw returns times for the points of the curve, in seconds.
func (r *Resampler) Draw(rng *rand.Rand) []float64 {
	t := make([]float64, len(r.points))
	for i, d := range r.points {
		t[i] = d.draw(rng.NormFloat64())
	}
	return t
}

// draw is the median of as many samples drawn again. It is the order statistic at
// a share of the samples that has mean ½ and variance 1/(4·n_eff), so that
// correlated samples spread as few independent ones would.
func (d drawer) draw(z float64) float64 {
	if d.sorted == nil {
		return d.seconds * math.Exp(z*d.sigma)
	}
	q := min(1, max(0, 0.5+z/(2*math.Sqrt(d.nEff))))
	return stat.QuantileSorted(d.sorted, q)
}
