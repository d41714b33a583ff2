package stat

import "math"

const (
	// fewSamples is the n below which an autocorrelation is mostly chance. Below this n, an
	// autocorrelation counts only if it exceeds a value that one independent series in five exceeds
	// by chance. The autocorrelation is not corrected for bias, because the correction would leave
	// a third of the independent series of ten samples without an interval (docs/EXPERIMENTS.md).
	fewSamples = 30
	// oneInFive and oneInAHundred are the standard normal quantiles of 0.80 and 0.99.
	oneInFive     = 0.8416
	oneInAHundred = 2.3263
	// CorrelatedByChance is the largest share of independent series that Correlated flags by
	// chance.
	CorrelatedByChance = 0.01
	// minCorrelated is the smallest n at which Correlated flags anything.
	minCorrelated = 10
	// strongTau is the integrated autocorrelation time from which a series is called strongly
	// correlated. At 2, half of the samples add no information.
	strongTau = 2
)

// EffectiveN returns the number of independent samples that would determine the median as well as
// the series does. The series is in time order. The number is n/τ, in [1, n], where τ is the
// integrated autocorrelation time. Back-to-back launches are correlated; an interval that ignores
// this is too narrow.
//
// The autocorrelation is computed from ranks (Wald & Wolfowitz 1943). So an outlier counts like any
// other sample, and units and monotone scales do not matter. τ is the larger of two estimates,
// because each fails where the other is good. The first is Geyer's initial monotone sequence
// (1992), which assumes no model and detects slow drift under white noise. The second is
// (1+ρ)/(1−ρ) of a first-order autoregression, with ρ corrected for its bias; short series need it.
// Negative correlation does not increase n_eff.
//
// A constant series has n_eff = n. A series shorter than MinInterval also has n_eff = n, because it
// is too short for an estimate.
func EffectiveN(series []float64) float64 {
	_, ranks := arrange(series)
	return effectiveN(ranks)
}

// Correlated returns the lag-1 autocorrelation of the series' ranks, and whether the series is
// strongly correlated. It is flagged if two conditions hold: the autocorrelation exceeds a value
// that one independent series in a hundred exceeds by chance, and at least half of the samples add
// no information (n_eff ≤ n/2). Even the interval of an unflagged series can be too narrow, because
// a series does not show drifts that are slower than itself.
//
// An autoregression of ρ = 0.9 is flagged in 95 % of cases from 30 samples on, with outliers from
// 40 samples on, and in a third of cases with ten samples. Below ten samples nothing is flagged.
func Correlated(series []float64) (rho float64, flagged bool) {
	_, ranks := arrange(series)
	n := float64(len(ranks))
	rho = lagOne(ranks)
	if len(ranks) < minCorrelated || rho <= chance(n, oneInAHundred) {
		return rho, false
	}
	return rho, n/effectiveN(ranks) >= strongTau
}

func effectiveN(ranks []float64) float64 {
	n := float64(len(ranks))
	if len(ranks) < MinInterval || autocovariance(ranks, 0) == 0 {
		return n
	}
	rho := lagOne(ranks)
	if len(ranks) < fewSamples {
		if rho <= chance(n, oneInFive) {
			return n
		}
	} else {
		// E(r₁) = ρ − (1+4ρ)/n when the mean is estimated too (Kendall 1954,
		// Marriott & Pope 1954), solved for ρ.
		rho = (n*rho + 1) / (n - 4)
	}
	tau := max(1, autocorrelationTime(ranks))
	if rho >= 1 {
		return 1
	}
	if rho > 0 {
		tau = max(tau, (1+rho)/(1-rho))
	}
	return max(1, n/tau)
}

// chance returns the lag-1 autocorrelation that an independent series of n samples exceeds as often
// as a standard normal draw exceeds z. The autocorrelation of such a series has mean −1/n and
// variance (n−2)²/(n²(n−1)) (Moran 1948).
func chance(n, z float64) float64 {
	return -1/n + z*(n-2)/(n*math.Sqrt(n-1))
}

// lagOne returns the lag-1 autocorrelation of centred values, or 0 if they are constant.
func lagOne(x []float64) float64 {
	c0 := autocovariance(x, 0)
	if c0 == 0 {
		return 0
	}
	return autocovariance(x, 1) / c0
}

// longSeries is the n beyond which the sum over lags uses means of blocks. With single samples, a
// drifting series takes n² steps. No sweep has longer series.
const longSeries = 10_000

// autocorrelationTime returns the integrated autocorrelation time τ of centred values. The mean of
// n values has the variance σ²τ/n. The mean of a long series is also the mean of its n/b blocks of
// b values. With variance σ_b² and time τ_b of the block means, τ = b·τ_b·σ_b²/σ² (batch means;
// Geyer 1992, §3.2).
func autocorrelationTime(x []float64) float64 {
	if len(x) <= longSeries {
		return initialMonotone(x)
	}
	size := (len(x) + longSeries - 1) / longSeries
	blocks := make([]float64, len(x)/size)
	for i := range blocks {
		for _, v := range x[i*size : (i+1)*size] {
			blocks[i] += v / float64(size)
		}
	}
	ratio := autocovariance(blocks, 0) / float64(len(blocks)) / (autocovariance(x, 0) / float64(len(x)))
	return float64(size) * initialMonotone(blocks) * ratio
}

// initialMonotone returns Geyer's initial monotone sequence estimate of the integrated
// autocorrelation time (Practical Markov chain Monte Carlo, 1992, §3.3). In theory, sums of
// neighbouring autocorrelations are positive and decreasing. The estimate adds them up, each
// limited to the previous one, until one is not positive.
func initialMonotone(x []float64) float64 {
	c0 := autocovariance(x, 0)
	if c0 == 0 {
		return 1
	}
	sum, previous := 0.0, math.Inf(1)
	for k := 0; k+1 < len(x); k += 2 {
		pair := (autocovariance(x, k) + autocovariance(x, k+1)) / c0
		if pair <= 0 {
			break
		}
		previous = min(previous, pair)
		sum += previous
	}
	return 2*sum - 1
}

// autocovariance returns the sum of the products of centred values that lie k apart. For ranks the
// sum is a multiple of ¼ and exact up to n = 30,000, so that a series and its reverse have the same
// sum.
func autocovariance(x []float64, k int) float64 {
	t := 0.0
	late := x[min(k, len(x)):]
	for i, v := range late {
		t += v * x[i]
	}
	return t
}
