package report

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/bucket"
	"zbench/bench/curve"
	"zbench/bench/judge"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Extras are what a report of collectives shows besides its record.
type Extras struct {
	// Knees are the sizes near the plateau, Advice is a recommendation; nil leaves
	// its section out.
	Knees  *bucket.Answer
	Advice *advice.Document
	// Command reproduces the record; empty leaves the section out.
	Command string
	// Folder is the name of the record's folder, for commands that read it.
	Folder string
}

// Collectives is the report of a sweep of collectives or of an import. A record with
// nothing in it makes a report that says so.
func Collectives(rec *record.Record, x Extras) *Document {
	if rec == nil {
		rec = &record.Record{}
	}
	d := &Document{
		Title: title(rec), Lead: worldText(rec.World), Simulated: rec.Simulated, Banners: banners(rec),
		Foot: "Sizes are IEC, 1 KiB = 1,024 B; rates are decimal, 1 GB/s = 1e9 B/s.",
	}
	if rec.Simulated {
		d.Foot += " SIMULATED: a model decided these times, not hardware."
	}
	d.Findings, d.Chips = Verdict(rec, x.Advice), chips(x.Advice)
	curves := curve.Of(rec)
	drawn, note := curve.Drawn(curves)
	glance(d, rec, drawn)
	curvesInto(d, rec, drawn, note, x)
	d.add("advice", "Bucket size to set", adviceBlocks(x.Advice, x.Folder)...)
	late := d.add
	if !slices.ContainsFunc(judge.Late(rec), func(l judge.Lateness) bool { return len(l.Texts()) > 0 }) {
		late = d.fold
	}
	late("late", "Late ranks", lateBlocks(rec)...)
	d.add("unstable", "Unstable", unstableBlocks(rec)...)
	d.add("stuck", "How far each rank got", stuckBlocks(rec)...)
	d.add("nics", "NIC counters", nicBlocks(rec)...)
	kneesInto(d, x)
	d.results(resultBlock(rec, curves))
	d.Sections[len(d.Sections)-1].Folded = len(rec.Results) > fewResults
	others := d.add
	if len(rec.Results)-count(rec, record.OK) > fewResults {
		others = d.fold
	}
	others("others", "Cases without a result", otherBlocks(rec)...)
	warnings := d.add
	if len(drawn) > seriesPerChart {
		warnings = d.fold
	}
	warnings("warnings", "Warnings", warningBlocks(rec)...)
	d.fold("longrun", "Settings for a long run", longRunBlocks(rec)...)
	d.add("imports", "Imported files", importBlocks(rec)...)
	d.fold("method", "How it was measured", Facts(method(rec)))
	d.fold("setup", "Set-up", setupBlocks(rec)...)
	d.command(x.Command)
	d.fold("sources", "Roofs and sources", sourceBlocks(rec)...)
	return d
}

// fewResults is how many rows of results a page shows without being asked.
const fewResults = 12

// glance sums every curve up, where there are not more than a reader takes in.
func glance(d *Document, rec *record.Record, drawn []curve.Curve) {
	if cards := figures(rec, drawn); len(cards) > 0 && len(cards) <= seriesPerChart {
		d.add("figures", "At a glance", cards)
	}
}

// curvesInto draws what depends on the size and on the number of ranks. With many curves
// only bus bandwidth and scaling are open.
func curvesInto(d *Document, rec *record.Record, drawn []curve.Curve, note string, x Extras) {
	add := d.add
	if len(drawn) > seriesPerChart {
		add = d.fold
	}
	d.add("charts", "Bus bandwidth by message size", plots(charts(rec, drawn, BusBW, note, x.Knees, adviceBand(x.Advice)))...)
	d.add("scaling", "Scaling by number of ranks", scalingBlocks(rec, drawn)...)
	times := plots(charts(rec, drawn, Time, note, nil, nil))
	if hasIsolated(rec) {
		// A second chart of the same sizes, beside which few need it.
		times = append(times, Details{"Time of one launch alone", plots(charts(rec, drawn, Alone, note, nil, nil))})
	}
	add("times", "Time by message size", times...)
	if spreads := distributions(rec, drawn); len(spreads) > 0 {
		add("spreads", "How launches alone vary", Paragraph{"small", said("Per size: thin line from the fastest to the slowest launch, short lines at the median and the 95th percentile, wide bar over the interval that bounds the median with at least 95 % confidence.")}, Strips(spreads))
	}
}

// plots are charts as blocks. Of those that are alike but for their collective the
// first is open.
func plots(all []Chart) []Block {
	var out, more []Block
	var titles []string
	for i, c := range all {
		if i > 0 && c.Short && all[i-1].Quantity == c.Quantity {
			name, _, _ := strings.Cut(c.Title, ":")
			titles, more = append(titles, name), append(more, Plot{Chart: c})
			continue
		}
		out = append(out, Plot{Chart: c})
	}
	if len(more) > 0 {
		out = append(out, Details{"The same of " + plain.And(slices.Compact(titles)), more})
	}
	return out
}

// kneesInto says from which size on messages are efficient. Beside a recommendation that
// is background.
func kneesInto(d *Document, x Extras) {
	if x.Advice != nil {
		d.fold("bucket", "Message sizes near the plateau", kneeBlocks(x.Knees, true)...)
		return
	}
	d.add("bucket", "Bucket size", kneeBlocks(x.Knees, false)...)
}

// results adds the section that the page's first link leads to.
func (d *Document) results(blocks ...Block) {
	d.Sections = append(d.Sections, Section{Name: resultsID, ID: resultsID, Title: "Results", Blocks: blocks})
}

// command says how to make the record again, where that is known.
func (d *Document) command(line string) {
	if line != "" {
		d.add("command", "How to reproduce", Code{"command line", line})
	}
}

// setupBlocks are the facts of the set-up.
func setupBlocks(rec *record.Record) []Block {
	out := []Block{Facts(facts(rec))}
	if rec.Fabric != nil && len(rec.Fabric.Extrapolated) > 0 {
		out = append(out, Heading{said("Extrapolated parts of the model")})
		out = append(out, listed("", rec.Fabric.Extrapolated)...)
	}
	return out
}

// sourceBlocks say where the roofs and the fabric are from.
func sourceBlocks(rec *record.Record) []Block {
	if rec.Fabric == nil {
		return nil
	}
	var out []Block
	var roofs Facts
	for _, r := range roofsOf(rec) {
		text := r.Label
		if r.Source != "" {
			text += ". Source: " + r.Source
		}
		roofs = append(roofs, Fact{r.Letter + " " + unit.Rate(r.Value), text})
	}
	if len(roofs) > 0 {
		out = append(out, roofs)
	}
	return append(out, listed("", rec.Fabric.Sources)...)
}

// title names what was run.
func title(rec *record.Record) string {
	names := collectivesOf(rec)
	switch {
	case len(names) == 0:
		return "Collectives: no results"
	case len(names) > 4:
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	t := plain.And(names)
	if n := rec.World.Ranks; n > 0 {
		t += " on " + unit.Count(int64(n), "rank")
	}
	return t
}

// collectivesOf lists the names in order of first appearance.
func collectivesOf(rec *record.Record) []string {
	var names []string
	seen := map[string]bool{}
	for i := range rec.Results {
		if n := rec.Results[i].Collective; !seen[n] {
			seen[n] = true
			names = append(names, plain.OrUnnamed(n))
		}
	}
	return names
}

// worldText says on what it ran, leaving out what is not known.
func worldText(w record.World) string {
	var parts []string
	add := func(n int, word, tail string) {
		if n > 0 {
			parts = append(parts, unit.Count(int64(n), word)+tail)
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

// mark is the phrase that travels with every chart and table of the record:
// SIMULATED, faults planted, imported from a file, or nothing for a measurement.
func mark(rec *record.Record) string {
	var parts []string
	if rec.Simulated {
		parts = append(parts, "SIMULATED")
	}
	if len(faultsOf(rec)) > 0 {
		parts = append(parts, "faults planted")
	}
	if from := importedFrom(rec); from != "" {
		parts = append(parts, from)
	}
	return strings.Join(parts, " · ")
}

// importedFrom names the files of an import, or is empty.
func importedFrom(rec *record.Record) string {
	if rec.Source.Kind != record.Imported && len(rec.Source.Imports) == 0 {
		return ""
	}
	switch files := rec.Source.Imports; len(files) {
	case 0:
		return "imported"
	case 1:
		return "imported from " + files[0].File
	default:
		return fmt.Sprintf("imported from %s and %d more", files[0].File, len(files)-1)
	}
}
