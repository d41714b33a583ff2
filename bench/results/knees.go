package results

import (
	"fmt"

	"zbench/bench/bucket"
	"zbench/bench/document"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// kneeBlocks are the smallest messages that reach a share of each plateau, what a
// bucket size still takes, and what limits the answer. Where there is a recommendation
// nothing is missing.
func kneeBlocks(a *bucket.Answer, advised bool) []document.Block {
	if a == nil {
		return nil
	}
	out := []document.Block{document.Paragraph{Role: "answer", Text: document.Said(a.Sentence())}}
	var plateaus []document.Text
	var caveats []string
	t := table.Table{Columns: []table.Column{
		{Name: "collective"},
		{Name: "of plateau", Right: true},
		{Name: "bucket", Right: true},
		{Name: "bytes", Right: true},
		{Name: "elements", Right: true},
		{Name: "per rank", Right: true},
		{Name: "busbw", Right: true},
		{Name: "note", Wrap: table.Sentences},
	}}
	for i := range a.Curves {
		c := &a.Curves[i]
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
			note := ""
			if p.AtSmallestSize {
				note = "at the smallest size of the sweep already"
			}
			t.Add(name, unit.Percent(p.Fraction), unit.Bytes(p.Bytes), unit.Comma(p.Bytes), unit.Comma(p.Elements), unit.Bytes(p.PerRankBytes), unit.Rate(p.BusBW), note)
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

// kneeLimits are what a bucket size still takes, and what limits the answer.
func kneeLimits(a *bucket.Answer, caveats []string, advised bool) (out []document.Block) {
	var needs []string
	for _, n := range a.Needs {
		if advised {
			break
		}
		needs = append(needs, n.What+": "+n.How)
	}
	for _, w := range a.Warnings {
		caveats = append(caveats, w.Message+" — "+w.Hint)
	}
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

// kneeName tells a curve from the others of its collective.
func kneeName(c *bucket.Curve) string {
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
