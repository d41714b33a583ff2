package bisect

import "math"

// hypothesis is one way in which the variants may differ in one case.
type hypothesis struct {
	// `first` is the first slow variant. The slowdown changes at variant `second`; 0 means that it does not
	// change. spans are the ranges of the two slowdowns.
	first, second int
	spans         [2]span
	// logPrior is the logarithm of the hypothesis's weight. The weights sum to 1.
	logPrior float64
}

// The ranges of slowdowns. The first range lies around the smallest slowdown that counts. Each following
// range is `growth` times larger and has half the weight of the range before. Within a range all slowdowns
// are equally likely.
const (
	slowdowns  = 9
	growth     = 1.5
	coarse     = 5   // number of ranges if there are two slowdowns
	coarseStep = 2.2 // growth of these ranges
	twice      = 0.1 // weight of all hypotheses with two slowdowns
)

// ranges returns `count` adjoining ranges of slowdowns, from `least` up, as logarithms. Their weights sum
// to 1.
func ranges(least float64, count int, factor float64) (spans []span, weights []float64) {
	sum, weight := 0.0, 1.0
	for i := range count {
		middle := least * math.Pow(factor, float64(i))
		spans = append(spans, span{math.Log1p(max(least, middle/math.Sqrt(factor))), math.Log1p(middle * math.Sqrt(factor))})
		weights = append(weights, weight)
		sum += weight
		weight /= 2
	}
	for i := range weights {
		weights[i] /= sum
	}
	return spans, weights
}

// ordered returns the hypotheses of variants in order. All variants from some variant on are slower than
// the variants before it, and the slowdown may change at a later variant.
func ordered(variants int, least float64) []hypothesis {
	var out []hypothesis
	singles := 1.0
	if variants > 2 {
		singles -= twice
	}
	spans, weights := ranges(least, slowdowns, growth)
	for first := 1; first < variants; first++ {
		for i, s := range spans {
			out = append(out, hypothesis{first: first, spans: [2]span{s}, logPrior: math.Log(singles * weights[i] / float64(variants-1))})
		}
	}
	return append(out, doubles(variants, least)...)
}

// doubles returns the hypotheses of ordered variants with two slowdowns.
func doubles(variants int, least float64) []hypothesis {
	var out []hypothesis
	spans, weights := ranges(least, coarse, coarseStep)
	total := 0.0
	for first := 1; first < variants; first++ {
		for second := first + 1; second < variants; second++ {
			for i, a := range spans {
				for j, b := range spans {
					if i == j {
						continue
					}
					weight := weights[i] * weights[j]
					total += weight
					out = append(out, hypothesis{first: first, second: second, spans: [2]span{a, b}, logPrior: weight})
				}
			}
		}
	}
	for i := range out {
		out[i].logPrior = math.Log(twice * out[i].logPrior / total)
	}
	return out
}

// `either` returns the hypotheses of two variants. In half of them the second variant is slower, in half it
// is faster.
func either(least float64) []hypothesis {
	var out []hypothesis
	spans, weights := ranges(least, slowdowns, growth)
	for i, s := range spans {
		log := math.Log(weights[i] / 2)
		out = append(out, hypothesis{first: 1, spans: [2]span{s}, logPrior: log}, hypothesis{first: 1, spans: [2]span{{-s.hi, -s.lo}}, logPrior: log})
	}
	return out
}

// belief is the conclusion from the readings of a case.
type belief struct {
	// evidence is the logarithm of a ratio: the likelihood of the readings if some variant is slow, divided
	// by their likelihood if no variant is slow.
	evidence float64
	// from[k] is the probability that variant k is the first slow variant, given that some variant is slow.
	from []float64
	// slowdown is the mean slowdown over the hypotheses, weighted by their probability.
	slowdown float64
}

// weigh compares the hypotheses with the hypothesis that no variant is slow, given the readings of a case.
func (n noise) weigh(of *normal, hypotheses []hypothesis) belief {
	variants := len(of.by)
	b := belief{from: make([]float64, variants)}
	own := of.solve()
	of.gather()
	l := n.likelihood(of, own)
	none := l.log(of.squares)
	logs, levels, most := make([]float64, len(hypotheses)), make([]float64, len(hypotheses)), math.Inf(-1)
	for i := range hypotheses {
		logs[i], levels[i] = l.mean(of, &hypotheses[i])
		logs[i] += hypotheses[i].logPrior - none
		most = max(most, logs[i])
	}
	sum := 0.0
	for i, h := range hypotheses {
		w := math.Exp(logs[i] - most)
		sum += w
		b.from[h.first] += w
		b.slowdown += w * levels[i]
	}
	for k := range b.from {
		b.from[k] /= sum
	}
	b.slowdown /= sum
	b.evidence = most + math.Log(sum)
	return b
}
