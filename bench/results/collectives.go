// Package results makes documents of records. Collectives makes the document of a sweep or an
// import. Kernels makes the document of hbm and of the families of kernels. Summary, Results and
// MemoryResults make the text tables. Package judge finds the faults.
package results

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/judge"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// Extras are parts of a report of collectives besides its record.
type Extras struct {
	// Knees are the sizes near the plateau. Advice is a recommendation. A nil field omits its
	// section.
	Knees  *recommend.Knees
	Advice *advice.Document
	// Command reproduces the record; empty omits the section.
	Command string
	// Folder is the record's folder; the page only shows its last element. Empty means none.
	Folder string
	// Width is the terminal's width in columns, which limits the summary's figures. 0 omits the
	// summary.
	Width int
}

// Collectives returns the report of a sweep of collectives or of an import. An empty record gives a
// report that says so.
func Collectives(rec *record.Record, x Extras) *document.Document {
	d := &document.Document{
		Command: "collectives", Value: rec, CSV: rec.CSV, Beneath: true,
		Title: title(rec), Lead: worldText(rec.World), Simulated: rec.Simulated, Banners: banners(rec),
		State: judge.State(rec), Findings: Verdict(rec, x.Advice), Chips: advice.Chips(x.Advice),
		Foot: "Sizes are IEC, 1 KiB = 1,024 B; rates are decimal, 1 GB/s = 1e9 B/s.",
	}
	if rec.Simulated {
		d.Foot += " SIMULATED: a model decided these times, not hardware."
	}
	if x.Folder != "" {
		d.Next = x.Advice.Commands(x.Folder)
	}
	if x.Width > 0 {
		summaryInto(d, rec, x.Width)
	}
	curves := curve.Of(rec)
	drawn, note := curve.Drawn(curves)
	glance(d, rec, drawn)
	bandwidthInto(d, rec, drawn, note, x)
	d.Results("Results", resultBlock(rec, curves)).Folded = len(rec.Results) > fewResults
	adviceInto(d, "Bucket size to set", x.Advice, path.Base(x.Folder))
	timesInto(d, rec, drawn, note)
	faultsInto(d, rec)
	kneesInto(d, x)
	d.Add("table", "Results", document.Sheet{Table: Results(rec)}).Show(document.Verbose | document.Markdown)
	d.Add("average", "", averageBlocks(rec)...).Show(document.Markdown)
	d.Add("others", "Cases without a result", otherBlocks(rec)...).Folded = len(rec.Results)-count(rec, record.OK) > fewResults
	d.Add("warnings", "Warnings", warningBlocks(rec)...).Show(document.Page | document.Verbose).Folded = len(drawn) > document.SeriesPerChart
	d.Fold("longrun", "Settings for a long run", longRunBlocks(rec)...).Show(document.Page | document.Verbose)
	d.Add("imports", "Imported files", importBlocks(rec)...)
	d.Fold("method", "How it was measured", document.Facts(method(rec)))
	d.Fold("setup", "Set-up", setupBlocks(rec)...)
	d.Reproduce(x.Command)
	d.Fold("sources", "Peaks, published figures and their sources", sourceBlocks(rec)...)
	return d
}

// summaryInto adds the first table on a terminal, with as many figures as fit.
func summaryInto(d *document.Document, rec *record.Record, width int) {
	var blocks []document.Block
	heading := ""
	for i, t := range Summary(rec, width) {
		notes := t.Notes
		if i == 0 {
			heading = t.Title
		}
		t.Title, t.Notes = "", nil
		blocks = append(blocks, document.Sheet{Table: t})
		blocks = append(blocks, slice.Map(notes, func(n string) document.Block { return document.Paragraph{Text: document.Said(n)} })...)
	}
	d.Add("summary", heading, append(blocks, averageBlocks(rec)...)...).Show(document.Terminal | document.Verbose)
}

// faultsInto adds late, unstable and stuck ranks, and the NICs' counters.
func faultsInto(d *document.Document, rec *record.Record) {
	late := slices.ContainsFunc(judge.Late(rec), func(l judge.Lateness) bool { return len(l.Texts()) > 0 })
	d.Add("late", "Late ranks", lateBlocks(rec)...).Folded = !late
	d.Add("unstable", "Unstable", unstableBlocks(rec)...)
	d.Add("stuck", "How far each rank got", stuckBlocks(rec)...).Show(document.Page | document.Verbose)
	d.Add("nics", "NIC counters", nicBlocks(rec)...)
}

// fewResults is the number of rows of results that a page shows unfolded.
const fewResults = 12

// glance adds a summary of every curve, unless there are too many curves.
func glance(d *document.Document, rec *record.Record, drawn []curve.Curve) {
	if cards := figures(rec, drawn); len(cards) > 0 && len(cards) <= document.SeriesPerChart {
		d.Add("figures", "At a glance", cards)
	}
}

// bandwidthInto adds bus bandwidth by size and by number of ranks.
func bandwidthInto(d *document.Document, rec *record.Record, drawn []curve.Curve, note string, x Extras) {
	all := charts(rec, drawn, document.BusBW, note, x.Knees, adviceBand(x.Advice))
	blocks := document.Plots(all)
	if small := smallCharts(rec, drawn, note); len(small) > 0 {
		blocks = append(blocks, document.Details{Summary: smallTitle + ", on a logarithmic axis", Blocks: document.Plots(small)})
	}
	d.Add("charts", "Bus bandwidth by message size", blocks...)
	d.Add("scaling", "Scaling by number of ranks", scalingBlocks(rec, drawn)...)
}

// timesInto adds times by size, folded if there are many curves.
func timesInto(d *document.Document, rec *record.Record, drawn []curve.Curve, note string) {
	many := len(drawn) > document.SeriesPerChart
	times := document.Plots(charts(rec, drawn, document.Time, note, nil, nil))
	if hasIsolated(rec) {
		// Few readers need this second chart of the same sizes.
		times = append(times, document.Details{Summary: "Time of one launch alone", Blocks: document.Plots(charts(rec, drawn, document.Alone, note, nil, nil))})
	}
	d.Add("times", "Time by message size", times...).Folded = many
	if spreads := distributions(rec, drawn); len(spreads) > 0 {
		d.Add("spreads", "How isolated launches vary", document.Paragraph{Role: "small", Text: document.Said("Per size: thin line from the fastest to the slowest launch, short lines at the median and the 95th percentile, wide bar over the interval that bounds the median with at least 95 % confidence.")}, document.Strips(spreads)).Folded = many
	}
}

// kneesInto adds the sizes from which messages are efficient, folded if there is a recommendation.
func kneesInto(d *document.Document, x Extras) {
	if x.Advice != nil {
		d.Fold("bucket", "Message sizes near the plateau", kneeBlocks(x.Knees, true)...)
		return
	}
	d.Add("bucket", "Bucket size", kneeBlocks(x.Knees, false)...).Show(document.Page | document.Verbose)
}

// setupBlocks returns the facts of the set-up.
func setupBlocks(rec *record.Record) []document.Block {
	out := []document.Block{facts(rec)}
	if rec.Fabric != nil && len(rec.Fabric.Extrapolated) > 0 {
		out = append(out, document.Heading{Text: document.Said("Extrapolated parts of the model")})
		out = append(out, document.Listed("", rec.Fabric.Extrapolated)...)
	}
	return out
}

// sourceBlocks return the sources of the roofs and the fabric.
func sourceBlocks(rec *record.Record) []document.Block {
	if rec.Fabric == nil {
		return nil
	}
	var out []document.Block
	var roofs document.Facts
	for _, r := range roofsOf(rec) {
		text := r.Label
		if r.Source != "" {
			text += ". Source: " + r.Source
		}
		roofs.Add(r.Letter+" "+unit.Rate(r.Value), text)
	}
	if len(roofs) > 0 {
		out = append(out, roofs)
	}
	return append(out, document.Listed("", rec.Fabric.Sources)...)
}

// title names the benchmark and its subject.
func title(rec *record.Record) string {
	names := rec.Collectives()
	switch {
	case len(names) == 0:
		return "Collectives: no results"
	case len(names) > 4:
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	t := plain.And(names)
	if n := rec.World.Ranks; n > 0 {
		t += " on " + unit.Count(n, "rank")
	}
	return t
}

// worldText describes the world, without its unknown properties.
func worldText(w record.World) string {
	var parts []string
	add := func(n int, word, tail string) {
		if n > 0 {
			parts = append(parts, unit.Count(n, word)+tail)
		}
	}
	add(w.Ranks, "rank", "")
	add(w.Nodes, "node", "")
	add(w.GPUsPerNode, "GPU", " per node")
	add(w.GPUsPerProcess, "GPU", " per process")
	if w.GPU != "" {
		parts = append(parts, w.GPU)
	}
	if len(parts) == 0 {
		return "the world of ranks is not known"
	}
	return strings.Join(parts, " · ")
}
