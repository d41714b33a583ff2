package results

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/document"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// notesOf explains only the signs that occur.
func notesOf(c document.Chart, rec *record.Record) []string {
	var bars, hollow, filled, plotted, bursts bool
	for _, s := range c.Series {
		for _, p := range s.Points {
			plotted = true
			bars = bars || p.Bounded
			hollow = hollow || p.Extrapolated
			filled = filled || !p.Extrapolated
			bursts = bursts || p.Burst > 0
		}
	}
	var notes []string
	if c.Quantity == document.Alone && plotted {
		notes = append(notes, "The slowest rank’s time, nothing else under way: what a small message waits for.")
	}
	if bursts {
		notes = append(notes, "The thin line of the same colour is the time per launch in a burst; it is not mixed in.")
	}
	if !plotted {
		return []string{"No case ended with a figure to draw."}
	}
	if bars {
		notes = append(notes, "Vertical bars bound the median with at least 95 % confidence; a bar shorter than its marker does not show.")
	}
	switch {
	case hollow && filled:
		notes = append(notes, "Hollow markers are extrapolated: "+unmeasured+".")
	case hollow:
		notes = append(notes, "All points are extrapolated (hollow markers): "+unmeasured+".")
	}
	if text := rangeNote(c, rec); text != "" {
		notes = append(notes, text)
	}
	if text := kneeNote(c); text != "" {
		notes = append(notes, text)
	}
	if c.Quantity == document.BusBW && c.Band != nil {
		notes = append(notes, "The dotted vertical line is the largest gradient message of the recommended bucket size.")
	}
	if c.Quantity == document.BusBW && rec.World.Ranks == 1 {
		notes = append(notes, "One rank has no bus traffic: its bus bandwidth is zero by definition.")
	}
	return notes
}

// kneeNote says from which size on each curve stays at kneeShare of its plateau.
func kneeNote(c document.Chart) string {
	var knees []string
	for _, s := range c.Series {
		if s.Knee != nil {
			knees = append(knees, s.Name+" "+unit.Bytes(s.Knee.Bytes))
		}
	}
	if len(knees) == 0 {
		return ""
	}
	return "Large hollow markers: from there on the curve stays above " + unit.Percent(document.KneeShare) + " of its plateau. " + strings.Join(knees, "; ") + "."
}

// rangeNote says what the shaded areas of a chart are; empty where it has none.
func rangeNote(c document.Chart, rec *record.Record) string {
	shaded := slices.ContainsFunc(c.Series, func(s document.Series) bool { return slices.ContainsFunc(s.Points, document.Point.Bracketed) })
	if !shaded {
		return ""
	}
	text := "Shaded: between the slow and the fast end of the model"
	if rec.Fabric != nil && rec.Fabric.Bracket != nil {
		text += fmt.Sprintf(", whose latency (R) at %s is not measured and bracketed %.0f ×", unit.Count(rec.World.Nodes, "node"), rec.Fabric.Bracket.Factor)
	}
	return text + "."
}
