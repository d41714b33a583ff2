package results

import (
	"cmp"
	"fmt"

	"zbench/bench/document"
	"zbench/bench/muon"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/unit"
)

// muonInto shows a step of Muon: a page shape by shape, text in two tables.
func muonInto(d *document.Document, rec *record.Record) {
	d.Title, d.Banners = muonTitle(rec), muonBanners(rec)
	d.Foot = "Rates are decimal: 1 TFLOP/s = 1e12 operations per second, 1 GB/s = 1e9 B/s. A ratio above 1 is in favour of our kernel."
	d.Sections = muonShapes(rec)
	if last := len(d.Sections) - 1; last >= 0 {
		d.Sections[last].Blocks = append(d.Sections[last].Blocks, document.Listed("small", muonFooter(rec))...)
	}
	var sheets []document.Block
	for _, t := range MuonResults(rec) {
		sheets = append(sheets, document.Sheet{Table: t})
	}
	d.Add("results", "", sheets...).Show(document.Brief)
	d.Add("setup", "Set-up", document.Facts(muonFacts(rec)))
}

// muonShapes are the shapes, each with its speeds and what shows that they are of
// right results.
func muonShapes(rec *record.Record) []document.Section {
	var out []document.Section
	for _, rows := range muonRows(rec) {
		id := fmt.Sprintf("shape-%d", len(out)+1)
		one := document.Section{Name: id, ID: id, Title: plain.Line(muon.ShapeOf(rows[0]).Title())}
		if !rec.Emulated() {
			one.Blocks = append(one.Blocks, document.Sheet{Table: muonFigures(rows), Label: "Speed, " + one.Title, Caption: "Speed", Role: document.ResultsID})
		}
		if t := muonChecks(rows); len(t.Groups) > 0 {
			one.Blocks = append(one.Blocks, document.Sheet{Table: t, Label: "Numerics, " + one.Title, Caption: "Numerics", Role: document.ResultsID})
		}
		out = append(out, one)
	}
	return out
}

// muonRows are the rows by shape, in the order of the record.
func muonRows(rec *record.Record) [][]*record.Kernel {
	var shapes [][]*record.Kernel
	at := map[muon.Shape]int{}
	for i := range rec.Kernels {
		k := &rec.Kernels[i]
		s := muon.ShapeOf(k)
		if _, known := at[s]; !known {
			at[s] = len(shapes)
			shapes = append(shapes, nil)
		}
		shapes[at[s]] = append(shapes[at[s]], k)
	}
	return shapes
}

// muonBanners are what must be known before any number is read.
func muonBanners(rec *record.Record) []document.Banner {
	out := edited(rec)
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

func muonFacts(rec *record.Record) []document.Fact {
	k, seed := spec.Kernels{}, uint64(0)
	if rec.OfKernels() {
		k, seed = *rec.Spec.Kernels, rec.Spec.Seed
	}
	return []document.Fact{
		{Term: "zbench", Text: rec.Tool.Version},
		{Term: "made", Text: rec.Created.Format("2006-01-02 15:04:05 UTC")},
		{Term: "device", Text: muonDevice(rec)},
		{Term: "libraries", Text: rec.Source.Backend},
		{Term: "coefficients", Text: k.Coefficients},
		{Term: "preset", Text: cmp.Or(k.Preset, "none: shapes were given")},
		{Term: "seed", Text: fmt.Sprint(seed)},
	}
}
