package report

import (
	"slices"

	"zbench/bench/finding"
	"zbench/bench/plain"
	"zbench/bench/table"
)

// Document is a report: sections of blocks in the order of reading. A builder for
// each benchmark makes one of a record (Collectives, Memory, Muon); WriteHTML
// writes any.
type Document struct {
	// Title is the headline, Lead what it holds for.
	Title, Lead string
	Simulated   bool
	// Findings are what it comes to, in the order of reading. They are read first, after the Chips:
	// the answer in a few words each.
	Findings finding.List
	Chips    []Fact
	// Most is how many findings a person is shown at once, where the sections have all of them; 0 is
	// all.
	Most int
	// Fault is what a fault is called where faults are something else, such as SLOWER.
	Fault string
	// Banners are what must be known before any number is read.
	Banners  []Banner
	Sections []Section
	// Foot states the units of all figures.
	Foot string
}

// Banner is a statement above everything else. Kind is simulated, planted,
// imported, interrupted or wrong.
type Banner struct{ Kind, Label, Text string }

// Section is blocks under a title. Name is unique in the document; ID, where a
// link leads to the section, stands for it.
type Section struct {
	Name, ID, Title string
	Blocks          []Block
	// Folded shows only the title until the reader opens the section.
	Folded bool
}

// add appends a section, unless it has no blocks.
func (d *Document) add(name, title string, blocks ...Block) {
	if len(blocks) > 0 {
		d.Sections = append(d.Sections, Section{Name: name, Title: title, Blocks: blocks})
	}
}

// fold appends a section that is closed until the reader opens it.
func (d *Document) fold(name, title string, blocks ...Block) {
	before := len(d.Sections)
	d.add(name, title, blocks...)
	for i := range d.Sections[before:] {
		d.Sections[before+i].Folded = true
	}
}

// Statement is a finding as it is shown: a word that says how much it matters, for those who see no
// colour, then the text.
type Statement struct {
	finding.Finding
	Word string
}

// Statements are the findings that a person is shown, and how many more there are.
func (d *Document) Statements() (shown []Statement, more int) {
	n := len(d.Findings)
	if d.Most > 0 {
		n = min(n, d.Most)
	}
	for _, f := range d.Findings[:n] {
		s := Statement{Finding: f}
		s.Word, s.Text = f.Word()
		if s.Word == "FAULT" && d.Fault != "" {
			s.Word = d.Fault
		}
		s.Text, s.Hint = plain.Line(s.Text), plain.Line(s.Hint)
		shown = append(shown, s)
	}
	return shown, len(d.Findings) - n
}

// Block is a part of a section. Its template in assets/page.tmpl has the name that
// Kind returns: a new kind of block is a type here and a template there.
type Block interface{ Kind() string }

// The kinds of blocks.
type (
	// Paragraph is running text; Role is empty, small or answer.
	Paragraph struct {
		Role string
		Text Text
	}
	// Heading is a title within a section.
	Heading struct{ Text Text }
	// List is a line for each item; Role is empty, small, roofs or warnings.
	List struct {
		Role  string
		Items []Text
	}
	// Facts are terms and what they are here.
	Facts []Fact
	// Cards are curves in a few numbers each.
	Cards []Card
	// Code is to be copied as it is.
	Code struct{ Label, Text string }
	// Sheet is a table with its notes. Label names it for those who do not see it;
	// Role is empty, results, which takes the whole width, or settings.
	Sheet struct {
		table.Table
		Label, Caption, Role string
	}
	// Plot is a chart with its legend and notes, and the table it folds away: the
	// chart's own where Table is nil.
	Plot struct {
		Chart
		Table *Sheet
	}
	// Strips are small charts of a kind, side by side.
	Strips []Chart
	// Details is what unfolds.
	Details struct {
		Summary string
		Blocks  []Block
	}
)

func (Paragraph) Kind() string { return "paragraph" }
func (Heading) Kind() string   { return "heading" }
func (List) Kind() string      { return "list" }
func (Facts) Kind() string     { return "facts" }
func (Cards) Kind() string     { return "cards" }
func (Code) Kind() string      { return "code" }
func (Sheet) Kind() string     { return "sheet" }
func (Plot) Kind() string      { return "plot" }
func (Strips) Kind() string    { return "strips" }
func (Bars) Kind() string      { return "bars" }
func (Details) Kind() string   { return "details" }

// Picture is a picture as data: what to draw, not how.
type Picture interface {
	// Stem is unique in a document and a valid file stem.
	Stem() string
}

// Stem is the chart's ID.
func (c Chart) Stem() string { return c.ID }

// Stem is the bars' ID.
func (c Bars) Stem() string { return c.ID }

// Stem is the diagram's ID.
func (d Diagram) Stem() string { return d.ID }

// Stem is the dots' ID.
func (d Dots) Stem() string { return d.ID }

// Stem is the map's ID.
func (h HeatMap) Stem() string { return h.ID }

// Fact is a term and what it is here.
type Fact struct{ Term, Text string }

// Card is a title with its figures, and a line beneath.
type Card struct {
	Title, Foot string
	Figures     []CardFigure
}

// CardFigure is a term with its figure, and what is said of that behind it.
type CardFigure struct{ Term, Figure, Tail string }

// Text is a line of spans.
type Text []Span

// Span is a text in one style: empty, b, strong, code, hint or small. Break is a new
// line before it, To the row of a table that it leads to.
type Span struct {
	Style, Text string
	Break       bool
	To          string
}

// said is a text without styles.
func said(text string) Text { return Text{{Text: text}} }

// items are texts without styles.
func items(texts []string) []Text {
	out := make([]Text, len(texts))
	for i, text := range texts {
		out[i] = said(text)
	}
	return out
}

// listed is a list of texts, nothing where there are none.
func listed(role string, texts []string) []Block {
	if len(texts) == 0 {
		return nil
	}
	return []Block{List{role, items(texts)}}
}

// Charts are the pictures that are also files of their own, in the order of the
// document.
func (d *Document) Charts() []Chart {
	var out []Chart
	for b := range d.blocks() {
		if p, ok := b.(Plot); ok {
			out = append(out, p.Chart)
		}
	}
	return out
}

// blocks are all of the document, those that unfold among them.
func (d *Document) blocks() func(yield func(Block) bool) {
	return func(yield func(Block) bool) {
		for _, s := range d.Sections {
			if !walk(s.Blocks, yield) {
				return
			}
		}
	}
}

func walk(blocks []Block, yield func(Block) bool) bool {
	return !slices.ContainsFunc(blocks, func(b Block) bool {
		inner, folds := b.(Details)
		return !yield(b) || folds && !walk(inner.Blocks, yield)
	})
}
