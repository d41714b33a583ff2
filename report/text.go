package report

import (
	"fmt"
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

// mostSpoken is how many of the things that a picture names its description names.
const mostSpoken = 20

// spoken is the description of a picture for those who do not see it: a sentence for each
// thing that it names.
type spoken struct {
	first []string
	count int
}

// add counts one thing more. Only the first ones are asked for their sentence.
func (s *spoken) add(sentence func() string) {
	if s.count++; s.count <= mostSpoken {
		s.first = append(s.first, sentence())
	}
}

// or is the description; none if nothing was added.
func (s *spoken) or(none string) string {
	switch more := s.count - len(s.first); {
	case s.count == 0:
		return none
	case more > 0:
		return fmt.Sprintf("%s %d more.", strings.Join(s.first, " "), more)
	}
	return strings.Join(s.first, " ")
}
