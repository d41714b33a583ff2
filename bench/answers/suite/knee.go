package suite

import (
	"math"

	"zbench/bench/base/stat"
)

// A saturated curve stays between kneeShare times and 1/kneeShare times its last value. If a curve
// changes by more than maxGrowth over the last octave, it is not saturated.
const (
	kneeShare = 0.9
	maxGrowth = 0.05
)

// Sample is a point of a curve: a rate at a size. X is in bytes or operations per launch. The rates are
// in base units. Lo and Hi bound the rate with 95 % confidence.
type Sample struct{ X, Rate, Lo, Hi float64 }

// Knee is the size from which a curve stays within 10 % of its value at the largest size. Lo and Hi
// bound the knee with at least 95 % confidence if the curve only rises and bends only downwards in
// log-log coordinates. There is no such guarantee for a curve that falls to its plateau, for example
// where the data no longer fit a cache.
type Knee struct{ X, Lo, Hi float64 }

// KneeOf returns the knee of a curve in ascending order of X. If there is no knee, `why` is the reason.
//
// The estimate lies on the straight line, in log-log coordinates, between the last sample outside the
// band and the next sample. A rising curve is, at each size, at least as high as the lower bounds at
// smaller sizes, and at most as high as the upper bounds at larger sizes. These bounds decide which
// sizes are certainly inside or outside the band. A curve that bends downwards lies above the chord
// between two of its points, so the chord through lower bounds gives the upper bound of the knee. The
// curve lies below the extension of the chord before it, so this extension gives the lower bound of the
// knee.
func KneeOf(curve []Sample) (k Knee, why string) {
	n := len(curve)
	if n < 4 {
		return k, "a knee takes four sizes"
	}
	last := curve[n-1]
	if growth := change(curve); math.Abs(growth) > maxGrowth {
		return k, "the curve is not saturated: measure larger sizes"
	}
	from := n - 1
	for from > 0 && curve[from-1].Rate >= kneeShare*last.Rate && curve[from-1].Rate <= last.Rate/kneeShare {
		from--
	}
	falls := from > 0 && curve[from-1].Rate > last.Rate
	if falls {
		curve = falling(curve, from)
		from -= n - len(curve)
		n, last = len(curve), curve[len(curve)-1]
	}
	k = Knee{curve[from].X, curve[0].X, curve[from].X}
	if from > 0 {
		k.X = stat.Reaches(curve[from-1].X, curve[from-1].Rate, curve[from].X, curve[from].Rate, kneeShare*last.Rate)
	}
	hi, out := last.Hi, n-1
	for out >= 0 && hi >= kneeShare*last.Lo {
		if out--; out >= 0 {
			hi = min(hi, curve[out].Hi)
		}
	}
	if out >= 0 {
		k.Lo = curve[out].X
		if out > 0 && !falls {
			x := stat.Reaches(curve[out-1].X, curve[out-1].Lo, k.Lo, hi, kneeShare*last.Lo)
			k.Lo = min(max(k.Lo, x), curve[out+1].X)
		}
	}
	safe := out + 1 // a curve with a dip does not only rise: sizes before the dip say nothing
	lo := curve[safe].Lo
	for safe < n-1 && lo < kneeShare*last.Hi {
		safe++
		lo = max(lo, curve[safe].Lo)
	}
	if k.Hi = curve[safe].X; safe > 0 && safe < n-1 {
		k.Hi = stat.Reaches(curve[safe-1].X, curve[safe-1].Lo, k.Hi, curve[safe].Lo, kneeShare*last.Hi)
	}
	k.Lo, k.Hi = min(k.Lo, k.X), max(k.Hi, k.X)
	return k, ""
}

// `falling` returns the part of a curve that falls to its plateau. It inverts the rates, so that this
// part rises. `from` is the index of the first sample of the plateau.
func falling(curve []Sample, from int) []Sample {
	top := 0
	for i := range from {
		if curve[i].Rate > curve[top].Rate {
			top = i
		}
	}
	var out []Sample
	for _, s := range curve[top:] {
		out = append(out, Sample{s.X, 1 / s.Rate, 1 / s.Hi, 1 / s.Lo})
	}
	return out
}

// change returns the relative change of the rate over the last octave of sizes.
func change(curve []Sample) float64 {
	last := curve[len(curve)-1]
	for i := len(curve) - 2; i >= 0; i-- {
		if s := curve[i]; s.X <= last.X/2 {
			return math.Exp2(stat.Exponent(s.X, s.Rate, last.X, last.Rate)) - 1
		}
	}
	return math.Inf(1)
}
