package recommend

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// With T = α + S/B, k equal buckets and nothing but a queue, the pass ends at
// max(T_b/k + k·c, T_b + c), c = α + G/(kB): the engine's simulation against the
// closed form, and the closed form's best k against every k.
func TestClosedFormOnAlphaBeta(t *testing.T) {
	const draws = 20_000
	rng := rand.New(rand.NewPCG(5, 6))
	worst, tried := 0.0, 0
	for range draws {
		g, b := math.Exp(rng.Float64()*6)*1e8, math.Exp(rng.Float64()*4)*1e10
		compute, alpha := math.Exp(rng.Float64()*5)*5e-3, math.Exp(rng.Float64()*6)*2e-5
		end := func(k int) float64 {
			c := alpha + g/float64(k)/b
			return max(compute/float64(k)+float64(k)*c, compute+c)
		}
		kStar := max(math.Sqrt(compute/alpha), (compute-g/b)/alpha)
		if kStar > 399 {
			continue
		}
		tried++
		best := math.Inf(1)
		for k := 1; k <= 400; k++ {
			best = min(best, end(k))
		}
		near := math.Inf(1)
		for _, k := range []float64{math.Floor(kStar), math.Ceil(kStar)} {
			near = min(near, end(max(1, int(k))))
		}
		worst = max(worst, near/best-1)
		k := 1 + rng.IntN(400)
		messages, cost := make([]trainer.Message, k), make([]float64, k)
		work := make([]float64, k)
		for j := range messages {
			messages[j] = trainer.Message{Launch: k - 1 - j, Wait: trainer.Never}
			cost[j], work[j] = alpha+g/float64(k)/b, 1
		}
		pass := NewPass(messages, Shares(work, Backward), Backward)
		require.InEpsilon(t, end(k), pass.End(Times{Compute: compute, Slow: 1}, cost), 1e-12)
	}
	require.Less(t, worst, 1e-9)
	require.Greater(t, tried, draws/2)
}
