package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// maxRows is the largest number of rows in a table on a terminal.
const maxRows = 10

// Shown returns the result as a document.
func (d *Document) Shown(commands ...document.Command) *document.Document {
	out := &document.Document{
		Command: "trace", Value: d, CSV: d.csv, Title: "What a job sent", Lead: d.lead(), State: d.State, Findings: d.Findings, Most: 12, Beneath: true,
		Next: commands,
		Foot: "Sizes are rccl-tests': the larger buffer of a rank that has all of it. Kernel times include waiting for peers and are no bandwidth.",
	}
	if d.simulated {
		out.Simulate()
	}
	sent, rest := d.sentTable(maxRows)
	if rest > 0 {
		sent.Notes = append(sent.Notes, fmt.Sprintf("%s more are in trace.json and on the page.", unit.Count(int64(rest), "kind")))
	}
	if len(d.Sent) > 0 {
		out.Add("sent", "What was sent", document.Sheet{Table: sent, Label: "What was sent"}).Show(document.Brief)
		all, _ := d.sentTable(len(d.Sent))
		out.Results("What was sent", document.Sheet{Table: all, Label: "What was sent", Role: document.ResultsID}).Show(document.Page)
	}
	if w := d.waitingTable(); w != nil {
		out.Add("waiting", "Waiting and transfer", document.Sheet{Table: *w, Label: "Waiting and transfer by rank"}).Show(document.Everywhere)
	}
	if o := d.overlapTable(); o != nil {
		out.Add("overlap", "Hidden and exposed", document.Sheet{Table: *o, Label: "Hidden and exposed communication"}).Show(document.Everywhere)
	}
	if len(d.timeline.Lanes) > 0 {
		out.Add("step", "A step", d.timeline).Show(document.Page)
	}
	blocks := slice.Map(commands, func(c document.Command) document.Block { return c })
	out.Add("measure", "What to measure", blocks...).Show(document.Page)
	ranks := table.Numbers("rank", "calls", "kernels without bytes", "damaged")
	ranks.Columns = append(ranks.Columns, table.Column{Name: "host"}, table.Column{Name: "file"})
	for _, r := range d.Ranks {
		ranks.Add(Number(r.Rank), strconv.Itoa(r.Calls), strconv.Itoa(r.Unnamed), strconv.Itoa(r.Damaged), plain.Line(r.Host), plain.Line(r.File))
	}
	out.Fold("ranks", "Ranks in the input", document.Sheet{Table: ranks, Label: "Ranks"})
	return out
}

func (d *Document) lead() string {
	parts := []string{plain.Line(d.Format)}
	if d.Device != "" {
		parts = append(parts, plain.Line(d.Device))
	}
	if d.World > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", len(d.Ranks), unit.Count(int64(d.World), "rank")))
	}
	return strings.Join(parts, ", ")
}

// sentTable returns the kinds of calls with the most bytes, by group, and the number of omitted
// kinds.
func (d *Document) sentTable(most int) (table.Table, int) {
	t := table.Table{By: []string{"group"}, Rule: true, Columns: []table.Column{{Name: "collective"}, {Name: "type"}, {Name: "size", Right: true}, {Name: "bytes", Right: true}, {Name: "calls", Right: true}, {Name: "per step", Right: true}}}
	list := slices.Clone(d.Sent)
	slices.SortStableFunc(list, func(a, b Sent) int { return -cmp.Compare(a.weight(), b.weight()) })
	rest := max(len(list)-most, 0)
	list = list[:len(list)-rest]
	slices.SortStableFunc(list, func(a, b Sent) int { return strings.Compare(a.Group, b.Group) })
	for _, s := range list {
		size, exact, per := unit.None, unit.None, unit.None
		if s.Bytes != nil {
			size, exact = unit.Bytes(*s.Bytes), unit.Comma(*s.Bytes)
		}
		if s.PerStep != nil {
			per = strconv.FormatFloat(*s.PerStep, 'g', 4, 64)
		}
		t.AddTo(plain.Line(s.Group), plain.Line(s.Collective), cmp.Or(s.Dtype, unit.None), size, exact, unit.Comma(int64(s.Calls)), per)
	}
	return t, rest
}

func (s *Sent) weight() float64 {
	if s.Bytes == nil {
		return -1
	}
	return float64(*s.Bytes) * float64(s.Calls)
}

func (d *Document) waitingTable() *table.Table {
	if d.Waiting == nil {
		return nil
	}
	t := table.Numbers("rank", "kernels", "waiting", "share", "transfer", "came last")
	for _, r := range d.Waiting.Ranks[:min(len(d.Waiting.Ranks), maxRows)] {
		t.Add(strconv.Itoa(r.Rank), unit.Seconds(r.Kernel), unit.Seconds(r.Waited), unit.Percent(share(r.Waited, r.Kernel)), unit.Seconds(r.Transfer), strconv.Itoa(r.Last))
	}
	t.Notes = moreRanks(len(d.Waiting.Ranks))
	return &t
}

func (d *Document) overlapTable() *table.Table {
	if len(d.Overlap) == 0 {
		return nil
	}
	t := table.Numbers("rank", "in collectives", "hidden", "exposed", "exposed per step")
	for _, o := range d.Overlap[:min(len(d.Overlap), maxRows)] {
		per := unit.None
		if o.Steps > 0 {
			per = unit.Seconds(o.Exposed / float64(o.Steps))
		}
		t.Add(Number(o.Rank), unit.Seconds(o.Busy), unit.Seconds(o.Hidden), unit.Seconds(o.Exposed), per)
	}
	t.Notes = append(moreRanks(len(d.Overlap)), "Hidden is time in which a kernel that computes ran on the same GPU, by the file's streams.")
	return &t
}

// moreRanks returns a note about the ranks that a table omits.
func moreRanks(all int) []string {
	if all <= maxRows {
		return nil
	}
	return []string{fmt.Sprintf("%d more ranks are in trace.json.", all-maxRows)}
}

func (d *Document) csv() (header []string, rows [][]string) {
	for _, s := range d.Sent {
		row := []string{s.Group, s.Collective, s.Dtype, "", strconv.Itoa(s.Ranks), strconv.Itoa(s.Calls), table.Number(s.PerStep)}
		if s.Bytes != nil {
			row[3] = strconv.FormatInt(*s.Bytes, 10)
		}
		rows = append(rows, row)
	}
	return []string{"group", "collective", "dtype", "bytes", "ranks", "calls", "calls_per_step"}, rows
}

// Params lists the gradients of a step in forward order, with one name and number of elements per
// line. It is empty if they are unknown. Autograd produces them in reverse order.
func (d *Document) Params() string {
	var b strings.Builder
	for _, k := range d.Buckets {
		if b.Len() > 0 || len(k.Tensors) == 0 {
			continue
		}
		b.WriteString("name,elements\n")
		for i, n := range slices.Backward(k.Tensors) {
			fmt.Fprintf(&b, "tensor%d,%d\n", len(k.Tensors)-1-i, n)
		}
	}
	return b.String()
}
