package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/show/table"
)

// Row is a line of the sensitivity table.
type Row struct {
	recommend.Candidate
	// Setting is the setting in the trainer's unit. Marks says what is special about the setting.
	Setting, Marks string
	// Cost is how much longer a step is than with the best size, as a share of the best step.
	Cost float64
}

// column is a column of the table: its heading, and the function that prints its cell of a row.
type column struct {
	title string
	cell  func(r Row) string
}

var columns = []column{
	{"setting", func(r Row) string { return r.Setting }},
	{elementsTitle, func(r Row) string { return recommend.Count(r.Elements) }},
	{"buckets", func(r Row) string { return unit.Number(float64(r.Buckets)) }},
	{"largest", func(r Row) string {
		if r.Extrapolated {
			return unit.Bytes(r.LargestBytes) + "*"
		}
		return unit.Bytes(r.LargestBytes)
	}},
	{"busbw", func(r Row) string { return unit.Rate(r.BusBW) }},
	{"exposed bwd", func(r Row) string { return unit.Seconds(r.ExposedBackward) }},
	{"exposed fwd", func(r Row) string { return unit.Seconds(r.ExposedForward + r.After) }},
	{"step", func(r Row) string { return unit.Seconds(r.Step) }},
	{"longer", func(r Row) string { return Over(&r.Candidate, r.Cost) }},
	{"", func(r Row) string { return r.Marks }},
}

// elementsTitle heads the column of elements. The column is left out if the knob itself counts elements.
const elementsTitle = "elements"

// Table returns the rows as text: numbers, and the marks of a setting.
func (d *Document) Table(rows []Row) table.Table {
	t := table.Table{Indent: 2, Groups: []table.Group{{}}}
	shown := slice.Where(columns, func(c column) bool { return c.title != elementsTitle || d.Answer.Unit != trainer.Elements })
	for _, c := range shown {
		t.Columns = append(t.Columns, table.Column{Name: c.title, Right: c.title != ""})
	}
	for _, r := range rows {
		t.Add(slice.Map(shown, func(c column) string { return c.cell(r) })...)
	}
	return t
}

// reach is the largest ratio of the answer to a shown setting. Latency dominates the steps of smaller
// settings.
const reach = 256

// Floor returns the smallest setting worth showing: a fraction of the answer, or less if the default or the
// user's own setting is smaller.
func (d *Document) Floor() int64 {
	a := &d.Answer
	low := a.Elements / reach
	for _, c := range []*recommend.Candidate{a.Default, a.Current} {
		if c != nil && c.Elements > 0 {
			low = min(low, c.Elements)
		}
	}
	return low
}

// Rows selects the rows to show: all rows with a mark, and up to `wanted` rows spread evenly over the
// octaves.
func (d *Document) Rows(wanted int) []Row {
	a := &d.Answer
	if a.Verdict != recommend.Recommended || len(a.Table) == 0 {
		return nil
	}
	chosen := map[int]bool{}
	lo, hi := math.Log(float64(max(1, a.Table[0].Elements, d.Floor()))), math.Log(float64(a.Table[len(a.Table)-1].Elements))
	for i := range wanted {
		want := lo + (hi-lo)*float64(i)/float64(max(1, wanted-1))
		chosen[nearest(a.Table, want)] = true
	}
	var rows []Row
	for i, c := range a.Table {
		if chosen[i] || len(d.marks(c.Elements)) > 0 {
			rows = append(rows, d.row(c))
		}
	}
	for _, x := range []*recommend.Candidate{a.Default, a.Current} {
		if x != nil && !slices.ContainsFunc(rows, func(r Row) bool { return r.Elements == x.Elements && r.Step == x.Step }) {
			rows = append(rows, d.row(*x))
		}
	}
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(x.Elements, y.Elements) })
	return rows
}

// `nearest` returns the index of the nearest candidate on a logarithmic scale.
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
	a, marks := &d.Answer, d.marks(c.Elements)
	r := Row{Candidate: c, Setting: d.Amount(c.Elements), Cost: a.Cost(&c)}
	if a.Keep && c.Elements == a.Elements {
		r.Cost = max(r.Cost, a.Gain) // Gain includes the trainer's behaviour if nothing is set
	}
	if a.Default != nil && c == *a.Default {
		marks = append(marks, "default")
	}
	if a.Current != nil && c == *a.Current {
		if marks = append(marks, "yours"); len(a.Changes) > 0 {
			marks = []string{"yours, without " + d.lacking()}
		}
	}
	r.Marks = strings.Join(marks, ", ")
	return r
}

// lacking lists the switches that the answer relies on but the user has not set.
func (d *Document) lacking() string {
	t, err := trainer.ByName(d.Answer.Trainer)
	if err != nil {
		return ""
	}
	return strings.Join(slice.Map(t.Switches(d.Answer.Run, d.Answer.Advised), func(s trainer.Switch) string { return s.Name }), " and ")
}

// marks returns the words in the last column of a setting.
func (d *Document) marks(setting int64) (marks []string) {
	a := &d.Answer
	if setting == a.Elements {
		marks = append(marks, d.verb()+" this")
	}
	for _, r := range a.Within {
		if len(a.Within) > fewRanges && r != *a.Plateau || !d.compares() {
			continue // the list of ranges shows this range
		}
		if setting == r.Lo && setting != a.Elements {
			marks = append(marks, strings.ToLower(WithinTitle())+" begins")
		}
		if setting == r.Hi && setting != a.Elements {
			marks = append(marks, strings.ToLower(WithinTitle())+" ends")
		}
	}
	if a.Single != nil && setting == a.Single.Elements {
		marks = append(marks, fewest(a.Single))
	}
	return marks
}

// fewest returns the words for the largest setting. The largest setting may make more than one bucket:
// experts have their own buckets, and XLA limits how many calls it combines.
func fewest(c *recommend.Candidate) string {
	if c != nil && c.Buckets > 1 {
		return "fewest buckets"
	}
	return "one bucket"
}

// Note explains the table's columns.
func (d *Document) Note(rows []Row) string {
	within := unit.Share(recommend.PlateauWidth)
	note := "step: as measured, with the computation as given. longer: than with the best size, as measured or on average over " +
		d.averaged() + ", whichever is more."
	if d.compares() {
		note += " Within " + within + ": at most " + within + " longer."
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Extrapolated }) {
		note += " *: beyond the sizes that were swept."
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Unfounded != "" }) {
		note += " " + unknown + ": not known, as most of the messages are beyond the sweep, or one run's slow times at one or two sizes decide."
	}
	return note
}

// `averaged` lists the scenarios that the means are taken over.
func (d *Document) averaged() string {
	if d.Answer.Observed != nil {
		return unit.Count(int64(len(d.Answer.Scenarios)), "case") + " that the observed steps allow"
	}
	network := slice.Map(d.Answer.Scenarios, func(s recommend.Scenario) float64 { return s.Network })
	compute := slice.Map(d.Answer.Scenarios, func(s recommend.Scenario) float64 { return s.Compute })
	if len(network) == 0 {
		return "slower networks and other computation times"
	}
	if first := d.Answer.Scenarios[0]; slices.Max(network) == slices.Min(network) && (first.Network != 1 || first.Contention > 0) {
		messages := "as fast as measured alone"
		if first.Network != 1 {
			messages = fmt.Sprintf("take %.3g times as long", first.Network)
		}
		return fmt.Sprintf("%d cases (--contention, as measured: messages %s, computation beside them %s longer; computation %g to %g times as long)",
			len(network), messages, unit.Percent(first.Contention), slices.Min(compute), slices.Max(compute))
	}
	return fmt.Sprintf("%d cases (messages 1 to %g times as slow, computation %g to %g times as long)",
		len(network), slices.Max(network), slices.Min(compute), slices.Max(compute))
}
