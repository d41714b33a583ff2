package results

import (
	"math"
	"strconv"
	"strings"

	"zbench/bench/unit"
)

// Scales of the tables: rccl-tests prints µs and GB/s, and so do these.
const (
	micro = 1e-6
	giga  = 1e9
)

// fixed prints v with two decimals and thousands separators, so that a column
// lines up. A small value that would read as zero keeps its digits.
func fixed(v float64) string {
	if !unit.Finite(v) {
		return unit.None
	}
	if v != 0 && math.Abs(v) < 0.005 {
		return unit.Digits(v)
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	whole, frac, _ := strings.Cut(s, ".")
	sign := ""
	if v < 0 {
		sign = "-"
	}
	return sign + unit.Separate(whole) + "." + frac
}

// gigas prints *v in units of 10⁹, or the sign for no figure.
func gigas(v *float64) string {
	if v == nil {
		return unit.None
	}
	return fixed(*v / giga)
}

// tally counts equal strings in order of first appearance.
type tally struct {
	order []string
	count map[string]int
}

func (t *tally) add(s string) {
	if t.count == nil {
		t.count = map[string]int{}
	}
	if t.count[s] == 0 {
		t.order = append(t.order, s)
	}
	t.count[s]++
}
