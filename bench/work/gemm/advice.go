package gemm

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// Point is the time of a model's matrix products at one hidden size.
type Point struct {
	Hidden int64
	// Flop is the number of operations in a microbatch. Seconds is the time that they take.
	Flop, Seconds float64
}

// Rate returns the rate in operations per second.
func (p Point) Rate() float64 { return p.Flop / p.Seconds }

// Step is the distance between neighbouring hidden sizes.
const Step = 64

// Hiddens returns a hidden size with up to k neighbours on each side, in ascending order.
func Hiddens(hidden int64, k int) []int64 {
	var all []int64
	for i := -int64(k); i <= int64(k); i++ {
		if h := hidden + i*Step; h > 0 {
			all = append(all, h)
		}
	}
	return all
}

// worthwhile is the smallest gain of the rate for which a larger hidden size is recommended.
const worthwhile = 0.03

// Better returns the next larger hidden size whose rate is at least 3 % higher, and the gain as a
// share. It returns false if there is none.
func Better(points []Point, hidden int64) (p Point, gain float64, ok bool) {
	at, known := find(points, hidden)
	if !known {
		return p, 0, false
	}
	for _, o := range sorted(points) {
		if gain := o.Rate()/at.Rate() - 1; o.Hidden > hidden && gain >= worthwhile {
			return o, gain, true
		}
	}
	return p, 0, false
}

// Cheaper returns the hidden sizes with more operations than the given one that take no more time.
func Cheaper(points []Point, hidden int64) []Point {
	at, known := find(points, hidden)
	return slice.Where(sorted(points), func(o Point) bool { return known && o.Flop > at.Flop && o.Seconds <= at.Seconds })
}

// Advise compares a hidden size with its neighbours, in three sentences. rate formats a rate.
func Advise(points []Point, hidden int64, rate func(float64) string) []string {
	at, known := find(points, hidden)
	if !known || len(points) < 2 {
		return nil
	}
	best := slices.MaxFunc(points, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Rate(), b.Rate()), cmp.Compare(b.Hidden, a.Hidden))
	})
	lines := []string{fmt.Sprintf("Hidden size %d runs at %s; the best of %d near by is %d at %s.", hidden, rate(at.Rate()), len(points), best.Hidden, rate(best.Rate()))}
	next := fmt.Sprintf("No hidden size up to %d has at least 3 %% more TFLOP/s.", sorted(points)[len(points)-1].Hidden)
	if p, gain, ok := Better(points, hidden); ok {
		next = fmt.Sprintf("The next hidden size with at least 3 %% more TFLOP/s is %d: %+.1f %%.", p.Hidden, 100*gain)
	}
	cheaper := "No larger hidden size near by takes as little time."
	if all := Cheaper(points, hidden); len(all) > 0 {
		names := slice.Map(all, func(p Point) string { return fmt.Sprint(p.Hidden) })
		cheaper = "Larger and no slower: " + plain.And(names) + "."
	}
	return append(lines, next, cheaper)
}

func find(points []Point, hidden int64) (Point, bool) {
	i := slices.IndexFunc(points, func(p Point) bool { return p.Hidden == hidden })
	if i < 0 {
		return Point{}, false
	}
	return points[i], true
}

func sorted(points []Point) []Point {
	return slices.SortedFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.Hidden, b.Hidden) })
}
