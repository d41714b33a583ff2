package report

import (
	"fmt"
	"html/template"
	"strings"

	"zbench/bench/device"
	"zbench/bench/memory"
	"zbench/bench/unit"
)

// barChart is a picture of bars with the device it is of.
type barChart struct {
	Title   string
	Picture template.HTML
}

// bar is one result, with what it is held against, all in bytes per second; or
// one ratio, with no marks.
type bar struct {
	label, value string
	length       float64
	weak         bool // another's configuration, or unfused
	marks        []barMark
}

// barMark is a line across a bar.
type barMark struct {
	at     float64
	letter string
}

// publishedOf lists what others published of the record's devices.
func publishedOf(rec *memory.Record) []memory.Published {
	var out []memory.Published
	seen := map[string]bool{}
	for _, d := range rec.Devices {
		known, ok := device.Lookup(d.Name)
		if !ok || d.Kind != memory.GPU || seen[known.Name] {
			continue
		}
		seen[known.Name] = true
		out = append(out, memory.PublishedFor(known.Name)...)
	}
	return out
}

// barCharts draws a chart a device: every kernel's bandwidth in each
// configuration, against the peak and what others published.
func barCharts(rec *memory.Record, published []memory.Published) []barChart {
	var out []barChart
	for _, d := range rec.Devices {
		var bars []bar
		most := 0.0
		if d.Peak != nil {
			most = *d.Peak
		}
		for i := range rec.Results {
			r := &rec.Results[i]
			if r.Device != d.Index || r.Rate == nil || r.Role == memory.Sweep || r.Role == memory.Tune {
				continue
			}
			b := bar{label: strings.Join([]string{r.Kernel, r.Dtype, r.Role}, " "), length: *r.Rate, weak: r.Role == memory.Reference || r.Role == memory.Unfused}
			b.value = unit.Rate(*r.Rate)
			if r.OfPeak != nil {
				b.value += ", " + percent(*r.OfPeak)
			}
			if d.Peak != nil {
				b.marks = append(b.marks, barMark{*d.Peak, ""})
			}
			for k, p := range published {
				if rate := p.Rates[r.Kernel]; rate > 0 {
					b.marks = append(b.marks, barMark{rate, letter(k)})
					most = max(most, rate)
				}
			}
			most = max(most, b.length)
			bars = append(bars, b)
		}
		if len(bars) > 0 {
			title := fmt.Sprintf("%s: GB/s of the median", d.Name)
			out = append(out, barChart{title, template.HTML(drawBars(title, bars, most))})
		}
	}
	return out
}

// Geometry of the bars, in units of the picture.
const (
	barLeft, barRight, barWidth = 190.0, 150.0, 1060.0
	barStep, barHeight          = 24.0, 15.0
)

// drawBars draws the bars as SVG, every text escaped. What colour tells, a bar's
// label says too.
func drawBars(title string, bars []bar, most float64) string {
	var b strings.Builder
	height := barStep*float64(len(bars)) + 8
	fmt.Fprintf(&b, `<svg class="chart bars" viewBox="0 0 %s %s" role="img" aria-label="%s">`, num(barWidth), num(height), escaped(title))
	room := barWidth - barLeft - barRight
	for i, one := range bars {
		y := barStep*float64(i) + 4
		role := "s0"
		if one.weak {
			role = "s5"
		}
		length := room * one.length / most
		fmt.Fprintf(&b, `<text class="t text" x="%s" y="%s" text-anchor="end" font-size="12.5">%s</text>`, num(barLeft-8), num(y+12), escaped(one.label))
		fmt.Fprintf(&b, `<rect class="t %s" x="%s" y="%s" width="%s" height="%s" rx="2"/>`, role, num(barLeft), num(y), num(max(length, 1)), num(barHeight))
		end := length
		for _, m := range one.marks {
			x := barLeft + room*m.at/most
			fmt.Fprintf(&b, `<path class="k roof" stroke-width="2" d="M%s %sV%s"/>`, num(x), num(y-3), num(y+barHeight+3))
			if m.letter != "" {
				fmt.Fprintf(&b, `<text class="t roof" x="%s" y="%s" font-size="10">%s</text>`, num(x+2), num(y+3), escaped(m.letter))
			}
			end = max(end, x-barLeft)
		}
		fmt.Fprintf(&b, `<text class="t text" x="%s" y="%s" font-size="12.5">%s</text>`, num(barLeft+end+12), num(y+12), escaped(one.value))
	}
	b.WriteString("</svg>")
	return b.String()
}
