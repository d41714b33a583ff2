package experiments

import (
	"fmt"
	"math"
)

// Bar is a rate at which something must happen at least, or may happen at most.
type Bar struct {
	Rate   float64
	AtMost bool
}

// improbable is the probability below which a count makes a small run fail. The probability is
// computed for a rate equal to the bar. A run of 50 seeds cannot measure a rate to a few per cent,
// but it can notice that a method is broken.
const improbable = 1e-4

// Holds reports whether a count meets the bar, as it must in a full run. seeds is the number of
// trials.
func (b Bar) Holds(count, seeds int) bool {
	if b.AtMost {
		return float64(count) <= b.Rate*float64(seeds)
	}
	return float64(count) >= b.Rate*float64(seeds)
}

// Plausible reports whether chance can explain a count that is this bad, by the exact binomial
// tail.
func (b Bar) Plausible(count, seeds int) bool {
	if b.AtMost {
		return atMost(seeds-count, seeds, 1-b.Rate) >= improbable
	}
	return atMost(count, seeds, b.Rate) >= improbable
}

func (b Bar) String() string {
	if b.AtMost {
		return fmt.Sprintf("≤ %.0f %%", 100*b.Rate)
	}
	return fmt.Sprintf("≥ %.0f %%", 100*b.Rate)
}

// atMost returns P(X ≤ k) for a binomial X with n trials of probability p, 0 < p < 1. Each term is
// computed by logarithms, so that no relevant term underflows.
func atMost(k, n int, p float64) float64 {
	sum := 0.0
	all, _ := math.Lgamma(float64(n + 1))
	for i := 0; i <= k; i++ {
		in, _ := math.Lgamma(float64(i + 1))
		out, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - in - out + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}
