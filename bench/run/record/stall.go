package record

import (
	"cmp"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// Stall is a run of rows of an imported table, adjacent in size and placement, that take far longer
// than the table's other rows allow: the library or the network stood still. They are not part of a
// curve.
type Stall struct {
	// Rows are the results, by size, out of place before in place.
	Rows []*Result
	// Factor is the largest ratio of a row's time to the time that the other rows allow.
	Factor float64
}

// Bounds of a stall.
const (
	// stallFactor exceeds the ratio of sizes that a library always handles badly: up to 7.0 times
	// the time that other rows allow (256 KiB to 1 MiB on 16 GH200,
	// boeschf/nccl-benchmark-on-alps-2025).
	stallFactor = 10.0
	// erraticFactor is the limit for a run whose two placements differ by more than the constant
	// erratic, in the median over its sizes. A library's regular behaviour affects both placements:
	// there the placements differ by 0.03.
	erraticFactor = 4.0
	erratic       = 0.1
	// stallEdge is the limit for the first and the last row, which only partly fell into the stall.
	stallEdge = 1.5
	stallRows = 2
)

// Stalls finds the stalls in a record of imported tables. A larger message does no less work, and a
// message can be sent in pieces. So no row should take longer than a row of a larger size. Compared
// with a row of a smaller size, its time should at most grow in proportion to the size, with some
// tolerance.
func (r *Record) Stalls() (all []Stall) {
	var rows []row
	for _, x := range r.Each() {
		if seconds, ok := x.Seconds(); x.Status == OK && ok && x.Isolated == nil && (x.Ranks != 1 || !x.InPlace) { // zbench's own measurements have samples and are repeated; one rank moves nothing in place
			rows = append(rows, row{x, seconds})
		}
	}
	order, of := slice.Group(rows, func(x row) CurveKey {
		k := x.CurveKey()
		k.InPlace = false // both placements are rows of one table
		return k
	})
	return slices.Concat(slice.Map(order, func(k CurveKey) []Stall { return stalls(of[k]) })...)
}

type row struct {
	*Result
	seconds float64
}

func stalls(rows []row) (all []Stall) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), slice.AsInt(a.InPlace)-slice.AsInt(b.InPlace))
	})
	over := make([]float64, len(rows))
	for i, x := range rows {
		for _, y := range rows {
			if y.Result != x.Result {
				over[i] = max(over[i], x.seconds/(y.seconds*max(1, float64(x.Bytes)/float64(y.Bytes))))
			}
		}
	}
	var runs [][2]int
	for from := 0; from < len(rows); from++ {
		if over[from] < erraticFactor {
			continue
		}
		to := from
		for to < len(rows) && over[to] >= stallEdge {
			to++
		}
		for from > 0 && over[from-1] >= stallEdge {
			from--
		}
		runs = append(runs, [2]int{from, to})
		from = to
	}
	slow := func(run [2]int) bool {
		of := rows[run[0]:run[1]]
		return len(of) >= stallRows && (slices.Max(over[run[0]:run[1]]) >= stallFactor || isErratic(of))
	}
	for i := 0; i < len(runs); i++ {
		run := runs[i]
		for j := len(runs) - 1; j > i; j-- {
			if slow(runs[j]) && oneStall(rows, run, runs[j]) {
				run[1], i = runs[j][1], j
				break
			}
		}
		if !slow(run) {
			continue
		}
		all = append(all, Stall{
			Factor: slices.Max(over[run[0]:run[1]]),
			Rows:   slice.Map(rows[run[0]:run[1]], func(x row) *Result { return x.Result }),
		})
	}
	return all
}

// oneStall reports whether two runs are one stall. A straight line joins the row before both runs
// and the row after both. The runs are one stall if every row between them takes clearly longer
// than this line predicts.
func oneStall(rows []row, a, b [2]int) bool {
	if a[0] == 0 || b[1] == len(rows) {
		return false // there is no row on one side
	}
	return !slices.ContainsFunc(rows[a[1]:b[0]], func(x row) bool { return x.seconds < stallEdge*chord(rows[a[0]-1], rows[b[1]], x) })
}

// chord returns a row's time on the straight line between two others.
func chord(a, b, x row) float64 {
	return a.seconds + (b.seconds-a.seconds)*float64(x.Bytes-a.Bytes)/max(1, float64(b.Bytes-a.Bytes))
}

// isErratic reports whether the two placements of a run's sizes differ.
func isErratic(rows []row) bool {
	var apart []float64
	for i := 1; i < len(rows); i++ {
		if rows[i].Bytes == rows[i-1].Bytes && rows[i].InPlace != rows[i-1].InPlace {
			apart = append(apart, math.Abs(math.Log(rows[i].seconds/rows[i-1].seconds)))
		}
	}
	slices.Sort(apart)
	return len(apart) > 1 && apart[len(apart)/2] > erratic
}
