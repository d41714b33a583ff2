package report

import (
	"bytes"
	"fmt"
	"image/png"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/results"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
	"zbench/test/longtest"
)

// everyBlock is a document with a block of each kind.
func everyBlock() *document.Document {
	sheet := document.Sheet{Label: "a sheet", Caption: "what it has", Role: document.ResultsID, Table: table.Table{
		By: []string{"collective"}, Columns: []table.Column{{Name: "size", Right: true}, {Name: "time", Right: true, Over: "burst", Begins: true}, {Name: "why", Wrap: table.Sentences}},
		Groups: []table.Group{{Cells: []string{"all_reduce"}, Rows: []table.Row{{ID: "row-1", Best: true, Cells: []string{"1 KiB", "10 µs", "a reason"}}}}},
		Notes:  []string{"what it means"},
	}}
	chart := line(document.BusBW, 1<<10, 1<<20, 1e9, 1e10, 2)
	chart.Notes = []string{"a note"}
	strip := chart
	strip.ID = "strip"
	d := &document.Document{Title: "a title", Lead: "a lead", Banners: []document.Banner{{Kind: "wrong", Label: "WRONG DATA", Text: "in one case"}}, Foot: "the units"}
	d.Simulated, d.Chips = true, []document.Fact{{Term: "Bucket size", Text: "use 40 M"}}
	d.Findings = finding.List{{Severity: finding.Fault, Text: "rank 3 is late", Hint: "swap it"}}
	d.Add("first", "First", document.Paragraph{Role: "answer", Text: document.Said("an answer")}, document.Heading{Text: document.Text{{Text: "a link", To: "row-1"}}},
		document.List{Role: "warnings", Items: []document.Text{{{Style: "strong", Text: "code:"}, {Text: " a line"}, {Style: "hint", Text: "What to do:", Break: true}}}},
		document.Facts{{Term: "a term", Text: "a fact"}}, document.Cards{{Title: "a card", Foot: "a foot", Figures: []document.CardFigure{{Term: "best", Figure: "10 GB/s", Tail: " at 1 MiB"}}}},
		document.Code{Label: "how", Text: "zbench"}, document.Command{For: "to do", Line: "zbench list"},
		document.Items{{Severity: finding.Warning, Name: "libfoo", Text: "not found", More: []string{"lost: all"}, Hint: "install it"}}, sheet, document.Plot{Chart: chart}, document.Strips{strip},
		document.Bars{ID: "bars", Title: "some bars", Bars: []document.Bar{{Label: "copy", Value: "4 TB/s", Length: 4, Marks: []document.BarMark{{At: 5, Letter: "A"}}}}, Most: 5},
		crossedRails(),
		document.Dots{ID: "dots", Title: "some dots", One: "a GPU", Nodes: []string{"n0"}, Values: []document.DotValue{{Share: 0.5, Named: true, Tip: "n0, GPU 1"}}, Limits: []float64{0.08}},
		document.HeatMap{ID: "heat", Title: "a heat map", Rows: []string{"n0"}, Columns: []string{"n0", "n1"}, Shares: [][]float64{{math.NaN(), 0.4}}, Limit: 0.05},
		document.Timeline{ID: "time", Title: "a timeline", Lanes: []document.Lane{{Name: "computing", Spans: []document.LaneSpan{{Start: 0, End: 1e-3, Tip: "a gemm"}}}, {Name: "collectives", Spans: []document.LaneSpan{{Start: 5e-4, End: 2e-3, Kind: 1}}}}, Kinds: []string{"computes", "communicates"}, Seconds: 2e-3},
		document.Details{Summary: "more", Blocks: []document.Block{document.Paragraph{Role: "", Text: document.Said("folded away")}}})
	return d
}

// Every kind of block has a template, and is told apart by nothing else.
func TestEveryKindOfBlockIsDrawn(t *testing.T) {
	d := everyBlock()
	page := writeHTML(t, d)
	outline(t, page)
	for _, want := range []string{
		`<dt>Bucket size</dt><dd>use 40 M</dd>`, `<li class="bad"><strong>FAULT</strong> rank 3 is late <span class="small">swap it</span></li>`,
		`<p class="answer">an answer</p>`, `<h3><a href="#row-1">a link</a></h3>`, `<strong>code:</strong> a line<br/><span class="hint">What to do:</span>`,
		`<dt>a term</dt><dd>a fact</dd>`, `<h3>to do</h3>`, `<code>zbench list</code>`, `<li><strong>! libfoo:</strong> not found<br/>lost: all<br/><span class="hint">install it</span></li>`, `<dd><b>10 GB/s</b> at 1 MiB</dd>`, `<pre tabindex="0" aria-label="how"><code>zbench</code></pre>`,
		`<th scope="colgroup" colspan="1">burst</th>`, `<tr id="row-1" class="best">`, `<td class="l wrap">a reason</td>`, `<figure id="x">`, `<figure id="strip">`,
		"<details><summary>more</summary>\n<p>folded away</p>", "copy: 4 TB/s", "computing: a gemm, from 0 ns to 1.00 ms.", "<title>n0, GPU 1</title>", `<li>what it means</li>`,
	} {
		require.Contains(t, page, want)
	}
	kinds := map[string]bool{}
	for b := range d.Blocks() {
		kinds[strings.ToLower(reflect.TypeOf(b).Name())] = true
	}
	template, err := fs.ReadFile(assets, "assets/page.tmpl")
	require.NoError(t, err)
	for _, part := range strings.Split(string(template), `{{- define "`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		require.True(t, kinds[name] || name == "text" || name == "verdict", "the template %q draws no block of this document", name)
	}
}

// There is one template: what a page shows is a block of some builder's.
func TestOneTemplate(t *testing.T) {
	found, err := fs.Glob(assets, "assets/*.tmpl")
	require.NoError(t, err)
	require.Equal(t, []string{"assets/page.tmpl"}, found)
}

// Whatever a block holds, it is text.
func TestBlocksAreEscaped(t *testing.T) {
	d := everyBlock()
	for i, b := range d.Sections[0].Blocks {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		v.Set(reflect.ValueOf(b))
		if _, drawing := b.(document.Bars); drawing {
			continue // its fields are not exported; TestMemoryEdges has one of a strange device
		}
		poison(v)
		d.Sections[0].Blocks[i] = v.Interface().(document.Block)
	}
	poison(reflect.ValueOf(&d.Banners).Elem())
	d.Title, d.Lead, d.Foot = hostile, hostile, hostile
	page := writeHTML(t, d)
	require.NotContains(t, page, "<script>alert")
	require.Equal(t, 2, strings.Count(page, "<script"))
}

// A bar shows the interval of its figure, within the picture also where that is longer than every bar.
func TestBarsHaveIntervals(t *testing.T) {
	c := blocksOf(results.Kernels(streamsAndSweep(), ""), "bars")[0].(document.Bars)
	require.Contains(t, c.Title, "thin lines are 95 % intervals")
	for i := range c.Bars {
		b := &c.Bars[i]
		require.True(t, b.Lo > 0 && b.Lo <= b.Length && b.Length <= b.Hi, "%+v", b)
	}
	c.Bars[0].Hi = 3 * c.Most
	c.Most = c.Bars[0].Hi
	for _, f := range []barForm{wideBars, narrowBars, aloneBars} {
		s := layOutBars(c, f)
		checkGeometry(t, s, c.ID)
		whiskers := 0
		for _, l := range s.layers {
			for _, line := range l.lines {
				if line.role == "text" {
					whiskers++
				}
				for _, p := range line.points {
					require.True(t, p.x >= 0 && p.x <= s.width)
				}
			}
		}
		require.Equal(t, 3*len(c.Bars), whiskers)
	}
}

// Bars are a scene as charts are: laid out once, painted as SVG and PNG, with all
// labels inside the picture and apart.
func TestBarsAreAScene(t *testing.T) {
	longtest.OneGoroutine(t)
	streams, norms := results.Kernels(streamsAndSweep(), ""), results.Kernels(fusedNorms(), "")
	for _, blocks := range [][]document.Block{blocksOf(streams, "bars"), blocksOf(norms, "bars"), blocksOf(norms, "ratios")} {
		var all []document.Bars
		for _, b := range blocks {
			if bars, ok := b.(document.Bars); ok {
				all = append(all, bars)
			}
		}
		require.NotEmpty(t, all)
		for _, c := range all {
			for _, f := range []barForm{wideBars, narrowBars, aloneBars} {
				s := layOutBars(c, f)
				checkGeometry(t, s, fmt.Sprintf("%s at %g", c.ID, f.width))
				for _, l := range s.layers {
					for _, a := range l.areas {
						require.True(t, a.box.inside(box{0, 0, s.width, s.height}), "%v", a.box)
					}
				}
			}
			picture := svg(t, c)
			elements(t, picture)
			var b bytes.Buffer
			require.NoError(t, WritePNG(&b, c))
			decoded, err := png.DecodeConfig(&b)
			require.NoError(t, err)
			require.Equal(t, 1200, decoded.Width)
			for _, one := range c.Bars {
				require.Contains(t, picture, escaped(one.Label))
				require.Contains(t, picture, escaped(one.Value))
			}
		}
	}
}
