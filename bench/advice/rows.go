package advice

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/recommend"
	"zbench/bench/unit"
)

// Row is a line of the sensitivity table, and what it shows of a setting.
type Row struct {
	recommend.Candidate
	// Setting is in the trainer's unit, Marks says what is special about it.
	Setting, Marks string
}

// Cells are the row printed, in the order of Columns.
func (r Row) Cells() []string {
	largest := unit.Bytes(r.LargestBytes)
	if r.Extrapolated {
		largest += "*"
	}
	return []string{
		r.Setting, recommend.Count(r.Elements), unit.Number(float64(r.Buckets)), largest, unit.Rate(r.BusBW),
		unit.Seconds(r.ExposedBackward), unit.Seconds(r.ExposedForward + r.After), unit.Seconds(r.Step), "+" + Share(max(0, r.Nominal)), "+" + Share(max(0, r.Score)), r.Marks,
	}
}

// Columns are the headings of the table.
var Columns = []string{
	"setting", "elements", "buckets", "largest", "busbw", "exposed bwd", "exposed fwd", "step", "over best", "mean over best", "",
}

// Rows choose what a person wants to see of the table: what has a mark, and so
// many settings spread evenly over the octaves.
func (d *Document) Rows(wanted int) []Row {
	a := &d.Answer
	if a.Verdict != recommend.Recommended || len(a.Table) == 0 {
		return nil
	}
	chosen := map[int]bool{}
	lo, hi := math.Log(float64(a.Table[0].Elements)), math.Log(float64(a.Table[len(a.Table)-1].Elements))
	for i := range wanted {
		want := lo + (hi-lo)*float64(i)/float64(max(1, wanted-1))
		chosen[nearest(a.Table, want)] = true
	}
	for i, c := range a.Table {
		if marks := d.marks(c.Elements); marks != "" {
			chosen[i] = true
		}
	}
	var rows []Row
	for i, c := range a.Table {
		if chosen[i] {
			rows = append(rows, d.row(c))
		}
	}
	for _, x := range []*recommend.Candidate{a.Default, a.Current} {
		if x != nil && !slices.ContainsFunc(rows, func(r Row) bool { return r.Elements == x.Elements && r.Step == x.Step }) {
			rows = append(rows, d.row(*x))
		}
	}
	slices.SortStableFunc(rows, func(x, y Row) int { return compare(x.Elements, y.Elements) })
	return rows
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// nearest is the index of the candidate nearest on a logarithmic scale.
func nearest(table []recommend.Candidate, want float64) int {
	best, least := 0, math.Inf(1)
	for i, c := range table {
		if far := math.Abs(math.Log(float64(c.Elements)) - want); far < least {
			best, least = i, far
		}
	}
	return best
}

func (d *Document) row(c recommend.Candidate) Row {
	r := Row{Candidate: c, Setting: d.Amount(c.Elements), Marks: d.marks(c.Elements)}
	if d.Answer.Default != nil && c == *d.Answer.Default && !strings.Contains(r.Marks, "default") {
		r.Marks = joined(r.Marks, "default")
	}
	if d.Answer.Current != nil && c == *d.Answer.Current && !strings.Contains(r.Marks, "yours") {
		r.Marks = joined(r.Marks, "yours")
	}
	return r
}

// marks are the words beside a setting.
func (d *Document) marks(setting int64) string {
	a, marks := &d.Answer, ""
	for _, m := range []struct {
		is   bool
		word string
	}{
		{setting == a.Elements, "use this"},
		{setting == a.Plateau.Lo && setting != a.Elements, "within " + Share(recommend.PlateauWidth) + " from here"},
		{setting == a.Plateau.Hi && setting != a.Elements, "within " + Share(recommend.PlateauWidth) + " to here"},
		{a.Single != nil && setting == a.Single.Elements, "one bucket"},
	} {
		if m.is {
			marks = joined(marks, m.word)
		}
	}
	return marks
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}
