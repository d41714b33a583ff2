package compare

import (
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// noise is the variance of the logarithm of one run's median of a case.
type noise struct {
	// df is the number of degrees of freedom of the variance; infinite if the variance was given.
	variance, df float64
}

// betweenRuns has the relative standard deviation of a case's time between runs of the same thing on the
// same hosts, by size in bytes. The sources are runs of RCCL on 1 to 3 nodes of 8
// MI355X with Pollara 400 (ylerman-dn/amd-dev @ababbc49, results-tuning):
//   - 2026-08-03-5-lognoise and -9-multinode, all_reduce and all_gather by default, two or three runs each:
//     2.5 % below 1 MiB, without the outlying case of betweenDF; 1.9 % below 32 MiB; 0.7 % above;
//   - 2026-08-16-12-variance, 55 settings of all_reduce, three runs each: 1.7 % at 16 MiB, 1.5 % at 64 MiB,
//     0.7 % at 256 MiB.
//
// The loopback varies by less: 1 % per launch.
var betweenRuns = []sizedCV{{32 << 20, 0.015}, {1 << 20, 0.02}, {0, 0.03}}

// sizedCV is the relative standard deviation for sizes of `from` bytes or more.
type sizedCV struct {
	from int64
	cv   float64
}

// betweenSource cites these figures in a comparison.
const betweenSource = "a standard deviation of 3 % below 1 MiB, 2 % below 32 MiB and 1.5 % above, from published runs of RCCL on 1 to 3 nodes of 8 MI355X (ylerman-dn/amd-dev, results-tuning)"

// betweenDF is the number of degrees of freedom of Student's t for the times of betweenRuns. The tails are heavy:
// half of the cases differ by less than 1.3 %, and one of 144 took 87 % longer in one of its runs. With 3 degrees of
// freedom the allowance covers that case. It does not cover a stall at the beginning of a run, which was 500 times
// as long.
const betweenDF = 3

// `assumed` returns the noise of a case with too few runs. The published times are of collectives. A kernel has 0
// bytes here, so it gets the largest deviation.
func (c *observed) assumed() noise {
	i := slices.IndexFunc(betweenRuns, func(s sizedCV) bool { return c.bytes >= s.from })
	return noise{square(betweenRuns[i].cv) + c.within, betweenDF}
}

// pool holds the cases of a collective, whose variance between runs is estimated together.
type pool struct {
	cases []*observed
	// variance is the mean of the cases' variances, weighted by their degrees of freedom. df is the number
	// of degrees of freedom of the pool, given the correlation between its cases.
	variance, df float64
}

// pools groups the cases with residuals by collective, in order of first appearance.
func pools(cases []*observed) []*pool {
	order, of := slice.Group(slice.Where(cases, func(c *observed) bool { return c.df() > 0 }), func(c *observed) string { return c.pool })
	return slice.Map(order, func(name string) *pool { return newPool(of[name]) })
}

// newPool makes a pool of cases. A disturbance of a run affects all of its cases. The cases are therefore
// correlated, and the pool has fewer degrees of freedom than its cases together.
func newPool(cases []*observed) *pool {
	p := &pool{cases: cases}
	for _, c := range cases {
		c.pooled = p
	}
	df := float64(slice.Sum(cases, (*observed).df))
	p.variance, p.df = slice.Sum(cases, (*observed).squares)/df, df*p.independent()
	return p
}

// `independent` returns the pool's share of the cases' degrees of freedom: from 1/m, if the m cases vary in step, to
// 1, if they are independent. With the covariance Σ between cases, the share is tr(Σ)² / (m·tr(Σ²)) (Box 1954).
// Both traces are estimated without bias from the sample covariance S with ν degrees of freedom (Srivastava 2005),
// as E tr(S²) = (1 + 1/ν) tr(Σ²) + tr(Σ)²/ν and E tr(S)² = tr(Σ)² + 2 tr(Σ²)/ν.
func (p *pool) independent() float64 {
	whole := p.complete()
	m := float64(len(whole))
	if len(whole) < 2 {
		return 1 / float64(len(p.cases))
	}
	nu := float64(whole[0].df())
	rows := slice.Map(whole, (*observed).residuals)
	trace, squared := traces(rows, nu)
	if nu < 2 || trace == 0 {
		return 1 / m
	}
	q := nu * nu / ((nu - 1) * (nu + 2)) * (squared - trace*trace/nu)
	if q <= 0 {
		return 1
	}
	t := trace*trace - 2*q/nu
	return min(1, max(1/m, t/(m*q)))
}

// `complete` returns the cases that have a value in every run.
func (p *pool) complete() []*observed {
	most := slice.Most(p.cases, func(c *observed) int { return len(c.sides[0]) + len(c.sides[1]) })
	return slices.DeleteFunc(slices.Clone(p.cases), func(c *observed) bool { return len(c.sides[0])+len(c.sides[1]) < most })
}

// traces returns tr(S) and tr(S²) of the covariance of rows. S has the same traces as the smaller
// matrix of products between runs.
func traces(rows [][]float64, nu float64) (trace, squared float64) {
	n := len(rows[0])
	for i := range n {
		for j := range n {
			dot := slice.Sum(rows, func(r []float64) float64 { return r[i] * r[j] })
			dot /= nu
			squared += dot * dot
			if i == j {
				trace += dot
			}
		}
	}
	return trace, squared
}

// unequalKurtosis is the excess kurtosis of log χ² with four degrees of freedom, as with three runs per side; with
// more runs it is smaller. Variances count as unequal if they differ by more than chance explains, by unequalZ
// standard errors.
const (
	unequalKurtosis = 1.19
	unequalZ        = 1.645
)

// prior returns the weight of the pool's variance relative to a case's own variance, in degrees of freedom;
// infinite if chance explains how the noise of the pool's cases differs. It follows Smyth (2004):
// by chance the logarithms of variances with ν degrees of freedom have the variance trigamma(ν/2);
// any excess is trigamma(prior/2).
func prior(all []*pool) float64 {
	nu := 0
	for _, p := range all {
		for _, c := range p.cases {
			nu = max(nu, c.df())
		}
	}
	sum, count, groups := 0.0, 0, 0
	for _, p := range all {
		var logs []float64
		for _, c := range p.cases {
			if v := c.squares() / float64(c.df()); c.df() == nu && v > 0 {
				logs = append(logs, math.Log(v))
			}
		}
		if len(logs) < 2 {
			continue
		}
		m := stat.Mean(logs)
		for _, v := range logs {
			sum += (v - m) * (v - m)
		}
		count, groups = count+len(logs), groups+1
	}
	if count-groups < 1 {
		return math.Inf(1)
	}
	chance := trigamma(float64(nu) / 2)
	excess := sum/float64(count-groups) - chance
	if excess <= unequalZ*chance*math.Sqrt((2+unequalKurtosis)/float64(count-groups)) {
		return math.Inf(1)
	}
	return 2 * inverseTrigamma(excess)
}

// `of` returns the noise of a case: the pool's variance or, if cases differ in noise, a mean of the pool's
// variance and the case's own variance (Smyth 2004).
func (p *pool) of(c *observed, prior float64) noise {
	if math.IsInf(prior, 1) {
		return noise{p.variance, p.df}
	}
	own := float64(c.df())
	return noise{(prior*p.variance + c.squares()) / (prior + own), min(p.df, prior+own)}
}

// trigamma computes ψ₁(x) for x > 0. It raises x to at least 10 by recurrence, then evaluates the asymptotic
// series (Abramowitz & Stegun 6.4.6, 6.4.12).
func trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 10; x++ {
		sum += 1 / (x * x)
	}
	y := 1 / (x * x)
	return sum + 1/x + y/2 + y/x*(1.0/6-y*(1.0/30-y*(1.0/42-y/30)))
}

// inverseTrigamma solves ψ₁(x) = y, y > 0, by bisecting the logarithm.
func inverseTrigamma(y float64) float64 {
	lo, hi := math.Log(1e-4), math.Log(1e6)
	for range 60 {
		if mid := (lo + hi) / 2; trigamma(math.Exp(mid)) > y {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp(lo)
}

// median returns the R-7 median.
func median(v []float64) float64 { return stat.Quantile(v, 0.5) }
