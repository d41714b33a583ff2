package results

import (
	"fmt"
	"slices"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Knees returns the document of the sizes near a record's plateaus.
func Knees(a *recommend.Knees) *document.Document {
	d := &document.Document{Command: "recommend", Value: a, Title: "Message sizes near the plateau", Simulated: a.Simulated, Beneath: true}
	d.Add("bucket", "", kneeBlocks(a, false)...).Show(document.Everywhere)
	return d
}

// Recommendation returns the document of a recommendation from the curves of records, with the sizes near
// the plateaus in knees. paths are the records' files, for the next command.
func Recommendation(a *advice.Document, records []*record.Record, knees []*recommend.Knees, paths ...string) *document.Document {
	of := simulatedOf(records)
	d := &document.Document{
		Command: "recommend", Value: a, Title: "Bucket size to set", Simulated: of.Simulated, Beneath: true,
		Findings: advice.Findings(of, a), Chips: advice.Chips(a), Next: a.Commands(paths...),
	}
	for i, k := range knees {
		d.Add(fmt.Sprintf("bucket-%d", i+1), "", kneeBlocks(k, false)...).Show(document.Everywhere)
	}
	adviceInto(d, "", a, "")
	return d
}

// adviceInto adds a recommendation. A terminal shows only what was read from the trainer's file and the
// lines to copy, above the findings, unless it shows everything. A refusal, and an answer for assumed
// settings, have no lines to copy.
func adviceInto(d *document.Document, title string, a *advice.Document, folder string) {
	all := d.Add("advice", title, advice.Blocks(a, folder)...)
	switch {
	case !a.Answered() && d.Command == "recommend":
		all.Show(document.Everywhere)
	case !a.Answered():
	case a.IsAssumed():
		all.Show(document.Page | document.Verbose)
	default:
		all.Show(document.Page | document.Verbose | document.Markdown)
	}
	if !a.Answered() {
		return
	}
	brief := a.Lines()
	if read := a.ReadFrom(); len(read) > 0 {
		brief = append([]document.Block{read}, brief...)
	}
	d.Add("lines", "", brief...).Show(document.Terminal | document.Beside)
}

// simulatedOf returns the record that labels an answer from several records: the first simulated record,
// else the first record.
func simulatedOf(records []*record.Record) *record.Record {
	if i := slices.IndexFunc(records, func(r *record.Record) bool { return r.Simulated }); i >= 0 {
		return records[i]
	}
	return records[0]
}

// Assume adds the answer for assumed settings to a document of plateaus. paths are the records'
// files, for the next command.
func Assume(d *document.Document, a *advice.Document, records []*record.Record, paths ...string) {
	d.Findings, d.Next = advice.Findings(simulatedOf(records), a), a.Commands(paths...)
}

// kneeBlocks return the smallest messages that reach a share of each plateau, the missing input of
// a bucket size, and the answer's limits. With a recommendation no input is missing.
func kneeBlocks(a *recommend.Knees, advised bool) []document.Block {
	if a == nil {
		return nil
	}
	out := []document.Block{document.Paragraph{Role: "answer", Text: document.Said(a.Sentence())}}
	var plateaus []document.Text
	var caveats []string
	t := table.Numbers("collective", "of plateau", "bucket", "bytes", "elements", "per rank", "busbw")
	t.Columns[0].Right = false
	t.Columns = append(t.Columns, table.Column{Name: "note", Wrap: table.Sentences})
	for _, c := range slice.Pointers(a.Curves) {
		name := kneeName(c)
		if c.Reason != "" {
			caveats = append(caveats, name+": "+c.Reason)
			continue
		}
		plateau := document.Text{{Text: name + " levels off at "}, {Style: "b", Text: unit.Rate(c.PlateauBusBW)}}
		if !c.Saturated {
			plateau = append(plateau, document.Span{Text: ": still rising at the end of the sweep"})
		}
		plateaus = append(plateaus, plateau)
		for _, p := range c.Points {
			note, elements := "", "unknown"
			if p.Elements > 0 {
				elements = unit.Comma(p.Elements)
			}
			if p.AtSmallestSize {
				note = "at the smallest size of the sweep already"
			}
			t.Add(name, unit.Percent(p.Fraction), unit.Bytes(p.Bytes), unit.Comma(p.Bytes), elements, unit.Bytes(p.PerRankBytes), unit.Rate(p.BusBW), note)
		}
	}
	if len(plateaus) > 0 {
		out = append(out, document.List{Role: "", Items: plateaus})
	}
	if len(t.Groups) > 0 {
		out = append(out, document.Sheet{Label: "Bucket size", Caption: "Smallest bucket that reaches a share of the plateau", Table: t})
	}
	if len(plateaus)+len(t.Groups) > 0 {
		out = append(out[:1:1], document.Details{Summary: "Plateaus and sizes of each curve", Blocks: out[1:]})
	}
	return append(out, kneeLimits(a, caveats, advised)...)
}

// kneeLimits returns the missing input of a bucket size, and the answer's limits.
func kneeLimits(a *recommend.Knees, caveats []string, advised bool) (out []document.Block) {
	var needs []string
	if !advised {
		needs = slice.Map(a.Needs, func(n recommend.Need) string { return n.What + ": " + n.How })
	}
	caveats = append(caveats, slice.Map(a.Warnings, func(w record.Warning) string { return w.Message + " — " + w.Hint })...)
	for _, one := range []struct {
		title string
		lines []string
	}{{"What is still needed", needs}, {"Limits of this answer", caveats}} {
		if len(one.lines) > 0 {
			out = append(append(out, document.Heading{Text: document.Said(one.title)}), document.Listed("", one.lines)...)
		}
	}
	return out
}

// kneeName distinguishes a curve from the other curves of its collective.
func kneeName(c *recommend.KneeCurve) string {
	name := c.Collective
	if c.Groups > 1 {
		name += fmt.Sprintf(", groups of %d", c.Ranks)
	}
	if c.Stride > 0 {
		name += fmt.Sprintf(", %d apart", c.Stride)
	}
	if c.InPlace {
		name += ", in place"
	}
	if c.Setup != "" {
		name += ", " + c.Setup
	}
	return name
}
