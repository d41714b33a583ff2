package rails

import (
	"math"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// edge is one transfer between two ends. y is the logarithm of its time divided by the typical time.
type edge struct {
	a, b int
	y    float64
}

// end summarises the transfers of an end.
type end struct {
	// loss is the logarithm of the end's slowdown.
	loss float64
	// `clear` counts the transfers with healthy partners. `agree` counts the slow transfers with healthy
	// partners. If clear is 0, either the end or its partners are slow, and it is unknown which.
	clear, agree int
	// `all` counts the end's transfers.
	all int
}

// ends are the estimates of all ends, and their robust standard deviation.
type ends struct {
	of    []end
	sigma float64
}

// limit returns the loss above which an end is slow.
func (e ends) limit() float64 { return max(leastLoss, sigmas*e.sigma) }

// `slow` reports whether an end is slow, by itself or with all its partners.
func (e ends) slow(i int) bool { return e.of[i].all > 0 && e.of[i].loss > e.limit() }

// `sure` reports whether an end is slow whatever its partners are.
func (e ends) sure(i int) bool { return e.slow(i) && e.of[i].clear > 0 }

// solve estimates the loss of n ends from their transfers. A transfer is as slow as the slower of its
// ends. solve starts with each end's lower quartile, which one slow partner in four cannot raise, and
// repeats with the median of the transfers whose other end is healthy.
func solve(n int, edges []edge) ends {
	touching := make([][]int, n)
	for i, e := range edges {
		touching[e.a] = append(touching[e.a], i)
		touching[e.b] = append(touching[e.b], i)
	}
	out := ends{of: make([]end, n)}
	for i, list := range touching {
		out.of[i].all = len(list)
		if len(list) > 0 {
			ys := slice.Map(list, func(at int) float64 { return edges[at].y })
			out.of[i].loss = stat.Quantile(ys, 0.25)
		}
	}
	out.centre()
	for range 4 {
		out = out.again(edges, touching)
	}
	limit := out.limit()
	for i, list := range touching {
		for _, at := range list {
			if e := edges[at]; out.of[other(e, i)].loss <= limit/2 && e.y > limit/2 {
				out.of[i].agree++
			}
		}
	}
	return out
}

// `again` does one step of solve.
func (e ends) again(edges []edge, touching [][]int) ends {
	cut := max(suspectLoss, suspectSigmas*e.sigma)
	next := ends{of: make([]end, len(e.of))}
	var ys []float64
	for i, list := range touching {
		next.of[i] = end{loss: e.of[i].loss, all: len(list)}
		ys = ys[:0]
		for _, at := range list {
			if e.of[other(edges[at], i)].loss <= cut {
				ys = append(ys, edges[at].y)
			}
		}
		if len(ys) > 0 {
			next.of[i].clear = len(ys)
			next.of[i].loss = median(ys)
		}
	}
	next.centre()
	return next
}

// centre makes the median loss 0 and estimates the standard deviation.
func (e *ends) centre() {
	timed := slice.Where(e.of, func(x end) bool { return x.all > 0 })
	losses := slice.Map(timed, func(x end) float64 { return x.loss })
	if len(losses) == 0 {
		return
	}
	middle := median(losses)
	for i := range e.of {
		e.of[i].loss -= middle
	}
	e.sigma = Deviation(losses)
}

func other(e edge, i int) int {
	if e.a == i {
		return e.b
	}
	return e.a
}

// median returns the median; NaN for no values.
func median(of []float64) float64 { return stat.Quantile(of, 0.5) }

// Deviation returns the standard deviation of a normal distribution with the sample's median
// absolute deviation.
func Deviation(of []float64) float64 {
	middle := median(of)
	return 1.4826 * median(slice.Map(of, func(v float64) float64 { return math.Abs(v - middle) }))
}
