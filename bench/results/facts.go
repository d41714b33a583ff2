package results

import (
	"slices"
	"strings"
	"time"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// banners returns what must be read before any number.
func banners(rec *record.Record) []document.Banner {
	out := edited(rec)
	if rec.Simulated {
		text := "A model decided these times, not hardware."
		if n := countOf(rec, func(r *record.Result) bool { return r.Extrapolated && r.Status == record.OK }); n > 0 {
			text += " " + unit.Comma(n) + " of " + unit.Count(count(rec, record.OK), "result") +
				" are extrapolated: " + unmeasured + "; the set-up lists them."
		}
		out = append(out, document.Banner{Kind: "simulated", Label: "SIMULATED", Text: text})
	}
	if f := record.FaultsOf(rec); len(f) > 0 {
		out = append(out, document.Banner{Kind: "planted", Label: "FAULTS", Text: "Simulated with faults planted: " + strings.Join(f, "; ") + "."})
	}
	if from := record.ImportedFrom(rec); from != "" {
		out = append(out, document.Banner{Kind: "imported", Label: "IMPORTED", Text: "These results were " + from + "; zbench did not time them."})
	}
	for _, im := range rec.Source.Imports {
		if im.Truncated {
			out = append(out, document.Banner{Kind: "interrupted", Label: "TRUNCATED", Text: im.File + " ends before its footer; cases may be missing."})
		}
	}
	if n := count(rec, record.Interrupted); n > 0 {
		out = append(out, document.Banner{Kind: "interrupted", Label: "INTERRUPTED", Text: "The sweep did not finish: " + unit.Count(n, "case") + " did not run."})
	}
	if n := count(rec, record.WrongData); n > 0 {
		out = append(out, document.Banner{Kind: "wrong", Label: "WRONG DATA", Text: wrongText(rec, n)})
	}
	if n := count(rec, record.Failed); n > 0 {
		text := unit.Count(n, "case") + " failed; see the cases without a result."
		if n := countOf(rec, halved); n > 0 {
			text += " " + unit.Comma(n) + " of " + unit.Count(count(rec, record.OK), "result") + " have" + onePass + "."
		}
		out = append(out, document.Banner{Kind: "wrong", Label: "FAILED", Text: text})
	}
	return out
}

// edited returns banners if the figures are not as zbench wrote them.
func edited(rec *record.Record) []document.Banner {
	return slice.Map(rec.Edits(), func(w record.Warning) document.Banner {
		return document.Banner{Kind: "wrong", Label: "EDITED", Text: plain.Capital(w.Message) + ": " + w.Hint + "."}
	})
}

// onePass ends a sentence about results that lack their second pass.
const onePass = " one pass of two, in which a drift would not show"

// halved reports whether a result lacks its second pass.
func halved(r *record.Result) bool { return r.Warned(record.OnePass) }

// wrongText states the number of cases with wrong data and the place of the first.
func wrongText(rec *record.Record, n int) string {
	text := unit.Count(n, "case") + " gave wrong data, kept out of charts and figures"
	first := slice.First(rec.Each(), func(r *record.Result) bool { return r.Status == record.WrongData })
	return text + ". The first, " + caseName(first) + ": " + reasonOf(first) + "."
}

// caseName describes a case: all_reduce in place, 1 KiB.
func caseName(r *record.Result) string {
	name := plain.OrUnnamed(r.Collective)
	if r.InPlace {
		name += " in place"
	}
	return name + ", " + unit.Bytes(curve.Size(r))
}

// count returns the number of cases with a status.
func count(rec *record.Record, s record.Status) int {
	return countOf(rec, func(r *record.Result) bool { return r.Status == s })
}

func countOf(rec *record.Record, is func(*record.Result) bool) int {
	return slice.Count(rec.Each(), is)
}

// unmeasured is the explanation of extrapolated results. The fabric lists the parts: a number of nodes, a
// number of GPUs on a node, a collective.
const unmeasured = "parts of their model have no measurements"

// facts describes the set-up, without its unknown properties.
func facts(rec *record.Record) document.Facts {
	var out document.Facts
	out.AddKnown("World", worldText(rec.World))
	out.AddKnown("Hosts", unit.FirstFew(rec.World.Hosts, 8))
	if f := rec.Fabric; f != nil {
		name := f.Title
		if name == "" || f.Name != "" && f.Name != name {
			name = strings.TrimSpace(name + " (" + f.Name + ")")
		}
		out.AddKnown("Fabric", name)
	}
	clock := rec.Source.Clock
	if clock != "" {
		clock += " clock"
	}
	out.AddKnown("Source", strings.Join(nonEmpty(rec.Source.Kind, rec.Source.Backend, clock), ", "))
	var libs []string
	for _, l := range rec.Source.Libraries {
		text := strings.TrimSpace(l.Name + " " + l.Version)
		if l.Path != "" {
			text += " (" + l.Path + ")"
		}
		libs = append(libs, text)
	}
	out.AddKnown("Libraries", strings.Join(libs, "; "))
	out.AddKnown("Data", strings.Join(curve.Shared(curve.Of(rec)), ", "))
	if !rec.Created.IsZero() {
		out.AddKnown("Created", rec.Created.UTC().Format(time.RFC3339))
	}
	out.AddKnown("Written by", rec.Tool.Name+" "+rec.Tool.Version)
	return out
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// importBlocks describe the files of an import and their ignored parts.
func importBlocks(rec *record.Record) []document.Block {
	var out []document.Block
	for _, im := range rec.Source.Imports {
		var f document.Facts
		f.AddKnown("Written by", strings.TrimSpace(im.Tool+" "+im.Version))
		taken := unit.Comma(im.Rows) + " rows of " + unit.Comma(im.Lines) + " lines"
		if im.Truncated {
			taken += "; the file is truncated"
		}
		f.Add("Taken", taken)
		for _, s := range im.Skipped {
			f.Add("Skipped", skipText(s))
		}
		if im.ReportedAverage != nil {
			f.Add("Its average busbw", unit.Rate(*im.ReportedAverage))
		}
		f.AddKnown("SHA-256", im.SHA256)
		out = append(out, document.Heading{Text: document.Said(im.File)}, f)
	}
	return out
}

func skipText(s record.Skip) string {
	text := unit.Comma(s.Count) + " × " + s.Reason
	if len(s.Lines) == 0 {
		return text
	}
	return text + " (line " + strings.Join(slice.Map(s.Lines, unit.Comma), ", ") + ")"
}
