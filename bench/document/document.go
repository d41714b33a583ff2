// Package document is what a command returns, as data: findings, tables, charts, commands. A package
// that measures or judges makes a Document of its result; package report writes it for a terminal, as
// a page, as Markdown, CSV and JUnit. The JSON is the typed value that the document is of.
package document

import (
	"slices"

	"zbench/bench/finding"
	"zbench/bench/plain"
	"zbench/bench/table"
)

// Results adds the section that the page's first link leads to.
func (d *Document) Results(blocks ...Block) {
	d.Sections = append(d.Sections, Section{Name: ResultsID, ID: ResultsID, Title: "Results", Blocks: blocks})
}

// Command says how to make the record again, where that is known.
func (d *Document) Command(line string) {
	if line != "" {
		d.Add("command", "How to reproduce", Code{"command line", line})
	}
}

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

// Add appends a section, unless it has no blocks.
func (d *Document) Add(name, title string, blocks ...Block) {
	if len(blocks) > 0 {
		d.Sections = append(d.Sections, Section{Name: name, Title: title, Blocks: blocks})
	}
}

// Fold appends a section that is closed until the reader opens it.
func (d *Document) Fold(name, title string, blocks ...Block) {
	before := len(d.Sections)
	d.Add(name, title, blocks...)
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

// Block is a part of a section. A renderer knows it by its type.
type Block interface{ block() }

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

func (Paragraph) block() {}
func (Heading) block()   {}
func (List) block()      {}
func (Facts) block()     {}
func (Cards) block()     {}
func (Code) block()      {}
func (Sheet) block()     {}
func (Plot) block()      {}
func (Strips) block()    {}
func (Bars) block()      {}
func (Details) block()   {}

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

// Said is a text without styles.
func Said(text string) Text { return Text{{Text: text}} }

// items are texts without styles.
func items(texts []string) []Text {
	out := make([]Text, len(texts))
	for i, text := range texts {
		out[i] = Said(text)
	}
	return out
}

// Listed is a list of texts, nothing where there are none.
func Listed(role string, texts []string) []Block {
	if len(texts) == 0 {
		return nil
	}
	return []Block{List{role, items(texts)}}
}

// Charts are the pictures that are also files of their own, in the order of the
// document.
func (d *Document) Charts() []Chart {
	var out []Chart
	for b := range d.Blocks() {
		if p, ok := b.(Plot); ok {
			out = append(out, p.Chart)
		}
	}
	return out
}

// Blocks are all of the document, those that unfold among them.
func (d *Document) Blocks() func(yield func(Block) bool) {
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

// ResultsID is the section of the results, to which the page's first link leads.
const ResultsID = "results"
