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

	"zbench/bench/unit"
)

//go:embed assets
var assets embed.FS

// WriteHTML writes the page as one file that needs nothing else: style, script
// and pictures are inside, and its content security policy lets nothing in.
func WriteHTML(w io.Writer, p *Page) error {
	v, err := viewOf(p)
	if err != nil {
		return err
	}
	return execute(w, v, "page.tmpl", "tables.tmpl", "advice.tmpl")
}

// execute writes what the first of the templates in assets makes of a view.
func execute(w io.Writer, view any, names ...string) error {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = "assets/" + name
	}
	t, err := template.New(names[0]).Funcs(words()).ParseFS(assets, paths...)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	// Into memory first: a page that fails half way leaves nothing behind.
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	if _, err := w.Write(bytes.Map(printable, b.Bytes())); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// look is what every page has inside: its style, its script, and the policy by
// which nothing else is applied or runs.
type look struct {
	Policy string
	Style  template.CSS
	Script template.JS
}

func lookOf() (look, error) {
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return look{}, fmt.Errorf("read the page's style: %w", err)
	}
	js, err := assets.ReadFile("assets/page.js")
	if err != nil {
		return look{}, fmt.Errorf("read the page's script: %w", err)
	}
	style := variables() + roleStyles() + string(css)
	// Both texts are ours, so neither needs escaping.
	return look{
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(style) + "; script-src " + hashOf(string(js)),
		Style:  template.CSS(style), Script: template.JS(js),
	}, nil
}

// words are the functions that the templates call.
func words() template.FuncMap {
	return template.FuncMap{"comma": comma, "bytes": unit.Bytes, "percent": percent, "rate": unit.Rate, "clip": clip, "last": func(i int, cells []string) bool { return i == len(cells)-1 }}
}

// printable drops the control characters a foreign string may bring.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// view is the page with what only HTML needs.
type view struct {
	*Page
	look
	Plots []plot
	Small []plot
	// Answer is the recommendation's plot; nil where there is none.
	Answer *plot
	Data   []plotData
}

// plot is a chart as HTML shows it.
type plot struct {
	Chart
	Wide, Narrow template.HTML
	// Named is true where the wide picture names every roof in full, so that
	// the list beneath it is needed only beside the narrow one.
	Named bool
	Keys  []key
	Twin  twin
}

// key is one entry of a legend.
type key struct {
	Name string
	// Drawn is false for a series without points, which nothing can switch.
	Drawn  bool
	Sample template.HTML
}

// twin is a chart as a table: sizes down, series across.
type twin struct {
	Head []string
	Rows [][]string
}

// plotData is what the script reads: the points of a chart, printed.
type plotData struct {
	ID     string       `json:"id"`
	Series []seriesData `json:"series"`
}

type seriesData struct {
	Name   string      `json:"name"`
	Points []pointData `json:"points"`
}

type pointData struct {
	Bytes int64  `json:"b"`
	Size  string `json:"s"`
	Text  string `json:"t"`
}

func viewOf(p *Page) (*view, error) {
	l, err := lookOf()
	if err != nil {
		return nil, err
	}
	v := &view{Page: p, look: l}
	for _, c := range p.Charts {
		v.Plots = append(v.Plots, plotOf(c))
		v.Data = append(v.Data, dataOf(c))
	}
	if p.Advice != nil && p.Advice.Chart != nil {
		answer := plotOf(*p.Advice.Chart)
		v.Answer = &answer
		v.Data = append(v.Data, dataOf(*p.Advice.Chart))
	}
	for _, c := range p.Spreads {
		p := svgPainter{page: true, id: c.ID + "-small", class: "chart small"}
		v.Small = append(v.Small, plot{Chart: c, Twin: twinOf(c), Wide: template.HTML(p.picture(layOut(c, small())))})
		v.Data = append(v.Data, dataOf(c))
	}
	return v, nil
}

// hashOf is a content security policy's name for an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// roleStyles ties the colour roles to the classes of the charts.
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

// plotOf draws the chart in both widths. What it marks as HTML is the SVG
// writer's, which escapes every text it is given.
func plotOf(c Chart) plot {
	big := svgPainter{page: true, id: c.ID + "-wide", class: "chart wide", tips: true}
	small := svgPainter{page: true, id: c.ID + "-narrow", class: "chart narrow"}
	s := layOut(c, wide())
	v := plot{
		Chart: c, Twin: twinOf(c), Named: namesRoofs(s, c),
		Wide:   template.HTML(big.picture(s)),
		Narrow: template.HTML(small.picture(layOut(c, narrow()))),
	}
	for i, s := range c.Series {
		p := svgPainter{page: true}
		sample := p.key(swatch(i, hollow(s), vec{1, 7}, 34, 4), 36, 14)
		v.Keys = append(v.Keys, key{s.Name, len(s.Points) > 0, template.HTML(sample)})
	}
	return v
}

func dataOf(c Chart) plotData {
	d := plotData{ID: c.ID}
	for _, s := range c.Series {
		one := seriesData{Name: s.Name, Points: []pointData{}}
		for _, p := range s.Points {
			one.Points = append(one.Points, pointData{p.Bytes, c.Quantity.Place(p), p.Text(c.Quantity)})
		}
		d.Series = append(d.Series, one)
	}
	return d
}
