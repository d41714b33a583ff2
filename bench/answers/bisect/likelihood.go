package bisect

import "math"

// segments holds the normal equations of a hypothesis. The unknowns are levels. One level holds for the
// variants from `first` up to `second`, another from `second` on. If `second` is 0, one level holds from
// `first` on.
type segments struct {
	squares    float64
	by         [2]float64
	own        [2]float64 // x'x of each segment
	both       float64
	considered int
}

// `of` reduces the normal equations of a case to the normal equations of a hypothesis. The case's equations
// must be gathered first (see gather).
func (h *hypothesis) of(n *normal) segments {
	f, s := h.first, h.second
	if s == 0 {
		return segments{squares: n.squares, by: [2]float64{n.behind[f]}, own: [2]float64{n.both[f][f]}, considered: 1}
	}
	return segments{
		squares: n.squares, by: [2]float64{n.behind[f] - n.behind[s], n.behind[s]},
		own:  [2]float64{n.both[f][f] - 2*n.both[f][s] + n.both[s][s], n.both[s][s]},
		both: n.both[f][s] - n.both[s][s], considered: 2,
	}
}

// `best` returns the level of a segment with the least residual, given the level of the other segment. The
// result may lie outside the span.
func (s *segments) best(i int, levels [2]float64) float64 {
	return (s.by[i] - s.both*levels[1-i]) / s.own[i]
}

// residual returns the sum of squares that the levels leave.
func (s *segments) residual(l [2]float64) float64 {
	out := s.squares - 2*l[0]*s.by[0] - 2*l[1]*s.by[1] + l[0]*l[0]*s.own[0] + l[1]*l[1]*s.own[1] + 2*l[0]*l[1]*s.both
	return max(out, 0)
}

// `nearest` returns the levels within a hypothesis's spans that leave the least residual. A segment
// without readings takes the middle of its span.
func (s *segments) nearest(h *hypothesis) [2]float64 {
	l := [2]float64{h.spans[0].middle(), h.spans[1].middle()}
	for range 4 { // alternating: the remaining error is small compared with a span
		for i := range s.considered {
			if s.own[i] > negligible {
				l[i] = min(max(s.best(i, l), h.spans[i].lo), h.spans[i].hi)
			}
		}
	}
	return l
}

// `negligible` bounds the x'x of a segment without readings; rounding can leave a small rest.
const negligible = 1e-12

// likelihood evaluates a case's readings. The variance of the readings is unknown and integrated out. The
// prior of the variance comes from the other cases. power is the exponent of the sum of squares.
type likelihood struct{ prior, power float64 }

func (n noise) likelihood(of *normal, own fit) likelihood {
	df := float64(min(borrowed, max(1, n.df-own.df)))
	others := max(n.squares-own.squares, 0) / float64(max(1, n.df-own.df))
	return likelihood{prior: df * max(others, leastSpread*leastSpread), power: df + float64(of.n-1)}
}

// log returns the log likelihood of a fit with this residual, up to a constant of the case.
func (l likelihood) log(residual float64) float64 { return -l.power / 2 * math.Log(l.prior+residual) }

// mean returns the logarithm of the mean likelihood over a hypothesis's spans, and the most likely level of
// the variants from the first slow variant on. A single level in the middle of a span would not do: on a
// quiet machine it is many standard deviations from the true level, and the nearest hypothesis would win by
// chance.
func (l likelihood) mean(n *normal, h *hypothesis) (log, level float64) {
	s := h.of(n)
	levels := s.nearest(h)
	left := s.residual(levels)
	log = l.log(left)
	for i := range s.considered {
		if s.own[i] > negligible {
			log += h.spans[i].logMean(s.best(i, levels), s.own[i]*l.power/(l.prior+left))
		}
	}
	return log, levels[0]
}

// span is a range of levels, as logarithms of the ratio of times.
type span struct{ lo, hi float64 }

func (s span) middle() float64 { return (s.lo + s.hi) / 2 }

// logMean returns the logarithm of the mean of a normal curve over the span, divided by the curve's highest
// value within the span. The curve has its centre at `best` and the inverse variance `curve`.
func (s span) logMean(best, curve float64) float64 {
	k := math.Sqrt(curve)
	width := (s.hi - s.lo) * k
	near := max((s.lo-best)*k, (best-s.hi)*k) // distance from the span to best; negative if best is within the span
	var area float64
	switch {
	case width < 1e-6:
		return 0
	case near <= 0:
		area = math.Sqrt(math.Pi/2) * (math.Erf((s.hi-best)*k/math.Sqrt2) - math.Erf((s.lo-best)*k/math.Sqrt2))
	case near < 5:
		area = math.Sqrt(math.Pi/2) * math.Exp(near*near/2) * (math.Erfc(near/math.Sqrt2) - math.Erfc((near+width)/math.Sqrt2))
	default: // the tail of a normal curve falls like an exponential curve
		area = -math.Expm1(-near*width-width*width/2) / near
	}
	return math.Log(max(area/width, 1e-300))
}
