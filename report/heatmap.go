package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// heatStep is one of the heights of marks.
type heatStep struct {
	role   string
	height float64
	from   float64 // lower bound of the share, in multiples of the limit
	says   string
}

// heatSteps are the heights of marks: shares relative to the limit.
var heatSteps = []heatStep{
	{"line", 0.12, math.Inf(-1), "below half of the limit"},
	{"s6", 0.34, 0.5, "half the limit to the limit"},
	{"s1", 0.62, 1, "1 to 3 times the limit"},
	{"s4", 0.92, 3, "above 3 times the limit"},
}

// text explains a height. In a landscape the limit is no verdict, so the text has the share
// instead.
func (s heatStep) text(h document.HeatMap) string {
	if h.Landscape {
		return fmt.Sprintf("from %.3g %%", 100*max(0, s.from*h.Limit))
	}
	return s.says
}

// heatStepOf returns the index of the height for a share, or −1 if there is no value.
func heatStepOf(h document.HeatMap, share float64) int {
	if math.IsNaN(share) {
		return -1
	}
	at := 0
	for i, s := range heatSteps {
		if share >= s.from*h.Limit {
			at = i
		}
	}
	return at
}

// heatForm is the geometry of a heat map, in pixels.
type heatForm struct{ width, left, head, font, most float64 }

var (
	wideHeat   = heatForm{width: 1060, left: 150, head: 26, font: 12, most: 34}
	narrowHeat = heatForm{width: 366, left: 70, head: 22, font: 9.5, most: 24}
	aloneHeat  = heatForm{width: 1200, left: 180, head: 84, font: 15, most: 40}
)

// mostTall is the largest number of rows for which each row is high enough for a name.
const mostTall = 40

// cell returns the size of a cell. A row is as high as a name, so that a map of all xGMI links fits
// on a screen.
func (f heatForm) cell(h document.HeatMap) vec {
	c := vec{x: min(f.most, (f.width-f.left-4)/float64(max(len(h.Columns), 1)))}
	c.y = min(c.x, f.font*1.6)
	if len(h.Rows) <= mostTall {
		c.y = max(c.y, f.font*1.4)
	}
	return c
}

// folded joins neighbouring rows that have no loss and equal marks into one row, which is named
// after its first and last row. Most rows of a fleet are healthy. The empty diagonal of a square
// map does not prevent joining.
func folded(h document.HeatMap) document.HeatMap {
	if h.Landscape {
		return h
	}
	square := slices.Equal(h.Rows, h.Columns)
	healthy := func(i int) bool {
		return !slices.ContainsFunc(h.Shares[i], func(share float64) bool { return heatStepOf(h, share) > 0 })
	}
	alike := func(i, to int) bool {
		for k := range h.Columns {
			diagonal := square && (k == i || k == to)
			if !diagonal && heatStepOf(h, h.Shares[i][k]) != heatStepOf(h, h.Shares[to][k]) {
				return false
			}
		}
		return true
	}
	out := h
	out.Rows, out.Shares = nil, nil
	for from := 0; from < len(h.Rows); {
		to := from + 1
		for to < len(h.Rows) && healthy(from) && healthy(to) && alike(from, to) {
			to++
		}
		name, row := h.Rows[from], slices.Clone(h.Shares[from])
		if to-from > 1 {
			name += " … " + h.Rows[to-1]
			if square {
				row[from] = h.Shares[from+1][from]
			}
		}
		out.Rows, out.Shares = append(out.Rows, name), append(out.Shares, row)
		from = to
	}
	return out
}

// layOutHeat draws one mark per run of neighbouring cells with equal height, so that a healthy map
// of 128 × 128 cells has 128 marks.
func layOutHeat(h document.HeatMap, f heatForm) scene {
	h = folded(h)
	cell := f.cell(h)
	s := scene{width: f.width, height: f.head + cell.y*float64(len(h.Rows)) + 6, title: h.Title, desc: describeHeat(h)}
	if f == aloneHeat {
		texts := []label{titleOf(h.Title, f.font, f.width, f.font)}
		if h.Landscape { // a landscape has no key beside it
			says := slice.Map(heatSteps, func(step heatStep) string { return step.text(h) })
			texts = append(texts, label{role: "muted", text: "Thin to thick: " + strings.Join(says, ", "), at: vec{f.font, 3.4 * f.font}, size: f.font * 0.95, anchor: start})
		}
		s.layers = append(s.layers, layer{series: -1, texts: texts})
	}
	marks := layer{series: -1}
	for i, row := range h.Shares {
		for from := 0; from < len(row); {
			step, to := heatStepOf(h, row[from]), from+1
			for to < len(row) && heatStepOf(h, row[to]) == step {
				to++
			}
			if step >= 0 {
				height := max(1, heatSteps[step].height*cell.y)
				top := f.head + cell.y*float64(i) + (cell.y-height)/2
				marks.areas = append(marks.areas, area{role: heatSteps[step].role, box: box{f.left + cell.x*float64(from), top, f.left + cell.x*float64(to) - cell.x*0.08, top + height}})
			}
			from = to
		}
	}
	s.layers = append(s.layers, marks, heatLabels(h, f, cell))
	return s
}

// heatCell is a cell whose share reached the limit.
type heatCell struct{ row, column int }

// faulty returns the cells whose share reached the limit, the worst first. In a landscape it
// returns none.
func faulty(h document.HeatMap) []heatCell {
	var out []heatCell
	if h.Landscape {
		return nil
	}
	for i, row := range h.Shares {
		for k, share := range row {
			if heatStepOf(h, share) >= 2 {
				out = append(out, heatCell{i, k})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b heatCell) int {
		return cmp.Compare(h.Shares[b.row][b.column], h.Shares[a.row][a.column])
	})
	return out
}

// heatLabels writes the names of the rows and columns with faulty cells, then as many other names
// as fit.
func heatLabels(h document.HeatMap, f heatForm, cell vec) layer {
	l := layer{series: -1}
	prefix := commonPrefix(h.Columns)
	var rows, columns []int
	for _, c := range faulty(h) {
		rows, columns = append(rows, c.row), append(columns, c.column)
	}
	// put adds a label, unless it would touch another one.
	put := func(one label) {
		if !slices.ContainsFunc(l.texts, func(o label) bool { return one.bounds().touches(o.bounds()) }) {
			l.texts = append(l.texts, one)
		}
	}
	middleOf := func(row int) float64 { return f.head + cell.y*(float64(row)+0.5) + f.font*0.35 }
	if prefix != "" {
		put(label{role: "muted", text: fitting(prefix, f.left-8, f.font, false), at: vec{f.left - 6, f.head - 8}, size: f.font, anchor: end})
	}
	for i, at := range append(rows, slice.Numbers(len(h.Rows))...) {
		put(label{role: heatRole(i < len(rows)), text: fitting(h.Rows[at], f.left-8, f.font, false), at: vec{f.left - 6, middleOf(at)}, size: f.font * 0.95, anchor: end})
	}
	widest := max(1, slice.Most(h.Columns, func(name string) float64 { return textWidth(name[len(prefix):], f.font, false) }))
	every := max(1, int(math.Ceil(min(widest, 90)/cell.x)))
	for i, at := range append(columns, slice.Numbers(len(h.Columns))...) {
		if i >= len(columns) && at%every != 0 {
			continue
		}
		one := label{role: heatRole(i < len(columns)), text: fitting(h.Columns[at][len(prefix):], max(cell.x*float64(every), f.font*2), f.font, false), size: f.font * 0.95, anchor: middle}
		half := textWidth(one.text, one.size, false) / 2
		one.at = vec{min(f.left+cell.x*(float64(at)+0.5), f.width-half-1), f.head - 8}
		put(one)
	}
	for _, c := range faulty(h) {
		one := label{role: "text", text: fmt.Sprintf("%s: %.0f %% lost", h.Columns[c.column], 100*h.Shares[c.row][c.column]), size: f.font * 0.95, anchor: start, halo: true, bold: true}
		one.at = vec{f.left + cell.x*float64(c.column+1) + 3, middleOf(c.row)}
		if one.bounds().right > f.width {
			one.anchor, one.at.x = end, f.left+cell.x*float64(c.column)-3
		}
		put(one)
	}
	return l
}

// heatRole returns the colour role for the name of a row or a column.
func heatRole(faulty bool) string {
	if faulty {
		return "text"
	}
	return "muted"
}

// commonPrefix returns the beginning that all names share, such as "node" for node10 and node11. It
// does not cut a number, and it leaves a part of every name.
func commonPrefix(names []string) string {
	if len(names) < 2 {
		return ""
	}
	least, most := slices.Min(names), slices.Max(names)
	n := 0
	for n < min(len(least), len(most)) && least[n] == most[n] {
		n++
	}
	prefix := strings.TrimRight(strings.ToValidUTF8(least[:n], ""), "0123456789")
	if prefix == least {
		return ""
	}
	return prefix
}

// describeHeat describes the worst cells in words, or for a landscape the smallest and the largest
// share.
func describeHeat(h document.HeatMap) string {
	if all := slices.Concat(h.Shares...); h.Landscape && len(all) > 0 {
		return fmt.Sprintf("Shares lost from %.0f %% to %.0f %%.", 100*slices.Min(all), 100*slices.Max(all))
	}
	named := slice.Map(faulty(h), func(c heatCell) string {
		return fmt.Sprintf("%s, %s: %.0f %% lost.", h.Rows[c.row], h.Columns[c.column], 100*h.Shares[c.row][c.column])
	})
	return spoken(named, "No value has lost the limit.")
}
