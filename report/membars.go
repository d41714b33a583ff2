package report

import (
	"fmt"
	"strings"

	"zbench/bench/device"
	"zbench/bench/memory"
	"zbench/bench/unit"
)

// publishedOf lists what others published of the record's devices: of streams
// alone.
func publishedOf(rec *memory.Record) []memory.Published {
	var out []memory.Published
	seen := map[string]bool{}
	for _, d := range rec.Devices {
		known, ok := device.Lookup(d.Name)
		if !ok || d.Kind != memory.GPU || rec.Command != "hbm" || seen[known.Name] {
			continue
		}
		seen[known.Name] = true
		out = append(out, memory.PublishedFor(known.Name)...)
	}
	return out
}

// barCharts draws a chart a device: every kernel's bandwidth in each
// configuration, against the peak and what others published.
func barCharts(rec *memory.Record, published []memory.Published) []Bars {
	var out []Bars
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
			b := bar{label: barLabel(r), length: *r.Rate, weak: r.Role == memory.Reference || r.Role == memory.Unfused || r.Role == memory.Copy}
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
			out = append(out, Bars{fmt.Sprintf("bars-%d", len(out)), title, bars, most})
		}
	}
	return out
}

// barLabel names a result; a norm by its shape, as the title has its kernel.
func barLabel(r *memory.Result) string {
	if r.Rows > 0 {
		return strings.Join([]string{shortType(r.Dtype), shapeText(r), r.Role}, " ")
	}
	return strings.Join([]string{r.Kernel, r.Dtype, r.Role}, " ")
}

// shortType keeps a label within its room.
func shortType(dtype string) string {
	return strings.NewReplacer("bfloat", "bf", "float", "f").Replace(dtype)
}

// ratioCharts draws a chart a device: how many times as fast a fused kernel is as
// the same work kernel by kernel, with what the check of its results found
// beside it. A speed whose numbers are wrong is none.
func ratioCharts(rec *memory.Record) []Bars {
	var out []Bars
	ratios := rec.Ratios()
	for _, d := range rec.Devices {
		var bars []bar
		most := 1.0
		for _, one := range ratios {
			if one.Fused.Device != d.Index || one.Speedup == nil {
				continue
			}
			b := bar{label: shortType(one.Fused.Dtype) + " " + shapeText(one.Fused), length: *one.Speedup, marks: []barMark{{1, ""}}}
			parts := []string{ratioText(one.Speedup) + " ×"}
			if one.OfCopy != nil {
				parts = append(parts, percent(*one.OfCopy)+" of copy")
			}
			b.value = strings.Join(append(parts, dataText(one.Fused)), ", ")
			most = max(most, b.length)
			bars = append(bars, b)
		}
		if len(bars) > 0 {
			title := fmt.Sprintf("%s on %s: × as fast as kernel by kernel", rec.Command, d.Name)
			out = append(out, Bars{fmt.Sprintf("ratios-%d", len(out)), title, bars, most})
		}
	}
	return out
}
