package results

import (
	"slices"
	"strings"

	"zbench/bench/curve"
	"zbench/bench/judge"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// noter fills the notes column of the text table.
type noter struct {
	common  []string
	columns columns
	width   int
	beneath footnotes
}

// cell is what a line's notes column says: keywords, each marked where it
// holds for one of the two results alone, or a number where they are too long.
func (n *noter) cell(pair [2]*record.Result) string {
	first, second := n.words(pair[0]), n.words(pair[1])
	words := first
	if pair[0] == nil {
		words = second
	}
	if pair[0] != nil && pair[1] != nil {
		words = nil
		for _, w := range first {
			if !slices.Contains(second, w) {
				w += " (out)"
			}
			words = append(words, w)
		}
		for _, w := range second {
			if !slices.Contains(first, w) {
				words = append(words, w+" (in)")
			}
		}
	}
	text := plain.Line(strings.Join(words, ", "))
	if len([]rune(text)) > n.width {
		return n.beneath.ref(text)
	}
	return text
}

// words are a result's keywords. A case that did not end ok says its status,
// and why beneath.
func (n *noter) words(r *record.Result) []string {
	if r == nil {
		return nil
	}
	notes := n.without(tableNotes(r, n.columns))
	if r.Status == record.OK {
		return notes
	}
	why := strings.Join(append([]string{reasonOf(r)}, notes...), "; ")
	return []string{plain.Clip(statusText(r.Status), 12) + " " + n.beneath.ref(why)}
}

// tableNotes are a row's keywords: those of the page and what has no column here.
func tableNotes(r *record.Result, c columns) []string {
	var notes []string
	if r.InPlace && !c.both {
		notes = append(notes, "in place")
	}
	return append(notes, rowNotes(r)...)
}

// without leaves out what is said elsewhere for all.
func (n *noter) without(notes []string) []string {
	return slices.DeleteFunc(notes, func(w string) bool { return slices.Contains(n.common, w) })
}

// commonNotes are those that every result has: they are said once.
func commonNotes(curves []curve.Curve, c columns) []string {
	var all tally
	results := 0
	for _, of := range curves {
		for _, r := range of.Rows {
			if r.Status != record.OK {
				continue
			}
			results++
			for _, n := range tableNotes(r, c) {
				all.add(n)
			}
		}
	}
	return slices.DeleteFunc(all.order, func(n string) bool { return all.count[n] < results })
}

// tableTitle says on what it ran and whether a model decided it.
func tableTitle(rec *record.Record) string {
	return plain.Line(strings.Join(nonEmpty(record.Mark(rec), worldText(rec.World)), " · "))
}

// footer is what stands beneath the table: what the notes stand for, what was
// not verified, who is late, the units, and where the figures come from.
func footer(rec *record.Record, c columns, notes, common []string) []string {
	out := notes
	if len(common) > 0 {
		out = append(out, "All results: "+strings.Join(common, ", ")+".")
	}
	if n := countWarned(rec, record.OnePass); n > 0 {
		out = append(out, record.OnePass+": "+unit.Count(n, "result")+" of"+onePass+".")
	}
	for _, k := range unverified(rec).order {
		out = append(out, "N/A: not verified: "+k.text()+" ("+unit.Count(k.count, "case")+").")
	}
	for _, l := range judge.Late(rec) {
		for _, text := range l.Texts() {
			out = append(out, "Late: "+text)
		}
	}
	for _, line := range unstableLines(rec) {
		out = append(out, "Unstable: "+line)
	}
	units := "time: median per launch in a burst, as rccl-tests"
	if !c.both {
		units += "; ±: half its 95 % interval"
	}
	if c.alone {
		units += "; alone: one launch by itself, slowest rank"
	}
	rates := "algbw and busbw"
	if c.both && c.alone {
		rates = "busbw"
	}
	out = append(out, units+"; "+rates+" in GB/s = 1e9 B/s, of the burst; sizes IEC.")
	if f := record.FaultsOf(rec); len(f) > 0 {
		out = append(out, "Faults planted: "+strings.Join(f, "; ")+".")
	}
	if m := record.Mark(rec); m != "" {
		out = append(out, m+".")
	}
	for i := range out {
		out[i] = plain.Line(out[i])
	}
	return out
}

// unverified gathers why results were not verified.
func unverified(rec *record.Record) *messageGroups {
	var why messageGroups
	for i := range rec.Results {
		if r := &rec.Results[i]; r.Status == record.OK && r.Verified.State != record.VerifiedOK && r.Verified.State != record.VerifiedWrong && r.Verified.Reason != "" {
			why.add(r.Verified.Reason)
		}
	}
	return &why
}
