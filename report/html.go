package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"

	"zbench/bench/base/finding"
	"zbench/bench/show/document"
)

// Template, style and scripts of the page.
var (
	//go:embed assets/*.tmpl
	assets embed.FS
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/page.js
	pageJS string
	//go:embed assets/zoom.js
	zoomJS string
	//go:embed assets/chart.js
	chartJS string
)

// WriteHTML writes the document as one self-contained file. Style, script and pictures are inside,
// and the content security policy allows nothing from outside.
func WriteHTML(w io.Writer, d *document.Document) error {
	t := template.New("page.tmpl")
	// show writes a block with the template of its kind.
	show := func(b document.Block) (template.HTML, error) {
		var text bytes.Buffer
		err := t.ExecuteTemplate(&text, document.Kind(b), b)
		return template.HTML(text.String()), err
	}
	t.Funcs(template.FuncMap{"show": show}).Funcs(drawn())
	if _, err := t.ParseFS(assets, "assets/page.tmpl"); err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	// Write to memory first, so that an error leaves no partial page.
	var b bytes.Buffer
	if err := t.Execute(&b, viewOf(d.For(document.Page))); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	if _, err := w.Write(bytes.Map(printable, b.Bytes())); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// verdict is the head of the page: the findings to show, and the number of further ones.
type verdict struct {
	*document.Document
	Rows []document.Statement
	More int
}

// Verdict returns the head of the page, or nil if there are neither findings nor chips.
func (v *view) Verdict() *verdict {
	if len(v.Findings)+len(v.Chips) == 0 {
		return nil
	}
	rows, more := v.Statements()
	return &verdict{v.Document, rows, more}
}

// severityClasses are the CSS classes of findings.
var severityClasses = map[finding.Severity]string{finding.Fault: "bad", finding.Warning: "warning", finding.OK: "good", finding.Note: "note"}

// view is the document with what the page needs in addition.
type view struct {
	*document.Document
	// Policy is the content security policy, which only allows Style and Script.
	Policy string
	Style  template.CSS
	Script template.JS
	// Skip is the id of the section with the results. Data is the input of the script.
	Skip string
	Data []plotData
}

func viewOf(d *document.Document) *view {
	style, js := variables()+roleStyles()+pageCSS, pageJS+zoomJS+chartJS
	// Both texts are our own, so they need no escaping.
	v := &view{
		Document: d, Style: template.CSS(style), Script: template.JS(js), Skip: "main", Data: []plotData{},
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(style) + "; script-src " + hashOf(js),
	}
	for _, s := range d.Sections {
		if s.ID == document.ResultsID {
			v.Skip = s.ID
		}
	}
	for b := range d.Blocks() {
		switch b := b.(type) {
		case document.Plot:
			v.Data = append(v.Data, dataOf(b.Chart))
		case document.Strips:
			for _, c := range b {
				v.Data = append(v.Data, dataOf(c))
			}
		}
	}
	return v
}

// printable drops control characters, which may come from text of other programs.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// hashOf returns the source expression of a content security policy for an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// roleStyles returns CSS that connects the colour roles to the classes in the charts.
func roleStyles() string {
	var b strings.Builder
	for _, c := range palette() {
		fmt.Fprintf(&b, ".k.%[1]s{stroke:var(--%[1]s)}.t.%[1]s{fill:var(--%[1]s)}", c.role)
		if strings.HasPrefix(c.role, "s") {
			fmt.Fprintf(&b, ".m.%[1]s{fill:var(--%[1]s);stroke:var(--%[1]s)}", c.role)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
