package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Units of the tables, as in rccl-tests: µs and GB/s.
const (
	micro = 1e-6
	giga  = 1e9
)

// fixed prints v with three significant digits, and from 100 on as a whole number with thousands
// separators.
func fixed(v float64) string {
	if !unit.Finite(v) {
		return unit.None
	}
	text := unit.Digits(math.Abs(v))
	whole, part, _ := strings.Cut(text, ".")
	text = unit.Separate(whole)
	if part != "" {
		text += "." + part
	}
	if v < 0 {
		text = "-" + text
	}
	return text
}

// gigas prints *v in units of 10⁹, or the sign for a missing figure.
func gigas(v *float64) string {
	if v == nil {
		return unit.None
	}
	return fixed(*v / giga)
}

// footnotes numbers the texts that do not fit into a row. Texts that differ only in their figures share a
// number.
type footnotes struct{ messageGroups }

// ref returns the text's number in brackets.
func (f *footnotes) ref(text string) string {
	k := f.add(text)
	return fmt.Sprintf("[%d]", slices.Index(f.order, k)+1)
}

// lines returns the texts with their numbers.
func (f *footnotes) lines() []string {
	out := make([]string, len(f.order))
	for i, k := range f.order {
		out[i] = fmt.Sprintf("[%d] %s", i+1, plain.Line(k.text()))
	}
	return out
}

// reasonOf returns the reason why a case did not end ok, as far as the record has it.
func reasonOf(r *record.Result) string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.Verified.Reason != "":
		return r.Verified.Reason
	case r.Verified.Wrong != nil && *r.Verified.Wrong > 0:
		return unit.Count(*r.Verified.Wrong, "wrong element")
	}
	return "no reason was recorded"
}
