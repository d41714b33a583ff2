package results

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// barsByDevice returns one chart per device. bar returns the bar of a result, or false if it has none. Each
// chart is long enough for its marks.
func barsByDevice(rec *record.Record, id string, bar func(record.Device, *record.Kernel) (document.Bar, bool), title func(record.Device, []document.Bar) string) []document.Bars {
	var out []document.Bars
	for _, d := range rec.World.Devices {
		c := document.Bars{ID: fmt.Sprintf("%s-%d", id, len(out))}
		for i := range rec.Kernels {
			if rec.Kernels[i].Device != d.Index {
				continue
			}
			b, drawn := bar(d, &rec.Kernels[i])
			if !drawn {
				continue
			}
			c.Bars = append(c.Bars, b)
			c.Most = max(c.Most, b.Length, b.Hi, slice.Most(b.Marks, func(m document.BarMark) float64 { return m.At }))
		}
		if len(c.Bars) > 0 {
			c.Title = title(d, c.Bars)
			out = append(out, c)
		}
	}
	return out
}

// barCharts returns one chart per device: every kernel's bandwidth in each configuration, against the peak
// and the figures that others published.
func barCharts(rec *record.Record, published []device.Published) []document.Bars {
	return barsByDevice(rec, "bars", func(d record.Device, r *record.Kernel) (document.Bar, bool) {
		m := r.Metrics
		if m.Rate == nil || r.Role == record.SizeSweep || r.Role == record.Tune {
			return document.Bar{}, false
		}
		b := document.Bar{
			Label: barLabel(r), Value: unit.Rate(*m.Rate), Length: *m.Rate,
			Weak: r.Role == record.Reference || r.Role == record.Unfused || r.Role == record.Copy,
		}
		if m.Lo != nil && m.Hi != nil {
			b.Lo, b.Hi = *m.Lo, *m.Hi
		}
		if m.OfPeak != nil {
			b.Value += ", " + unit.Percent(*m.OfPeak)
		}
		if d.PeakBandwidth != nil {
			b.Marks = append(b.Marks, document.BarMark{At: *d.PeakBandwidth})
		}
		for k, p := range published {
			if rate := p.Rates[r.Kernel]; rate > 0 {
				b.Marks = append(b.Marks, document.BarMark{At: rate, Letter: document.Letter(k)})
			}
		}
		return b, true
	}, func(d record.Device, bars []document.Bar) string {
		title := d.Name + ": GB/s of the median"
		if slices.ContainsFunc(bars, func(b document.Bar) bool { return b.Hi > 0 }) {
			title += "; thin lines are 95 % intervals"
		}
		return title
	})
}

// barLabel names a result. A norm is named by its shape, because the title names the kernel.
func barLabel(r *record.Kernel) string {
	if r.Shape.Rows > 0 {
		return strings.Join([]string{shortType(r.Dtype), r.Shape.Text(), r.Role}, " ")
	}
	return strings.Join([]string{r.Kernel, r.Dtype, r.Role}, " ")
}

// shortType shortens an element type for a label: bf16 for bfloat16.
func shortType(dtype string) string {
	return strings.NewReplacer("bfloat", "bf", "float", "f").Replace(dtype)
}

// ratioCharts returns one chart per device: the speed-up of a fused kernel over the same work kernel by
// kernel, with the result of its check. Kernels with wrong results have no speed-up.
func ratioCharts(rec *record.Record) []document.Bars {
	return barsByDevice(rec, "ratios", func(_ record.Device, k *record.Kernel) (document.Bar, bool) {
		if k.Metrics.ToUnfused == nil {
			return document.Bar{}, false
		}
		parts := []string{ratioText(k.Metrics.ToUnfused) + " ×"}
		if k.Metrics.OfCopy != nil {
			parts = append(parts, unit.Percent(*k.Metrics.OfCopy)+" of copy")
		}
		return document.Bar{
			Label: shortType(k.Dtype) + " " + k.Shape.Text(), Value: strings.Join(append(parts, dataText(k)), ", "),
			Length: *k.Metrics.ToUnfused, Marks: []document.BarMark{{At: 1}},
		}, true
	}, func(d record.Device, _ []document.Bar) string {
		return fmt.Sprintf("%s on %s: × as fast as kernel by kernel", rec.Benchmark(), d.Name)
	})
}
