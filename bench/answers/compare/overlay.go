package compare

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
)

// overlay draws the first run of each side together if no case can be compared, for example because the numbers of
// ranks differ. Nothing is concluded from the curves.
func (d *Document) overlay(base, fresh []Run, o Criteria) {
	if d.Benchmark != spec.Collectives || benchmark(fresh[0].Record) != spec.Collectives {
		return
	}
	d.names = o.Names
	sides := [2]Run{base[0], fresh[0]}
	for i, run := range sides {
		d.names[i] = cmp.Or(d.names[i], plain.Text(path.Base(path.Clean(run.Name))))
	}
	if d.names[0] == d.names[1] {
		d.names[0], d.names[1] = "BASE "+d.names[0], "NEW "+d.names[1]
	}
	var series [2]map[string][]document.Series
	for i, run := range sides {
		series[i] = overlaid(run.Record, d.names[i])
	}
	marks := [2]string{record.Mark(base[0].Record), record.Mark(fresh[0].Record)}
	for _, name := range base[0].Record.Collectives() {
		if series[1][name] == nil {
			continue
		}
		chart := document.Chart{
			ID: fmt.Sprintf("overlay-%d-%s", len(d.overlaid)+1, document.Slug(name)), Title: "Bus bandwidth of " + name + ", " + d.names[0] + " and " + d.names[1],
			Mark: marks[0], Quantity: document.BusBW, Series: slices.Concat(series[0][name], series[1][name]), Short: true,
			Notes: []string{"Out of place where a run has both placements. Cases are not compared."},
		}
		if marks[0] != marks[1] {
			chart.Mark = document.MarkOf(base[0].Record.Simulated || fresh[0].Record.Simulated)
			chart.Subtitle = d.names[0] + ": " + cmp.Or(marks[0], "measured") + " · " + d.names[1] + ": " + cmp.Or(marks[1], "measured")
		}
		if !chart.Empty() {
			d.overlaid = append(d.overlaid, chart)
		}
	}
}

// `overlaid` returns the curves of a run by collective. It leaves out curves of several groups that ran at once.
func overlaid(rec *record.Record, side string) map[string][]document.Series {
	out := map[string][]document.Series{}
	drawn, _ := curve.Drawn(curve.Of(rec))
	for _, c := range drawn {
		if c.Rows[0].Groups > 1 {
			continue
		}
		name := plain.OrUnnamed(c.Collective)
		s := document.Series{Name: side + ", " + strings.TrimLeft(strings.TrimPrefix(c.Label(), name), ", ")}
		for _, r := range c.Rows {
			if v, known := curve.BusBW(r); known && r.Status == record.OK && r.Bytes > 0 && document.BusBW.Drawable(v) {
				s.Points = append(s.Points, document.Point{Bytes: r.Bytes, Value: v, Extrapolated: r.Extrapolated})
			}
		}
		if len(s.Points) > 0 {
			out[name] = append(out[name], s)
		}
	}
	return out
}

// overlayBlocks returns the curves of both sides, after the reason why no case is compared.
func (d *Document) overlayBlocks() []document.Block {
	if len(d.overlaid) == 0 {
		return nil
	}
	text := "No case is compared: the two sides have none in common."
	var why []string
	for _, c := range d.Changes {
		if slices.Contains([]string{deviceFact, "nodes", "ranks", "GPUs per process", "fabric"}, c.What) {
			why = append(why, fmt.Sprintf("%s: %s and %s", c.What, abridged(c.Base), abridged(c.New)))
		}
	}
	if len(why) > 0 {
		text += " They differ in " + strings.Join(why, "; ") + "."
	}
	return append([]document.Block{document.Paragraph{Text: document.Said(text + " The curves are drawn together to be looked at.")}}, document.Plots(d.overlaid)...)
}
