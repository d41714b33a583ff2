// Package experiments shows with many seeds that zbench's methods keep their promises, through the
// same functions that zbench calls. The truth is planted: the noise has a known median and a known
// correlation, and a method is judged by how often it finds them. docs/EXPERIMENTS.md has the
// results of the full run; the tests run a twentieth of it.
package experiments

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// Operation is the true median of every noise, in seconds.
const Operation = 1e-3

// Noise is a stationary series of times around Operation.
type Noise struct {
	Name string
	// Sigma is the standard deviation divided by the median, without outliers.
	Sigma float64
	// Rho is the lag-1 autocorrelation of the underlying normal series, which is a first-order
	// autoregression.
	Rho float64
	// White is the share of the underlying variance that is independent between samples. With it,
	// the series is not an autoregression: it is slow drift under white noise, and its lag-1
	// autocorrelation does not show how long the correlation lasts.
	White float64
	Shape Shape
}

// Shape turns a standard normal z into a time with median 1 and standard deviation sigma. The
// median is kept because the function is monotone.
type Shape func(z, sigma float64, rng *rand.Rand) float64

// Lognormal is the usual shape of run times.
func Lognormal(z, sigma float64, _ *rand.Rand) float64 { return math.Exp(sigma * z) }

// Gamma is a floor plus a gamma-distributed delay of shape 2. No time is far below the median, but
// many are far above it.
func Gamma(z, sigma float64, _ *rand.Rand) float64 {
	const shape, median = 2, 1.6783469900166605 // both are for the gamma distribution with scale 1
	delay := mathext.GammaIncRegCompInv(shape, math.Erfc(z/math.Sqrt2)/2)
	return 1 + sigma/math.Sqrt(shape)*(delay-median)
}

// outliers is the share of times that take three times as long.
const outliers = 0.02

// HeavyTail is lognormal with outliers that do not depend on earlier samples. Half of all times
// must lie below the median. At the sigmas used here no outlier is that short, so this half
// consists of times among the other 98 %. The lognormal part is shifted accordingly.
func HeavyTail(z, sigma float64, rng *rand.Rand) float64 {
	shift := math.Sqrt2 * math.Erfinv(2*0.5/(1-outliers)-1)
	v := math.Exp(sigma * (z - shift))
	if rng.Float64() < outliers {
		return 3 * v
	}
	return v
}

// source returns the samples of one seed, as a driver would.
type source struct {
	noise Noise
	rng   *rand.Rand
	z     float64
}

func (n Noise) source(seed int) *source {
	rng := rand.New(rand.NewPCG(uint64(seed), 20261121))
	return &source{noise: n, rng: rng, z: rng.NormFloat64()}
}

func (s *source) next() float64 {
	n := s.noise
	z := s.z
	s.z = n.Rho*s.z + math.Sqrt(1-n.Rho*n.Rho)*s.rng.NormFloat64()
	if n.White > 0 {
		z = math.Sqrt(1-n.White)*z + math.Sqrt(n.White)*s.rng.NormFloat64()
	}
	return Operation * n.Shape(z, n.Sigma, s.rng)
}

// take appends k samples to the series. It returns the series, and spent plus their sum.
func (s *source) take(series []float64, spent float64, k int) ([]float64, float64) {
	for range k {
		v := s.next()
		series, spent = append(series, v), spent+v
	}
	return series, spent
}
