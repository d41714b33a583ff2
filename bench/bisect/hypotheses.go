package bisect

import "math"

// hypothesis is a way in which the variants may differ in one case.
type hypothesis struct {
	// first is the first slow variant, slowdown its effect and that of those behind it. From
	// second on, if that is not 0, the effect is further more.
	first, second     int
	slowdown, further float64
	// logPrior is the logarithm of the weight among those in which some variant is slow.
	logPrior float64
}

// The slowdowns that are tried: the smallest that counts, then each this many times the
// one before, with half its weight.
const (
	slowdowns  = 9
	growth     = 1.5
	coarse     = 5   // of two slowdowns
	coarseStep = 2.2 // times the one before
	twice      = 0.1 // weight of a second change behind the first
)

// steps are slowdowns from least on, as logarithms, with weights that sum to 1.
func steps(least float64, count int, factor float64) (sizes, weights []float64) {
	sum, weight := 0.0, 1.0
	for i := range count {
		sizes = append(sizes, math.Log1p(least*math.Pow(factor, float64(i))))
		weights = append(weights, weight)
		sum += weight
		weight /= 2
	}
	for i := range weights {
		weights[i] /= sum
	}
	return sizes, weights
}

// ordered are the hypotheses of variants in order: all from one on are slower than those
// before it, possibly by another amount from a later one on.
func ordered(variants int, least float64) []hypothesis {
	var out []hypothesis
	singles := 1.0
	if variants > 2 {
		singles -= twice
	}
	sizes, weights := steps(least, slowdowns, growth)
	for first := 1; first < variants; first++ {
		for i, size := range sizes {
			out = append(out, hypothesis{first: first, slowdown: size, logPrior: math.Log(singles * weights[i] / float64(variants-1))})
		}
	}
	return append(out, doubles(variants, least)...)
}

// doubles are those with two changes.
func doubles(variants int, least float64) []hypothesis {
	var out []hypothesis
	sizes, weights := steps(least, coarse, coarseStep)
	total := 0.0
	for first := 1; first < variants; first++ {
		for second := first + 1; second < variants; second++ {
			for i, a := range sizes {
				for j, b := range sizes {
					if i == j {
						continue
					}
					weight := weights[i] * weights[j]
					total += weight
					out = append(out, hypothesis{first: first, second: second, slowdown: a, further: b - a, logPrior: weight})
				}
			}
		}
	}
	for i := range out {
		out[i].logPrior = math.Log(twice * out[i].logPrior / total)
	}
	return out
}

// either are the hypotheses of two variants of which the second may be slower or faster.
func either(least float64) []hypothesis {
	var out []hypothesis
	sizes, weights := steps(least, slowdowns, growth)
	for i, size := range sizes {
		for sign := 1.0; sign >= -1; sign -= 2 {
			out = append(out, hypothesis{first: 1, slowdown: sign * size, logPrior: math.Log(weights[i] / 2)})
		}
	}
	return out
}

// belief is what the readings of a case say.
type belief struct {
	// evidence is the logarithm of how much likelier the readings are if some variant is
	// slow than if none is.
	evidence float64
	// from[k] is the probability that variant k is the first slow one, if any is.
	from []float64
	// slowdown is its mean over the hypotheses, by their probability.
	slowdown float64
}

// weigh compares the hypotheses with none by the readings of a case.
func (n noise) weigh(of *normal, hypotheses []hypothesis) belief {
	variants := len(of.by)
	b := belief{from: make([]float64, variants)}
	own := of.solve()
	of.gather()
	none := n.likelihood(of, own, of.squares)
	logs, most := make([]float64, len(hypotheses)), math.Inf(-1)
	for i, h := range hypotheses {
		logs[i] = h.logPrior + n.likelihood(of, own, of.residual(&h)) - none
		most = max(most, logs[i])
	}
	sum := 0.0
	for i, h := range hypotheses {
		w := math.Exp(logs[i] - most)
		sum += w
		b.from[h.first] += w
		b.slowdown += w * h.slowdown
	}
	for k := range b.from {
		b.from[k] /= sum
	}
	b.slowdown /= sum
	b.evidence = most + math.Log(sum)
	return b
}
