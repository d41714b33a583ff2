package report

import (
	"html/template"
	"strconv"
	"strings"

	"zbench/bench/document"
	"zbench/bench/finding"
	"zbench/bench/pattern"
	"zbench/bench/plain"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// drawn are the functions that the templates of blocks call. What they mark as HTML
// is the SVG writer's, which escapes every text it is given.
func drawn() template.FuncMap {
	return template.FuncMap{"heat": heatOf, "plot": plotOf, "strip": stripOf, "bars": barsOf, "diagram": diagramOf, "dots": dotsOf, "spans": spansOf, "class": classOf, "rate": unit.Rate, "severity": severityClass, "sign": func(s finding.Severity) string { return signs[s] }, "words": words}
}

// flags are the options of commands within a text.
var flags = pattern.New(`(^|[\s(;])(--?[A-Za-z][A-Za-z0-9-]*)`)

// words is a text in which no line ends within a flag, as a browser breaks lines behind hyphens,
// and commands are code.
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

// plot is a chart as HTML shows it.
type plot struct {
	document.Chart
	Wide, Narrow template.HTML
	// Named is true where the wide picture names every roof in full, so that
	// the list beneath it is needed only beside the narrow one.
	Named bool
	Keys  []key
	// Table is the chart as a table, folded; nil where there is nothing in it.
	Table document.Block
}

// key is one entry of a legend.
type key struct {
	Name string
	// Series are the numbers of the series that the entry names, which it switches.
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
		var samples []layer
		var numbers []string
		for _, i := range e.series {
			samples = append(samples, swatch(i, hollow(p.Series[i]), vec{1, 7}, 34, 4))
			numbers = append(numbers, strconv.Itoa(i))
		}
		p := svgPainter{page: true}
		v.Keys = append(v.Keys, key{e.name, strings.Join(numbers, " "), template.HTML(p.key(36, 14, samples...))})
	}
	return v
}

// stripOf draws the chart small.
func stripOf(c document.Chart) plot {
	p := svgPainter{page: true, id: c.ID + "-small", class: "chart small"}
	return plot{Chart: c, Table: folds("as a table", tableOfChart(c)), Wide: template.HTML(p.picture(layOut(c, small())))}
}

// barsOf draws bars for wide windows and for narrow ones.
func barsOf(c document.Bars) template.HTML {
	wide, narrow := bothWidths(c.ID, false, layOutBars(c, wideBars), layOutBars(c, narrowBars))
	return wide + narrow
}

// bothWidths draws a scene for wide windows and for narrow ones; tips gives the markers of
// the wide one titles.
func bothWidths(id string, tips bool, wide, narrow scene) (template.HTML, template.HTML) {
	big := svgPainter{page: true, id: id + "-wide", class: "chart wide", tips: tips}
	small := svgPainter{page: true, id: id + "-narrow", class: "chart narrow"}
	return template.HTML(big.picture(wide)), template.HTML(small.picture(narrow))
}

// folds puts a table behind a summary; one without rows is none.
func folds(summary string, s document.Sheet) document.Block {
	if s.Filled() {
		return document.Details{Summary: summary, Blocks: []document.Block{s}}
	}
	return nil
}

// span is a heading over columns, empty over those that have none.
type span struct {
	Name    string
	Columns int
}

// spansOf are the headings over columns; unit.None where no column has one.
func spansOf(columns []table.Column) []span {
	var out []span
	some := false
	for _, c := range columns {
		if last := len(out) - 1; last < 0 || out[last].Name != c.Over {
			out = append(out, span{Name: c.Over})
		}
		out[len(out)-1].Columns++
		some = some || c.Over != ""
	}
	if !some {
		return nil
	}
	return out
}

// classOf is how a column's cells are set: l is left, wrap and set may break lines.
func classOf(c table.Column, body bool) string {
	var names []string
	if !c.Right {
		names = append(names, "l")
	}
	if c.Begins {
		names = append(names, "first")
	}
	if body {
		names = append(names, map[table.Wrap][]string{table.Sentences: {"wrap"}, table.Words: {"set"}}[c.Wrap]...)
	}
	return strings.Join(names, " ")
}
