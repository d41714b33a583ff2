package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"zbench/bench/record"
)

// Formats of WriteTable.
const (
	FormatTable    = "table"
	FormatMarkdown = "markdown"
)

// noteWidth keeps a line of the terminal table within 120 columns.
const noteWidth = 20

// WriteTable writes all cases as a table for a terminal ("table") or a merge
// request ("markdown"), grouped by collective, with the units beneath. Cases
// that did not end ok are rows too, with the reason beneath.
func WriteTable(w io.Writer, rec *record.Record, format string) error {
	if rec == nil {
		rec = &record.Record{}
	}
	t := textTable(rec)
	var b bytes.Buffer
	var err error
	switch format {
	case FormatTable:
		err = t.terminal(&b)
	case FormatMarkdown:
		err = t.markdown(&b)
	default:
		return fmt.Errorf("unknown table format %q: valid are %s, %s", format, FormatTable, FormatMarkdown)
	}
	if err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// textual is a table as strings.
type textual struct {
	title  string
	head   []string
	align  []tw.Align
	rows   [][]string
	groups []int // index of each collective's first row
	footer []string
}

// textTable prints every case.
func textTable(rec *record.Record) textual {
	t := textual{
		title: tableTitle(rec),
		head:  []string{"collective", "size", "count", "type", "op", "time µs", "±", "algbw", "busbw", "wrong", "notes"},
		align: []tw.Align{
			tw.AlignLeft, tw.AlignRight, tw.AlignRight, tw.AlignLeft, tw.AlignLeft, tw.AlignRight,
			tw.AlignRight, tw.AlignRight, tw.AlignRight, tw.AlignRight, tw.AlignLeft,
		},
	}
	common := commonNotes(rec)
	var beneath footnotes
	for _, c := range curvesOf(rec) {
		if n := len(t.rows); n == 0 || t.rows[n-1][0] != collectiveCell(c.collective) {
			t.groups = append(t.groups, n)
		}
		for _, r := range c.rows {
			notes := slices.DeleteFunc(tableNotes(r), func(n string) bool { return slices.Contains(common, n) })
			t.rows = append(t.rows, textRow(r, beneath.cell(r, notes)))
		}
	}
	t.footer = beneath.lines()
	if len(common) > 0 {
		t.footer = append(t.footer, "All results: "+oneLine(strings.Join(common, ", "))+".")
	}
	t.footer = append(t.footer, "time: median per launch; ±: half its 95 % interval; algbw and busbw in GB/s = 1e9 B/s; sizes IEC.")
	if m := mark(rec); m != "" {
		t.footer = append(t.footer, oneLine(m)+".")
	}
	return t
}

// tableTitle says on what it ran and whether a model decided it.
func tableTitle(rec *record.Record) string {
	return oneLine(strings.Join(nonEmpty(mark(rec), worldText(rec.World)), " · "))
}

func textRow(r *record.Result, notes string) []string {
	row := rowOf(r)
	half := none
	if t := timingOf(r); t.bounded {
		half = fixed((t.hi - t.lo) / 2 / micro)
	}
	wrong := none
	if r.Verified.Wrong != nil {
		wrong = comma(*r.Verified.Wrong)
	}
	cells := []string{
		collectiveCell(r.Collective), printSize(r), row.Count, clip(r.Dtype, 8), orNone(clip(r.Op, 6)),
		row.Median, half, row.AlgBW, row.BusBW, wrong, notes,
	}
	for i := range cells {
		cells[i] = oneLine(cells[i])
	}
	return cells
}

// tableNotes are a row's keywords: those of the page and what has no column here.
func tableNotes(r *record.Result) []string {
	var notes []string
	if r.InPlace {
		notes = append(notes, "in place")
	}
	if r.Verified.State == record.NotVerified && r.Status == record.OK {
		notes = append(notes, "not verified")
	}
	return append(notes, rowNotes(r)...)
}

// commonNotes are those that every result has: they are said once, beneath.
func commonNotes(rec *record.Record) []string {
	var all tally
	results := 0
	for i := range rec.Results {
		if r := &rec.Results[i]; r.Status == record.OK {
			results++
			for _, n := range tableNotes(r) {
				all.add(n)
			}
		}
	}
	return slices.DeleteFunc(all.order, func(n string) bool { return all.count[n] < results })
}

// terminal draws borders, with a rule between collectives.
func (t textual) terminal(w io.Writer) error {
	lines, err := t.render(renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
		Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off}},
	}))
	if err != nil {
		return err
	}
	const header = 2 // the names and the rule beneath
	for _, first := range slices.Backward(t.groups) {
		if at := header + first; first > 0 && at < len(lines) {
			lines = slices.Insert(lines, at, lines[1])
		}
	}
	out := slices.Concat(folded(t.title, 120), []string{""}, lines, []string{""})
	for _, line := range t.footer {
		out = append(out, folded(line, 120)...)
	}
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	_, err = io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// markdown writes a pipe table between a title and the footer as a list.
func (t textual) markdown(w io.Writer) error {
	safe := t
	safe.rows = nil
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = markdownText(c)
		}
		safe.rows = append(safe.rows, cells)
	}
	lines, err := safe.render(renderer.NewMarkdown())
	if err != nil {
		return err
	}
	out := append([]string{"**" + markdownText(t.title) + "**", ""}, lines...)
	out = append(out, "")
	for _, line := range t.footer {
		out = append(out, "- "+markdownText(line))
	}
	_, err = io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// render lets tablewriter lay the cells out and returns the lines.
func (t textual) render(r tw.Renderer) ([]string, error) {
	var b bytes.Buffer
	table := tablewriter.NewTable(&b, tablewriter.WithRenderer(r), tablewriter.WithConfig(tablewriter.Config{
		Header: tw.CellConfig{
			Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
			Alignment:  tw.CellAlignment{PerColumn: t.align},
		},
		Row: tw.CellConfig{
			Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone},
			Alignment:  tw.CellAlignment{PerColumn: t.align},
		},
	}))
	table.Header(t.head)
	for _, row := range t.rows {
		// Append keeps the slice it is given; these are never written again.
		if err := table.Append(row); err != nil {
			return nil, err
		}
	}
	if err := table.Render(); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n"), nil
}
