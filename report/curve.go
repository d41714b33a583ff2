package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// curve is the results that differ only in size: one line of a chart and one
// block of a table.
type curve struct {
	// name is the collective and whatever tells this curve from the others of
	// the same collective.
	name       string
	collective string
	rows       []*record.Result
	// also are the in-place results this curve stands for too, where they are
	// not drawn; apart is how far they are from it at most, as a share.
	also  []*record.Result
	apart float64
}

// traits are what a case has besides its collective and its size, in words.
func traits(r *record.Result) []string {
	place := "out of place"
	if r.InPlace {
		place = "in place"
	}
	ranks, nodes := plural(int64(r.Ranks), "rank"), plural(int64(r.Nodes), "node")
	if r.Groups > 1 {
		if r.Stride > 0 {
			ranks += fmt.Sprintf(" %d apart", r.Stride)
		}
		ranks, nodes = fmt.Sprintf("%d groups of %s at once", r.Groups, ranks), plural(int64(r.Nodes), "node")+" each"
	}
	return []string{
		r.Dtype, r.Op, place, ranks, nodes,
		plural(int64(r.GPUsPerProcess), "GPU") + " per process", r.Setup,
	}
}

// curvesOf groups the results, in order of first appearance, each by size.
func curvesOf(rec *record.Record) []curve {
	rows := make([]*record.Result, len(rec.Results))
	for i := range rec.Results {
		rows[i] = &rec.Results[i]
	}
	return curvesOfRows(rows)
}

func curvesOfRows(rows []*record.Result) []curve {
	var curves []curve
	index := map[string]int{}
	for _, r := range rows {
		key := r.Collective + "\x00" + strings.Join(traits(r), "\x00")
		at, known := index[key]
		if !known {
			at = len(curves)
			index[key] = at
			curves = append(curves, curve{collective: r.Collective})
		}
		curves[at].rows = append(curves[at].rows, r)
	}
	for i := range curves {
		slices.SortStableFunc(curves[i].rows, func(a, b *record.Result) int {
			return cmp.Compare(sizeOf(a), sizeOf(b))
		})
		curves[i].name = curveName(curves, i)
	}
	return curves
}

// sizeOf is the size a result is listed under: what moved, or what was asked
// for where nothing did.
func sizeOf(r *record.Result) int64 {
	if r.Bytes > 0 {
		return r.Bytes
	}
	return r.BytesRequested
}

// curveName adds to the collective those traits in which its curves differ.
func curveName(curves []curve, i int) string {
	mine := traits(curves[i].rows[0])
	parts := []string{orUnnamed(curves[i].collective)}
	for t, word := range mine {
		for _, other := range curves {
			if other.collective == curves[i].collective && traits(other.rows[0])[t] != word && word != "" {
				parts = append(parts, word)
				break
			}
		}
	}
	return strings.Join(parts, " ")
}

// shared lists the traits all curves have in common, for a subtitle: data
// type, operator and placement.
func shared(curves []curve) []string {
	if len(curves) == 0 {
		return nil
	}
	const described = 3 // the world is described elsewhere
	var words []string
	for t := range described {
		var seen tally
		for _, c := range curves {
			if w := traits(c.rows[0])[t]; w != "" {
				seen.add(w)
			}
		}
		if len(seen.order) == 1 {
			words = append(words, seen.order[0])
		}
	}
	return words
}

// timing is what is known of a result's time per launch, in seconds.
type timing struct {
	median, lo, hi float64
	known, bounded bool
	sum            *stat.Summary
}

// timingOf reads the burst time, which is behind the headline figures.
func timingOf(r *record.Result) timing {
	if r.Burst == nil {
		return timing{}
	}
	return summed(r.Burst.MeanOfRanks)
}

// isolatedOf reads the time of one launch alone, that of the slowest rank.
func isolatedOf(r *record.Result) timing {
	if r.Isolated == nil {
		return timing{}
	}
	return summed(r.Isolated.MaxOfRanks)
}

// summed reads a summary. A time that is not a positive finite number is no time.
func summed(sum *stat.Summary) timing {
	if sum == nil || !finite(sum.Median) || sum.Median <= 0 {
		return timing{}
	}
	t := timing{median: sum.Median, known: true, sum: sum}
	if sum.Lo != nil && sum.Hi != nil && finite(*sum.Hi) && *sum.Lo > 0 && *sum.Lo <= t.median && t.median <= *sum.Hi {
		t.lo, t.hi, t.bounded = *sum.Lo, *sum.Hi, true
	}
	return t
}

// busBWOf returns the bus bandwidth and whether there is one.
func busBWOf(r *record.Result) (float64, bool) {
	if r.BusBW == nil || !finite(*r.BusBW) || *r.BusBW < 0 {
		return 0, false
	}
	return *r.BusBW, true
}
