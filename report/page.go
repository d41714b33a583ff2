package report

import (
	"fmt"
	"strings"

	"zbench/bench/record"
)

// Page is the view model of a report: text and charts in the order of reading.
type Page struct {
	// Title is the headline, Subtitle the world it holds for.
	Title, Subtitle string
	// Command reproduces the record; the caller sets it. Empty leaves the
	// section out.
	Command   string
	Simulated bool
	// Banners are what must be known before any number is read.
	Banners []Banner
	Figures []Figure
	Facts   []Fact
	Charts  []Chart
	// Spreads show how the launches timed alone are distributed, by size.
	Spreads []Chart
	// Advice is nil when no bucket size was asked for.
	Advice *Advice
	Groups []Group
	// Isolated is true when some result has a time of one launch alone.
	Isolated bool
	// Late says who came last; empty where nothing tells.
	Late []LateLines
	// Unstable is nil where no group is slow now and then, as nearly always.
	Unstable *UnstableSection
	// Bucket is nil when nothing was recommended.
	Bucket   *Bucket
	Warnings []WarningLine
	// Others are the cases that did not end ok.
	Others []OtherCase
	// Stuck are those of them that did not end at all.
	Stuck        []Stuck
	Imports      []ImportLine
	Method       []Fact
	Extrapolated []string
	Roofs        []Roof
	Sources      []string
}

// Banner is a statement above everything else. Kind is simulated, planted,
// imported, interrupted or wrong.
type Banner struct{ Kind, Label, Text string }

// Fact is a term and what it is here.
type Fact struct{ Term, Text string }

// Bucket is the answer to "how large should a gradient bucket be", as far as
// the page shows it.
type Bucket struct {
	// Headline is the answer in one sentence; empty when there is none.
	Headline string
	Plateaus []Plateau
	Lines    []BucketLine
	// Needs says what is still missing for a firm answer, Caveats what limits
	// the one given.
	Needs, Caveats []string
}

// Plateau is the bus bandwidth a collective levels off at.
type Plateau struct {
	Collective string
	// BusBW is in bytes per second.
	BusBW float64
	Note  string
}

// BucketLine is one row of the bucket-size table: the smallest message that
// reaches a fraction of the plateau.
type BucketLine struct {
	Collective string
	// Fraction is of the plateau, 0 to 1.
	Fraction                      float64
	Bytes, Elements, PerRankBytes int64
	// BusBW is in bytes per second.
	BusBW float64
	Note  string
}

// Build makes the page of a record. The bucket part is optional. A record with
// nothing in it makes a page that says so.
func Build(rec *record.Record, bucket *Bucket) *Page {
	if rec == nil {
		rec = &record.Record{}
	}
	curves := curvesOf(rec)
	drawn, note := drawnCurves(curves)
	p := &Page{
		Title:     title(rec),
		Subtitle:  worldText(rec.World),
		Simulated: rec.Simulated,
		Banners:   banners(rec),
		Figures:   figures(drawn),
		Facts:     facts(rec),
		Groups:    tableGroups(curves),
		Isolated:  hasIsolated(rec),
		Late:      lateLines(rec),
		Unstable:  unstableSection(rec),
		Bucket:    bucket,
		Warnings:  warningLines(rec),
		Others:    otherCases(rec),
		Stuck:     stuckCases(rec),
		Imports:   importLines(rec),
		Method:    method(rec),
	}
	if rec.Fabric != nil {
		p.Extrapolated, p.Sources = rec.Fabric.Extrapolated, rec.Fabric.Sources
		p.Roofs = roofsOf(rec.Fabric.Roofs)
	}
	p.Charts = charts(rec, drawn, note, p.Roofs)
	p.Spreads = distributions(rec, drawn)
	return p
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
	t := joinAnd(names)
	if n := rec.World.Ranks; n > 0 {
		t += " on " + plural(int64(n), "rank")
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
			names = append(names, orUnnamed(n))
		}
	}
	return names
}

// worldText says on what it ran, leaving out what is not known.
func worldText(w record.World) string {
	var parts []string
	add := func(n int, word, tail string) {
		if n > 0 {
			parts = append(parts, plural(int64(n), word)+tail)
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
