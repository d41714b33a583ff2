// Package document holds a command's result as data: findings, tables, charts, commands. A package
// that measures or judges turns its result into a Document. Package report writes the Document for
// a terminal, as a page, as Markdown, CSV or JUnit. JSON output is the typed result itself.
package document

import (
	"io"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/table"
)

// Document is the result of a command: findings, then sections of blocks in reading order.
type Document struct {
	// Command is the name of the command without zbench, such as "compare".
	Command string
	// Title is the headline. Lead describes what was judged. Foot names the units of all figures.
	Title, Lead, Foot string
	Simulated         bool
	// State decides the exit code, together with the faults in Findings. It is pass if the findings
	// alone decide, and empty if only gates judge.
	State finding.State
	// Findings are the result in reading order. Chips are short facts that summarise the answer.
	Findings finding.List
	Chips    []Fact
	// Most is the number of findings shown above the sections; 0 is no limit. It is set if the
	// sections repeat all findings.
	Most int
	// Words replace the word FAULT of findings, by code: SLOWER, for example.
	Words map[string]string
	// Beneath is true if a terminal shows the findings beneath the sections.
	Beneath bool
	// Banners are statements that a reader must see before any figure.
	Banners  []Banner
	Sections []Section
	// Next are the commands to run next.
	Next []Command
	// Value writes the JSON; nil if the document has none.
	Value interface{ WriteJSON(io.Writer) error }
	// CSV returns a header and rows in base units. If CSV is nil, the CSV output lists the
	// findings.
	CSV func() (header []string, rows [][]string)
	// Checks are the test cases for JUnit. If there are none, the findings become test cases. If
	// Strict is true, a check that was not made counts as a failure.
	Checks []Check
	Strict bool
}

// Simulate marks the document's times as times of a model.
func (d *Document) Simulate() {
	d.Simulated = true
	d.Banners = append(d.Banners, Banner{"simulated", "SIMULATED", "A model decided these times, not hardware."})
	d.Foot += " SIMULATED: a model decided these times, not hardware."
}

// MarkOf returns the mark of a picture: SIMULATED, or empty text.
func MarkOf(simulated bool) string {
	if simulated {
		return "SIMULATED"
	}
	return ""
}

// Banner is a statement above everything else. Kind is simulated, planted, imported, interrupted or
// wrong.
type Banner struct{ Kind, Label, Text string }

// Check is one check with its class, such as a collective or a record's thresholds.
type Check struct {
	Class string
	finding.Check
}

// Place says where a section is shown. Combine places with |.
type Place int

// The places. Terminal is a terminal without --verbose. Verbose is a terminal with --verbose.
// Beside is standard error when standard output goes to another program.
const (
	Page Place = 1 << iota
	Terminal
	Verbose
	Markdown
	Beside
	// Everywhere is every output for people.
	Everywhere = Page | Terminal | Verbose | Markdown
	// Brief is every output except the page, which has the same content at greater length.
	Brief = Terminal | Verbose | Markdown
)

// Section holds blocks under a title. Name is unique in the document. ID is the target of links; if
// it is empty, links use Name.
type Section struct {
	Name, ID, Title string
	Blocks          []Block
	// Folded is true if a page shows only the title until the reader opens the section.
	Folded bool
	// On says where the section is shown; 0 means the page.
	On Place
}

// For returns a copy of the document with only the sections that are shown at a place.
func (d *Document) For(p Place) *Document {
	c := *d
	c.Sections = slices.DeleteFunc(slices.Clone(d.Sections), func(s Section) bool { return !s.IsOn(p) })
	return &c
}

// IsOn reports whether a section is shown at a place.
func (s *Section) IsOn(p Place) bool { return s.On&p != 0 || s.On == 0 && p == Page }

// Heading returns the section's title in text output. It is empty if the first block is a table
// with its own title.
func (s *Section) Heading() string {
	if len(s.Blocks) > 0 {
		if sheet, is := s.Blocks[0].(Sheet); is && sheet.Title != "" {
			return ""
		}
	}
	return s.Title
}

// Show sets where the section is shown.
func (s *Section) Show(on Place) *Section {
	s.On = on
	return s
}

// Add appends a section to the page, unless it has no blocks.
func (d *Document) Add(name, title string, blocks ...Block) *Section {
	if len(blocks) == 0 {
		return &Section{}
	}
	d.Sections = append(d.Sections, Section{Name: name, Title: title, Blocks: blocks})
	return &d.Sections[len(d.Sections)-1]
}

// Fold appends a section that stays closed until the reader opens it.
func (d *Document) Fold(name, title string, blocks ...Block) *Section {
	s := d.Add(name, title, blocks...)
	s.Folded = true
	return s
}

// Results adds the section of results, the target of the page's first link.
func (d *Document) Results(title string, blocks ...Block) *Section {
	s := d.Add(ResultsID, title, blocks...)
	s.ID = ResultsID
	return s
}

// Wide adds a table of results that is too wide for a terminal. Without --verbose a terminal shows
// only the columns named in short, with these notes.
func (d *Document) Wide(t table.Table, notes []string, short ...string) {
	few := t.Only(func(name string, _ []string) bool { return slices.Contains(short, name) })
	few.Notes = notes
	d.Results("Results", Sheet{Table: t, Label: "Results", Role: ResultsID}).Show(Everywhere &^ Terminal)
	d.Add("short", "Results", Sheet{Table: few, Label: "Results"}).Show(Terminal)
}

// Reproduce adds the command line that repeats the result, unless it is empty.
func (d *Document) Reproduce(line string) {
	if line != "" {
		d.Add("command", "How to reproduce", Command{Line: line})
	}
}

// Statement is a finding with a word for its severity, which also serves readers who see no colour.
type Statement struct {
	finding.Finding
	Word string
}

// Statements returns the findings to show and the number of further findings.
func (d *Document) Statements() (shown []Statement, more int) {
	n := len(d.Findings)
	if d.Most > 0 {
		n = min(n, d.Most)
	}
	for _, f := range d.Findings[:n] {
		s := Statement{Finding: f}
		s.Word, s.Text = f.Word()
		if w := d.Words[f.Code]; w != "" && f.Severity == finding.Fault {
			s.Word = w
		}
		s.Text, s.Hint = plain.Line(s.Text), plain.Line(s.Hint)
		shown = append(shown, s)
	}
	return shown, len(d.Findings) - n
}

// Block is a part of a section. Text output chooses the layout by the block's type. A page chooses
// it by the block's kind.
type Block interface{ block() string }

// Kind returns the name of the template that draws a block on a page.
func Kind(b Block) string { return b.block() }

// The kinds of blocks.
type (
	// Paragraph is running text. Role is empty, small or answer.
	Paragraph struct {
		Role string
		Text Text
	}
	// Heading is a title within a section.
	Heading struct{ Text Text }
	// List has one line per item. Role is empty, small, roofs or warnings.
	List struct {
		Role  string
		Items []Text
	}
	// Facts are terms with their values.
	Facts []Fact
	// Cards summarise curves in a few numbers each.
	Cards []Card
	// Code is text to copy.
	Code struct{ Label, Language, Text string }
	// Command is a command line, quoted for a shell. For says what the command does.
	Command struct{ For, Line string }
	// Items are the things that were examined, with one or more lines each.
	Items []Item
	// Sheet is a table with its notes. Label describes it for readers who cannot see it. Role is
	// empty, settings, or results; a table of results has the full width.
	Sheet struct {
		table.Table
		Label, Caption, Role string
	}
	// Plot is a chart with its legend, its notes and a folded table. If Table is nil, the table
	// shows the chart's own values.
	Plot struct {
		Chart
		Table *Sheet
	}
	// Strips are small charts of one kind, side by side.
	Strips []Chart
	// Details has blocks that unfold.
	Details struct {
		Summary string
		Blocks  []Block
	}
)

func (Paragraph) block() string { return "paragraph" }
func (Heading) block() string   { return "heading" }
func (List) block() string      { return "list" }
func (Command) block() string   { return "command" }
func (Items) block() string     { return "items" }
func (Facts) block() string     { return "facts" }
func (Cards) block() string     { return "cards" }
func (Code) block() string      { return "code" }
func (Sheet) block() string     { return "sheet" }
func (Plot) block() string      { return "plot" }
func (Strips) block() string    { return "strips" }
func (Bars) block() string      { return "bars" }
func (Details) block() string   { return "details" }

// Item is a thing that was examined: its name, the result in Text, further lines and a remedy.
type Item struct {
	Severity   finding.Severity
	Name, Text string
	More       []string
	Hint       string
}

// Fact is a term and its value.
type Fact struct{ Term, Text string }

// Add appends a fact.
func (f *Facts) Add(term, text string) { *f = append(*f, Fact{term, text}) }

// AddKnown appends a fact, unless its text is blank.
func (f *Facts) AddKnown(term, text string) {
	if strings.TrimSpace(text) != "" {
		f.Add(term, text)
	}
}

// Card is a title with figures and a line beneath them.
type Card struct {
	Title, Foot string
	Figures     []CardFigure
}

// CardFigure is a term, its figure, and a remark behind the figure.
type CardFigure struct{ Term, Figure, Tail string }

// Text is a line of spans.
type Text []Span

// Span is text in one style: empty, b, strong, code, hint or small. Break starts a new line before
// it. To is the table row that it links to.
type Span struct {
	Style, Text string
	Break       bool
	To          string
}

// Said returns unstyled text.
func Said(text string) Text { return Text{{Text: text}} }

// Listed returns a list of texts as a block, or no block if there are no texts.
func Listed(role string, texts []string) []Block {
	if len(texts) == 0 {
		return nil
	}
	return []Block{List{Role: role, Items: slice.Map(texts, Said)}}
}

// Apart shows the rows that stand out, and folds other rows of the same kind behind a summary.
// Either table may be empty.
func Apart(label string, apart, others table.Table, summary string) []Block {
	var out []Block
	if apart.Filled() {
		out = append(out, Sheet{Table: apart, Label: label})
	}
	if others.Filled() {
		out = append(out, Details{Summary: summary, Blocks: []Block{Sheet{Table: others, Label: label + ", as expected"}}})
	}
	return out
}

// Blocks iterates over all blocks of the document, including those that unfold.
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

// ResultsID is the id of the section of results, the target of the page's first link.
const ResultsID = "results"

// Plain returns the text without styles.
func (t Text) Plain() string {
	var b strings.Builder
	for _, s := range t {
		if s.Break {
			b.WriteString(" ")
		}
		b.WriteString(s.Text)
	}
	return b.String()
}
