package experiments

import (
	"fmt"
	"math"
)

// Bar is the rate at which something must happen, or may at most.
type Bar struct {
	Rate   float64
	AtMost bool
}

// improbable is how unlikely a count must be, were the rate just that of the
// bar, before a small run fails. A run of 50 seeds cannot judge a rate to a few
// per cent; it can notice that a method broke.
const improbable = 1e-4

// Holds tells whether count of seeds meets the bar, as a full run must.
func (b Bar) Holds(count, seeds int) bool {
	if b.AtMost {
		return float64(count) <= b.Rate*float64(seeds)
	}
	return float64(count) >= b.Rate*float64(seeds)
}

// Plausible tells whether a count this bad could be chance, by the exact
// binomial tail.
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

// atMost is P(X ≤ k), X binomial(n, p), 0 < p < 1. Each term is computed by
// itself, in logarithms, so that none underflows that matters.
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
