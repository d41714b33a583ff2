package results

import (
	"fmt"
	"slices"

	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// footnotes numbers the texts that do not fit into a row. Texts that differ
// only in their figures share a number.
type footnotes struct{ messageGroups }

// ref returns the text's number in brackets.
func (f *footnotes) ref(text string) string {
	k := f.add(text)
	return fmt.Sprintf("[%d]", slices.Index(f.order, k)+1)
}

// lines are the texts with their numbers.
func (f *footnotes) lines() []string {
	out := make([]string, len(f.order))
	for i, k := range f.order {
		out[i] = fmt.Sprintf("[%d] %s", i+1, plain.Line(k.text()))
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return unit.None
	}
	return s
}

// reasonOf says why a case did not end ok, as far as the record knows.
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
