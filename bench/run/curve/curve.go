// Package curve arranges the results of a record as lines of a chart. Results that differ only in
// size form a curve. Placements that nearly coincide are drawn as one curve. Worlds of different numbers
// of ranks form a scaling. Judgement and pages read the same curves.
package curve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Curve holds the results that differ only in size: one line of a chart and one block of a table.
type Curve struct {
	// Name is the collective with the traits that distinguish this curve from others of the same
	// collective.
	Name       string
	Collective string
	Rows       []*record.Result
	// Also has in-place results that are not drawn because they nearly coincide with the curve. Apart
	// is their largest deviation from the curve, as a share; below 0 if none has a time.
	Also  []*record.Result
	Apart float64
}

// Traits are the properties of a case besides its collective and its size, in words.
func Traits(r *record.Result) []string {
	place := "out of place"
	if r.InPlace {
		place = "in place"
	}
	ranks, nodes := unit.Count(r.Ranks, "rank"), unit.Count(r.Nodes, "node")
	if r.Groups > 1 {
		if r.Stride > 0 {
			ranks += fmt.Sprintf(" %d apart", r.Stride)
		}
		ranks, nodes = fmt.Sprintf("%d groups of %s at once", r.Groups, ranks), unit.Count(r.Nodes, "node")+" each"
	}
	return []string{
		r.Dtype, r.Op, place, ranks, nodes,
		unit.Count(r.GPUsPerProcess, "GPU") + " per process", r.Setup,
	}
}

// Of returns the curves of a record in order of first appearance, each sorted by size.
func Of(rec *record.Record) []Curve {
	return OfRows(rec.Each())
}

// OfRows returns the curves of some results, as Of does.
func OfRows(rows []*record.Result) []Curve {
	keys, of := slice.Group(rows, func(r *record.Result) string { return r.Collective + "\x00" + strings.Join(Traits(r), "\x00") })
	curves := slice.Map(keys, func(key string) Curve { return Curve{Collective: of[key][0].Collective, Rows: of[key]} })
	for i := range curves {
		slices.SortStableFunc(curves[i].Rows, func(a, b *record.Result) int {
			return cmp.Compare(Size(a), Size(b))
		})
		curves[i].Name = Name(curves, i)
	}
	return curves
}

// Size returns the size under which a result is listed: the moved bytes, or the request if nothing
// moved.
func Size(r *record.Result) int64 {
	if r.Bytes > 0 {
		return r.Bytes
	}
	return r.BytesRequested
}

// Name returns the collective with the traits in which its curves differ.
func Name(curves []Curve, i int) string { return NameBy(Traits, curves, i) }

// NameBy returns a name as Name does, with other words for the traits, in the order of Traits.
func NameBy(words func(*record.Result) []string, curves []Curve, i int) string {
	first := curves[i].Rows[0]
	mine, parts := Traits(first), []string{plain.OrUnnamed(curves[i].Collective)}
	for t, word := range words(first) {
		if word != "" && slices.ContainsFunc(curves, func(c Curve) bool { return c.Collective == curves[i].Collective && Traits(c.Rows[0])[t] != mine[t] }) {
			parts = append(parts, word)
		}
	}
	return strings.Join(parts, " ")
}

// Shared lists the traits that all curves have in common, for a subtitle: data type, operator and
// placement.
func Shared(curves []Curve) []string {
	const described = 3 // the world is described elsewhere
	var words []string
	for t := range described {
		all := slice.Where(slice.Map(curves, func(c Curve) string { return Traits(c.Rows[0])[t] }), func(w string) bool { return w != "" })
		if seen := slice.Distinct(all); len(seen) == 1 {
			words = append(words, seen[0])
		}
	}
	return words
}

// Timing holds a result's time per launch, in seconds.
type Timing struct {
	Median, Lo, Hi float64
	Known, Bounded bool
	Sum            *stat.Summary
}

// BurstOf returns the burst time, from which the headline figures are computed.
func BurstOf(r *record.Result) Timing {
	if r.Burst == nil {
		return Timing{}
	}
	return summed(r.Burst.MeanOfRanks)
}

// IsolatedOf returns the time of an isolated launch on the slowest rank.
func IsolatedOf(r *record.Result) Timing {
	if r.Isolated == nil {
		return Timing{}
	}
	return summed(r.Isolated.MaxOfRanks)
}

// summed returns the timing of a summary. Only a positive finite median counts as a time.
func summed(sum *stat.Summary) Timing {
	if sum == nil || !unit.Finite(sum.Median) || sum.Median <= 0 {
		return Timing{}
	}
	t := Timing{Median: sum.Median, Known: true, Sum: sum}
	if sum.Lo != nil && sum.Hi != nil && unit.Finite(*sum.Hi) && *sum.Lo > 0 && *sum.Lo <= t.Median && t.Median <= *sum.Hi {
		t.Lo, t.Hi, t.Bounded = *sum.Lo, *sum.Hi, true
	}
	return t
}

// BusBW returns the bus bandwidth and whether there is one.
func BusBW(r *record.Result) (float64, bool) {
	if r.BusBW == nil || !unit.Finite(*r.BusBW) || *r.BusBW < 0 {
		return 0, false
	}
	return *r.BusBW, true
}

// ManyRanges is the largest number of ranges of cases that a text lists.
const ManyRanges = 12

// Ranges lists cases by collective, each with the sizes they span.
func Ranges(cases []*record.Result) []string {
	var parts []string
	for _, c := range OfRows(cases) {
		lo, hi := Size(c.Rows[0]), Size(c.Rows[len(c.Rows)-1])
		part := c.Name + " " + unit.Bytes(lo)
		if lo != hi {
			part += " to " + unit.Bytes(hi)
		}
		if n := len(c.Rows); n > 1 {
			part += " (" + unit.Count(n, "case") + ")"
		}
		parts = append(parts, part)
	}
	return parts
}

// Label returns the curve's name with the number of ranks, which the name itself has only if curves
// differ in it.
func (c Curve) Label() string {
	r := c.Rows[0]
	if r.Ranks <= 0 || strings.Contains(c.Name, unit.Count(r.Ranks, "rank")) {
		return c.Name
	}
	return c.Name + ", " + unit.Count(r.Ranks, "rank")
}
