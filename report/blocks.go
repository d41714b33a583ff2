package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// drawn returns the functions that the templates of blocks use. Their HTML comes from the SVG
// writer, which escapes every text.
func drawn() template.FuncMap {
	return template.FuncMap{"heat": heatOf, "plot": plotOf, "strip": stripOf, "bars": barsOf, "diagram": diagramOf, "dots": dotsOf, "time": timeOf, "spans": spansOf, "class": classOf, "rate": unit.Rate, "severity": func(s finding.Severity) string { return severityClasses[s] }, "sign": func(s finding.Severity) string { return signs[s] }, "words": words}
}

// flags matches command-line options within a text.
var flags = pattern.New(`(^|[\s(;])(--?[A-Za-z][A-Za-z0-9-]*)`)

// words formats a text as HTML. Commands become code. No line ends within a flag, where browsers
// would break after a hyphen.
func words(text string) template.HTML {
	var b strings.Builder
	for _, p := range plain.Parts(text) {
		set := flags.ReplaceAllString(template.HTMLEscapeString(p.Text), `$1<span class="flag">$2</span>`)
		if p.Code {
			set = "<code>" + set + "</code>"
		}
		b.WriteString(set)
	}
	return template.HTML(b.String())
}

// plot is a chart as HTML.
type plot struct {
	document.Chart
	Wide, Narrow template.HTML
	// Named is true if the wide picture shows every roof's full name, so that only the narrow
	// picture needs the list beneath it.
	Named bool
	Keys  []key
	// Table shows the chart as a folded table; nil if it would be empty.
	Table document.Block
}

// key is one entry of a legend.
type key struct {
	Name string
	// Series are the numbers of the series that the entry turns on and off.
	Series string
	Sample template.HTML
}

// plotOf draws the chart in both widths.
func plotOf(p document.Plot) plot {
	s := layOut(p.Chart, wide())
	sheet := p.Table
	if sheet == nil {
		own := tableOfChart(p.Chart)
		sheet = &own
	}
	v := plot{
		Chart: p.Chart, Table: folds(p.Title+", as a table", *sheet), Named: namesRoofs(s, p.Chart),
	}
	v.Wide, v.Narrow = bothWidths(p.ID, true, s, layOut(p.Chart, narrow()))
	for _, e := range legendOf(p.Chart) {
		samples := slice.Map(e.series, func(i int) layer { return swatch(i, p.Series[i], vec{1, 7}, 34, 4) })
		one := keyOf(e.name, 36, samples...)
		one.Series = strings.Trim(fmt.Sprint(e.series), "[]")
		v.Keys = append(v.Keys, one)
	}
	return v
}

// keyOf draws the line samples of a legend's entry.
func keyOf(name string, width float64, samples ...layer) key {
	p := svgPainter{page: true}
	return key{Name: name, Sample: template.HTML(p.key(width, 14, samples...))}
}

// stripOf draws a small version of the chart.
func stripOf(c document.Chart) plot {
	p := svgPainter{page: true, id: c.ID + "-small", class: "chart small"}
	return plot{Chart: c, Table: folds("as a table", tableOfChart(c)), Wide: template.HTML(p.picture(layOut(c, small())))}
}

// barsOf and diagramOf draw for wide and narrow windows.
func barsOf(c document.Bars) template.HTML {
	return joined(bothWidths(c.ID, false, layOutBars(c, wideBars), layOutBars(c, narrowBars)))
}

func diagramOf(d document.Diagram) template.HTML {
	return joined(bothWidths(d.ID, false, layOutDiagram(d, wideDiagram), layOutDiagram(d, narrowDiagram)))
}

// picture is a picture as HTML, with a legend and a table.
type picture struct {
	ID, Title string
	Picture   template.HTML
	Keys      []key
	Folded    document.Block
}

func pictureOf(id, title string, sheet *document.Sheet, drawn template.HTML, keys []key) picture {
	p := picture{ID: id, Title: title, Picture: drawn, Keys: keys}
	if sheet != nil {
		p.Folded = folds(title+", as a table", *sheet)
	}
	return p
}

func dotsOf(d document.Dots) picture {
	sample := func(series int) layer { return layer{series: series, dots: []dot{{at: vec{7, 7}, radius: 4}}} }
	return pictureOf(d.ID, d.Title, d.Table, joined(bothWidths(d.ID, true, layOutDots(d, wideDots), layOutDots(d, narrowDots))), []key{
		keyOf(d.One, 14, sample(plainDots)), keyOf(d.One+" that lies apart", 14, sample(namedDots)),
	})
}

func heatOf(h document.HeatMap) picture {
	var keys []key
	for _, s := range heatSteps {
		height := s.height * 14
		keys = append(keys, keyOf(s.text(h), 28, layer{series: -1, areas: []area{{role: s.role, box: box{1, 7 - height/2, 27, 7 + height/2}}}}))
	}
	return pictureOf(h.ID, h.Title, h.Table, joined(bothWidths(h.ID, false, layOutHeat(h, wideHeat), layOutHeat(h, narrowHeat))), keys)
}

func joined(wide, narrow template.HTML) template.HTML { return wide + narrow }

// bothWidths draws a picture for wide and for narrow windows. If tips is true, the markers of the
// wide picture have titles.
func bothWidths(id string, tips bool, wide, narrow scene) (template.HTML, template.HTML) {
	big := svgPainter{page: true, id: id + "-wide", class: "chart wide", tips: tips}
	small := svgPainter{page: true, id: id + "-narrow", class: "chart narrow"}
	return template.HTML(big.picture(wide)), template.HTML(small.picture(narrow))
}

// folds puts a table behind a summary. It returns nil if the table has no rows.
func folds(summary string, s document.Sheet) document.Block {
	if s.Filled() {
		return document.Details{Summary: summary, Blocks: []document.Block{s}}
	}
	return nil
}

// span is a heading above neighbouring columns. Its name is empty above columns without a heading.
type span struct {
	Name    string
	Columns int
}

// spansOf returns the headings above the columns, or nil if no column has one.
func spansOf(columns []table.Column) []span {
	if !slices.ContainsFunc(columns, func(c table.Column) bool { return c.Over != "" }) {
		return nil
	}
	var out []span
	for _, c := range columns {
		if last := len(out) - 1; last < 0 || out[last].Name != c.Over {
			out = append(out, span{Name: c.Over})
		}
		out[len(out)-1].Columns++
	}
	return out
}

// classOf returns the CSS classes of a column's cells. l means left-aligned; wrap and set allow
// line breaks.
func classOf(c table.Column, body bool) string {
	var names []string
	if !c.Right {
		names = append(names, "l")
	}
	if c.Begins {
		names = append(names, "first")
	}
	switch {
	case body && c.Wrap == table.Sentences:
		names = append(names, "wrap")
	case body && c.Wrap == table.Words:
		names = append(names, "set")
	}
	return strings.Join(names, " ")
}
