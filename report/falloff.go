package report

import (
	"fmt"
	"strings"

	"zbench/bench/curve"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// scalingBlocks show how bus bandwidth changes with the number of ranks: what falls
// off, charts, and an efficiency table for each family of worlds.
func scalingBlocks(rec *record.Record, drawn []curve.Curve) []Block {
	all := curve.Scalings(drawn)
	if len(all) == 0 {
		return nil
	}
	out := listed("", fallLines(all))
	if len(out) == 0 {
		out = []Block{Paragraph{Text: said("No collective falls below " + unit.Percent(curve.FallShare) + " of its best bus bandwidth at the largest number of ranks.")}}
	}
	out = append(out, plots(scalingCharts(rec, all))...)
	for _, f := range []curve.Family{curve.OneWorld, curve.Groups, curve.Strided} {
		t := scalingTable(all, f)
		if len(t.Groups) == 0 {
			continue
		}
		s := Sheet{Label: "Scaling efficiency, " + string(f), Table: t}
		s.Caption = sentenceCase(string(f)) + ": bus bandwidth, and its share of the best in the same column"
		if rec.Simulated {
			s.Caption = "SIMULATED. " + s.Caption
		}
		out = append(out, s)
	}
	return out
}

// sentenceCase begins a phrase with a capital letter.
func sentenceCase(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// fallLines name what falls off with scale, one line for each family and message size.
func fallLines(all []curve.Scaling) []string {
	var out []string
	for _, f := range []curve.Family{curve.OneWorld, curve.Groups, curve.Strided} {
		var order []int64
		fallen := map[int64][]string{}
		for _, s := range all {
			if s.Family != f {
				continue
			}
			for _, size := range s.Sizes {
				text, _, falls := s.Fall(size)
				if !falls {
					continue
				}
				if fallen[size] == nil {
					order = append(order, size)
				}
				fallen[size] = append(fallen[size], text)
			}
		}
		for _, size := range order {
			line := fmt.Sprintf("At %s busbw falls off with the number of ranks: %s.", unit.Bytes(size), strings.Join(fallen[size], "; "))
			if f != curve.OneWorld {
				line = sentenceCase(string(f)) + ": " + line
			}
			out = append(out, line)
		}
	}
	return out
}

// rankAxis spans numbers of ranks, with ticks at powers of two.
func rankAxis(lo, hi int64, share func(label string) float64) axis {
	a := sizeAxis(lo, hi, func(string) float64 { return 0 })
	a.title = "ranks of a communicator, log scale"
	for _, stride := range []int{1, 2, 5, 10} {
		a.ticks = sizeTicks(a, stride)
		for i, t := range a.ticks {
			if t.label != "" {
				a.ticks[i].label = unit.Comma(int64(t.value))
			}
		}
		if spaced(a, share) {
			break
		}
	}
	return a
}
