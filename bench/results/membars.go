package results

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/device"
	"zbench/bench/document"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// barCharts draws a chart a device: every kernel's bandwidth in each
// configuration, against the peak and what others published.
func barCharts(rec *record.Record, published []device.Published) []document.Bars {
	var out []document.Bars
	for _, d := range rec.World.Devices {
		var bars []document.Bar
		most := 0.0
		if d.PeakBandwidth != nil {
			most = *d.PeakBandwidth
		}
		for i := range rec.Kernels {
			r := &rec.Kernels[i]
			if r.Device != d.Index || r.Metrics.Rate == nil || r.Role == record.SizeSweep || r.Role == record.Tune {
				continue
			}
			b := document.Bar{Label: barLabel(r), Length: *r.Metrics.Rate, Weak: r.Role == record.Reference || r.Role == record.Unfused || r.Role == record.Copy}
			if r.Metrics.Lo != nil && r.Metrics.Hi != nil {
				b.Lo, b.Hi = *r.Metrics.Lo, *r.Metrics.Hi
			}
			b.Value = unit.Rate(*r.Metrics.Rate)
			if r.Metrics.OfPeak != nil {
				b.Value += ", " + unit.Percent(*r.Metrics.OfPeak)
			}
			if d.PeakBandwidth != nil {
				b.Marks = append(b.Marks, document.BarMark{At: *d.PeakBandwidth, Letter: ""})
			}
			for k, p := range published {
				if rate := p.Rates[r.Kernel]; rate > 0 {
					b.Marks = append(b.Marks, document.BarMark{At: rate, Letter: document.Letter(k)})
					most = max(most, rate)
				}
			}
			most = max(most, b.Length, b.Hi)
			bars = append(bars, b)
		}
		if len(bars) > 0 {
			title := fmt.Sprintf("%s: GB/s of the median", d.Name)
			if slices.ContainsFunc(bars, func(b document.Bar) bool { return b.Hi > 0 }) {
				title += "; thin lines are 95 % intervals"
			}
			out = append(out, document.Bars{ID: fmt.Sprintf("bars-%d", len(out)), Title: title, Bars: bars, Most: most})
		}
	}
	return out
}

// barLabel names a result; a norm by its shape, as the title has its kernel.
func barLabel(r *record.Kernel) string {
	if r.Shape.Rows > 0 {
		return strings.Join([]string{shortType(r.Dtype), r.Shape.Text(), r.Role}, " ")
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
func ratioCharts(rec *record.Record) []document.Bars {
	var out []document.Bars
	for _, d := range rec.World.Devices {
		var bars []document.Bar
		most := 1.0
		for i := range rec.Kernels {
			k := &rec.Kernels[i]
			m := k.Metrics
			if k.Device != d.Index || m.ToUnfused == nil {
				continue
			}
			b := document.Bar{Label: shortType(k.Dtype) + " " + k.Shape.Text(), Length: *m.ToUnfused, Marks: []document.BarMark{{At: 1, Letter: ""}}}
			parts := []string{ratioText(m.ToUnfused) + " ×"}
			if m.OfCopy != nil {
				parts = append(parts, unit.Percent(*m.OfCopy)+" of copy")
			}
			b.Value = strings.Join(append(parts, dataText(k)), ", ")
			most = max(most, b.Length)
			bars = append(bars, b)
		}
		if len(bars) > 0 {
			title := fmt.Sprintf("%s on %s: × as fast as kernel by kernel", rec.Benchmark(), d.Name)
			out = append(out, document.Bars{ID: fmt.Sprintf("ratios-%d", len(out)), Title: title, Bars: bars, Most: most})
		}
	}
	return out
}
