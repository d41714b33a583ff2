package suite

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted are rates over a size relative to the size of their bend, with a plateau of 1.
var planted = map[string]func(x float64) float64{
	"launch and work":   func(x float64) float64 { return x / (1 + x) },
	"exponential":       func(x float64) float64 { return 1 - math.Exp(-x) },
	"roof with a bend":  func(x float64) float64 { return math.Pow(1+math.Pow(x, -3), -1.0/3) },
	"square root first": func(x float64) float64 { return math.Sqrt(x / (1 + x)) },
}

// kneeTruth returns the size from which a curve stays at the share of its value at the largest size.
func kneeTruth(rate func(float64) float64, most float64) float64 {
	lo, hi := most*1e-12, most
	for range 200 {
		if mid := math.Sqrt(lo * hi); rate(mid) < kneeShare*rate(most) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// TestKneeIsCovered holds the printed interval of a knee against planted curves with noise.
func TestKneeIsCovered(t *testing.T) {
	for name, rate := range planted {
		for _, cv := range []float64{0.0005, 0.005, 0.02} {
			t.Run(fmt.Sprintf("%s, %g", name, cv), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(1e6*cv)))
				covered, found, width := 0, 0, 0.0
				for range 1000 {
					bend := math.Exp2(20 + 8*random.Float64())
					var curve []Sample
					for x := 14.0; x <= 36; x++ {
						truth := rate(math.Exp2(x) / bend)
						v := truth * (1 + cv*random.NormFloat64())
						curve = append(curve, Sample{math.Exp2(x), v, v * (1 - 1.96*cv), v * (1 + 1.96*cv)})
					}
					k, why := KneeOf(curve)
					if why != "" { // noise may look like a slope of the last octave
						continue
					}
					found++
					truth := kneeTruth(func(x float64) float64 { return rate(x / bend) }, math.Exp2(36))
					if k.Lo <= truth && truth <= k.Hi {
						covered++
					}
					width += math.Log2(k.Hi / k.Lo)
				}
				require.GreaterOrEqual(t, found, 850)
				require.GreaterOrEqual(t, float64(covered), 0.95*float64(found), "%d of %d", covered, found)
				require.Less(t, width/float64(found), max(0.5, 200*cv), "octaves: the interval says something")
				t.Logf("%d of %d, %.2f octaves", covered, found, width/float64(found))
			})
		}
	}
}

func TestKneeOfACurveThatFallsToItsPlateau(t *testing.T) {
	var curve []Sample
	for x := 16.0; x <= 34; x++ { // a cache of 256 MiB is three times as fast
		v := 4e12 * (1 + 2/(1+math.Pow(math.Exp2(x-28), 2)))
		curve = append(curve, Sample{math.Exp2(x), v, v * 0.999, v * 1.001})
	}
	k, why := KneeOf(curve)
	require.Empty(t, why)
	require.InEpsilon(t, math.Exp2(28)*math.Sqrt(2/(1/kneeShare-1)-1), k.X, 0.2)
	require.LessOrEqual(t, k.Lo, k.X)
	require.GreaterOrEqual(t, k.Hi, k.X)
}

// A dip ends what is before it, for the estimate and for the bounds.
func TestKneeBehindADip(t *testing.T) {
	var curve []Sample
	for x := 16.0; x <= 34; x++ {
		v := 1.0
		if x == 28 {
			v = 0.5
		}
		curve = append(curve, Sample{math.Exp2(x), v, v * 0.99, v * 1.01})
	}
	k, why := KneeOf(curve)
	require.Empty(t, why)
	require.Greater(t, k.X, math.Exp2(28))
	require.Less(t, k.X, math.Exp2(29))
	require.LessOrEqual(t, k.Lo, k.X)
	require.Greater(t, k.Hi, k.X)
	require.LessOrEqual(t, k.Hi, math.Exp2(29))
}

func TestKneeIsRefused(t *testing.T) {
	rising := func(n int) (curve []Sample) {
		for x := range n {
			v := math.Exp2(float64(x))
			curve = append(curve, Sample{v, v, v, v})
		}
		return curve
	}
	_, why := KneeOf(rising(3))
	require.Equal(t, "a knee takes four sizes", why)
	_, why = KneeOf(rising(8))
	require.Contains(t, why, "not saturated")
	flat := rising(8)
	for i := range flat {
		flat[i].Rate, flat[i].Lo, flat[i].Hi = 1, 1, 1
	}
	k, why := KneeOf(flat)
	require.Empty(t, why)
	require.Equal(t, Knee{1, 1, 1}, k, "the smallest size is in the band already")
}
