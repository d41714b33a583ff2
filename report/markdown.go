package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// WriteMarkdown writes the document for a merge request or an issue: the findings as a list, then
// the sections that Markdown shows. It escapes text that comes from outside zbench.
func WriteMarkdown(w io.Writer, d *document.Document) error {
	m := &markdownWriter{}
	m.add("## " + marked(d.Title))
	shown, more := d.Statements()
	for i, s := range shown {
		text := marked(s.Text)
		if s.Word != "" {
			text = "**" + s.Word + "** " + text
		}
		m.bullet(i, hinted(text, s.Hint))
	}
	if more > 0 {
		m.bullet(len(shown), fmt.Sprintf("%d more, listed below.", more))
	}
	for _, s := range d.For(document.Markdown).Sections {
		if title := s.Heading(); title != "" {
			m.add("### " + marked(title))
		}
		if err := m.blocks(s.Blocks); err != nil {
			return fmt.Errorf("write Markdown: %w", err)
		}
	}
	for _, c := range d.Next {
		m.command(c)
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

// marked escapes a text. Commands between backticks become code.
func marked(text string) string {
	var b strings.Builder
	for _, p := range plain.Parts(plain.Line(text)) {
		if p.Code {
			b.WriteString("`" + p.Text + "`")
			continue
		}
		b.WriteString(strings.ReplaceAll(plain.Markdown(p.Text), "_", `\_`))
	}
	return b.String()
}

// markdownWriter collects blocks and separates them by empty lines.
type markdownWriter struct{ b strings.Builder }

func (m *markdownWriter) add(text string) {
	if m.b.Len() > 0 {
		m.b.WriteString("\n")
	}
	m.b.WriteString(text + "\n")
}

// bullet adds entry i of a list.
func (m *markdownWriter) bullet(i int, text string) {
	if i > 0 {
		m.b.WriteString("- " + text + "\n")
		return
	}
	m.add("- " + text)
}

// hinted returns a text, followed by its hint if there is one.
func hinted(text, hint string) string {
	if hint == "" {
		return text
	}
	return text + " → " + marked(hint)
}

func (m *markdownWriter) blocks(all []document.Block) error {
	for _, b := range all {
		switch b := b.(type) {
		case document.Paragraph:
			m.add(marked(b.Text.Plain()))
		case document.Heading:
			m.add("#### " + marked(b.Text.Plain()))
		case document.List:
			for i, item := range b.Items {
				m.bullet(i, marked(item.Plain()))
			}
		case document.Facts:
			for i, f := range b {
				text := marked(f.Text)
				if f.Term != "" {
					text = marked(f.Term) + ": " + text
				}
				m.bullet(i, text)
			}
		case document.Code:
			m.fenced(b.Language, b.Text)
		case document.Command:
			m.command(b)
		case document.Items:
			m.items(b)
		case document.Sheet:
			var t strings.Builder
			if err := table.Markdown(&t, b.Table); err != nil {
				return err
			}
			m.add(strings.TrimSuffix(t.String(), "\n"))
			if b.Caption != "" {
				m.add(marked(b.Caption))
			}
		case document.Details:
			m.add("#### " + marked(b.Summary))
			if err := m.blocks(b.Blocks); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *markdownWriter) command(c document.Command) {
	if c.For != "" {
		m.add(marked(c.For) + ":")
	}
	m.fenced("sh", plain.Line(c.Line))
}

// fenced adds a text as a code block. It chooses a fence that the text does not contain.
func (m *markdownWriter) fenced(language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.add(fence + cmp.Or(language, "sh") + "\n" + strings.TrimSuffix(plain.Text(text), "\n") + "\n" + fence)
}

func (m *markdownWriter) items(all document.Items) {
	for i, x := range all {
		says := []string{signs[x.Severity] + " " + marked(x.Name) + ": " + marked(x.Text)}
		says = append(says, slice.Map(x.More, marked)...)
		m.bullet(i, hinted(strings.Join(says, "; "), x.Hint))
	}
}
