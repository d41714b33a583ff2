package muon

import (
	"cmp"
	"fmt"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// show adds a step of Muon to a document. A page has one section per shape, and text has
// two tables.
func show(d *document.Document, rec *record.Record) {
	d.Title, d.Banners = title(rec), append(d.Banners, banners(rec)...)
	d.Foot = "Rates are decimal: 1 TFLOP/s = 1e12 operations per second, 1 GB/s = 1e9 B/s. A ratio above 1 is in favour of our kernel."
	d.Sections = sections(rec)
	if last := len(d.Sections) - 1; last >= 0 {
		d.Sections[last].Blocks = append(d.Sections[last].Blocks, document.Listed("small", footer(rec))...)
	}
	sheets := func(all []table.Table) []document.Block {
		return slice.Map(all, func(t table.Table) document.Block { return document.Sheet{Table: t} })
	}
	d.Add("results", "", sheets(results(rec))...).Show(document.Brief &^ document.Terminal)
	d.Add("short", "", sheets(short(rec))...).Show(document.Terminal)
	d.Add("setup", "Set-up", document.Facts(facts(rec)))
}

// sections returns one section per shape, with its speeds and its checks.
func sections(rec *record.Record) []document.Section {
	var out []document.Section
	for _, rows := range rowsByShape(rec) {
		id := fmt.Sprintf("shape-%d", len(out)+1)
		one := document.Section{Name: id, ID: id, Title: plain.Line(ShapeOf(rows[0]).Title())}
		if !rec.Emulated() {
			speeds := figures(rows).Only(func(name string, _ []string) bool { return name != "shape" && name != "batch" }) // the section's title has them
			one.Blocks = append(one.Blocks, document.Sheet{Table: speeds, Label: "Speed, " + one.Title, Caption: "Speed", Role: document.ResultsID})
		}
		if t := checks(rows, every); len(t.Groups) > 0 {
			one.Blocks = append(one.Blocks, document.Sheet{Table: t, Label: "Numerics, " + one.Title, Caption: "Numerics", Role: document.ResultsID})
		}
		out = append(out, one)
	}
	return out
}

// rowsByShape groups the rows by shape, in the order of the record.
func rowsByShape(rec *record.Record) [][]*record.Kernel {
	order, of := slice.Group(rec.KernelRows(), ShapeOf)
	return slice.Map(order, func(s Shape) []*record.Kernel { return of[s] })
}

// banners returns statements that a reader must see before any figure.
func banners(rec *record.Record) []document.Banner {
	var out []document.Banner
	if rec.Emulated() {
		out = append(out, document.Banner{Kind: "simulated", Label: "RESULTS CHECKED, NOT TIMED", Text: "The loopback runs the kernels thread by thread: their results are checked, their times are not shown."})
	}
	open, wrong := 0, map[record.Check]bool{}
	for _, k := range rec.Kernels {
		if k.Status == record.Interrupted || k.Status == record.Skipped || k.Status == record.Failed {
			open++
		}
		for _, c := range k.Verified.Checks {
			if !c.OK() {
				wrong[c] = true
			}
		}
	}
	if open > 0 {
		out = append(out, document.Banner{Kind: "wrong", Label: "INTERRUPTED", Text: fmt.Sprintf("%d of %d rows are not finished; the notes below the tables say why.", open, len(rec.Kernels))})
	}
	if len(wrong) > 0 {
		out = append(out, document.Banner{Kind: "wrong", Label: "WRONG DATA", Text: unit.Count(int64(len(wrong)), "check") + " found a larger error than the bar allows: do not use the speeds of these rows."})
	}
	return out
}

func facts(rec *record.Record) []document.Fact {
	k, seed := spec.Kernels{}, uint64(0)
	if rec.OfKernels() {
		k, seed = *rec.Spec.Kernels, rec.Spec.Seed
	}
	return []document.Fact{
		{Term: "zbench", Text: rec.Tool.Version},
		{Term: "made", Text: rec.Created.Format("2006-01-02 15:04:05 UTC")},
		{Term: "device", Text: rec.DeviceName()},
		{Term: "libraries", Text: rec.Source.Backend},
		{Term: "coefficients", Text: k.Coefficients},
		{Term: "preset", Text: cmp.Or(k.Preset, "none: shapes were given")},
		{Term: "seed", Text: fmt.Sprint(seed)},
	}
}
