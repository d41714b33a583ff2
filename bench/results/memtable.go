package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// memoryColumn is a column of the table and of the page.
type memoryColumn struct {
	name string
	left bool
	of   func(*record.Record, *record.Kernel) string
}

// memoryColumns has all columns. The columns of the metrics follow the column of the interval.
var memoryColumns = slices.Concat([]memoryColumn{
	{"kernel", true, func(_ *record.Record, r *record.Kernel) string { return r.Kernel }},
	{"type", true, func(_ *record.Record, r *record.Kernel) string { return r.Dtype }},
	{"shape", false, func(_ *record.Record, r *record.Kernel) string { return r.Shape.Text() }},
	{"run", true, func(_ *record.Record, r *record.Kernel) string { return r.Role }},
	{"configuration", true, func(_ *record.Record, r *record.Kernel) string { return configText(r.Config) }},
	{"GB/s", false, func(_ *record.Record, r *record.Kernel) string { return gigas(r.Metrics.Rate) }},
	{"[95 %]", false, func(_ *record.Record, r *record.Kernel) string {
		if r.Metrics.Lo == nil || r.Metrics.Hi == nil {
			return ""
		}
		return "[" + gigas(r.Metrics.Lo) + ", " + gigas(r.Metrics.Hi) + "]"
	}},
}, metricColumns(), []memoryColumn{
	{"GPU at", true, func(_ *record.Record, r *record.Kernel) string { return r.Timing.ConditionsText() }},
	{"data", true, func(_ *record.Record, r *record.Kernel) string { return dataText(r) }},
	{"notes", true, noteText},
})

// metricColumns are the columns of the metrics with a title.
func metricColumns() (out []memoryColumn) {
	text := map[record.MetricKind]func(*float64) string{
		record.BytesRate: gigas, record.OperationsRate: optional(unit.Flops), record.Share: optional(unit.Percent), record.Times: ratioText,
	}
	for _, m := range record.KernelMetrics {
		if m.Title != "" {
			out = append(out, memoryColumn{m.Title, false, func(_ *record.Record, r *record.Kernel) string { return text[m.Kind](m.Of(&r.Metrics)) }})
		}
	}
	return out
}

// shortMemory returns the columns on a terminal: at most 100 characters. The shortest time of a fused kernel
// is only on the page. A kernel or type that all rows share is in the title.
func shortMemory(rec *record.Record) []string {
	short := []string{"shape", "run", "GB/s", "of peak", "data", "notes"}
	if fused := slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Metrics.ToUnfused != nil }); fused {
		short = append(short, "× unfused", "of copy")
	} else {
		short = append(short, "fastest")
	}
	if len(typesOf(rec)) > 1 {
		short = append(short, "type")
	}
	if slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Kernel != rec.Benchmark() }) {
		short = append(short, "kernel")
	}
	return short
}

// optional returns a format for values that may be missing; a missing value gives an empty text.
func optional(text func(float64) string) func(*float64) string {
	return func(v *float64) string {
		if v == nil {
			return ""
		}
		return text(*v)
	}
}

// ratioText formats a speed-up.
var ratioText = optional(func(v float64) string { return fmt.Sprintf("%.2f", v) })

// configText describes a configuration in a few words.
func configText(c record.LaunchConfig) string {
	var parts []string
	if c.CPUs > 0 {
		parts = append(parts, unit.Count(c.CPUs, "CPU"))
	}
	if c.Block > 0 {
		parts = append(parts, fmt.Sprintf("block %d", c.Block))
	}
	if c.Loads > 0 {
		parts = append(parts, fmt.Sprintf("%d × 16 B", c.Loads))
	}
	if c.NonTemporal {
		parts = append(parts, "non-temporal")
	}
	if c.Grid != "" {
		parts = append(parts, c.Grid+" grid")
	}
	return strings.Join(parts, ", ")
}

// dataText returns the result of the check.
func dataText(r *record.Kernel) string {
	switch r.Verified.State {
	case record.VerifiedOK:
		if r.Verified.ULP != nil {
			return fmt.Sprintf("ok, %.2g ulp", *r.Verified.ULP)
		}
		return "ok"
	case record.VerifiedWrong:
		if r.Verified.Wrong == nil {
			return "WRONG"
		}
		return fmt.Sprintf("WRONG: %d", *r.Verified.Wrong)
	}
	return "not verified"
}

func noteText(rec *record.Record, r *record.Kernel) string {
	var notes []string
	if len(rec.World.Devices) > 1 {
		notes = append(notes, fmt.Sprintf("GPU %d", r.Device))
	}
	if r.Status != record.OK {
		notes = append(notes, string(r.Status))
	}
	if bound := r.Bound(); bound != "" {
		notes = append(notes, bound)
	}
	if r.Timing == nil && r.Status == record.OK {
		notes = append(notes, "not timed")
	}
	notes = append(notes, slice.Map(r.Warnings, func(w record.Warning) string { return w.Code })...)
	return strings.Join(notes, ", ")
}

// memoryTitle names the measurement and the device.
func memoryTitle(rec *record.Record) string {
	what := cmp.Or(map[string]string{"hbm": "Memory bandwidth"}[rec.Benchmark()], rec.Benchmark())
	if len(rec.World.Devices) == 0 {
		return what
	}
	d := rec.World.Devices[0]
	where, dtype := d.Name, ""
	if types := typesOf(rec); len(types) == 1 {
		dtype = ", " + types[0]
	}
	if n := len(rec.World.Devices); n > 1 {
		where = fmt.Sprintf("%d × %s", n, d.Name)
	}
	return fmt.Sprintf("%s of %s: %s%s", what, where, d.Kind, dtype)
}

func typesOf(rec *record.Record) []string {
	return slice.Distinct(slice.Map(rec.KernelRows(), func(r *record.Kernel) string { return r.Dtype }))
}

// memoryFooter returns the conventions of the figures, and the notes.
func memoryFooter(rec *record.Record) []string {
	return append(countings(rec), memoryNotes(rec)...)
}

// countings returns the conventions of the figures.
func countings(rec *record.Record) []string {
	var lines []string
	if slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Metrics.Rate != nil }) {
		lines = append(lines, "GB/s of the median, 1 GB = 1e9 B, with the interval that bounds it with 95 %; fastest is of the shortest time, BabelStream's headline; p95 of the 95th percentile of the times.")
	}
	for _, counting := range nonEmpty(slice.Distinct(slice.Map(rec.Kernels, func(k record.Kernel) string { return k.Counting }))...) {
		lines = append(lines, "Bytes: "+counting+".")
	}
	if slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Metrics.ToUnfused != nil }) {
		lines = append(lines, "× unfused: time kernel by kernel over the fused time. Of copy: the fused kernel's rate by its least bytes over that of a copy of as many bytes. All of this run, on the same device.")
	}
	if slices.ContainsFunc(rec.Kernels, func(r record.Kernel) bool { return r.Verified.ULP != nil }) {
		lines = append(lines, "Data: against a float64 reference; the sum of x and residual bit for bit, y by the largest difference in units in the last place (ulp).")
	}
	return lines
}

// memoryNotes returns remarks about rows and devices.
func memoryNotes(rec *record.Record) []string {
	var lines []string
	for _, r := range rec.KernelRows() {
		if r.Reason != "" {
			lines = append(lines, r.Job()+": "+r.Reason)
		}
	}
	var once []string // notes that are equal for every device
	for _, d := range rec.World.Devices {
		switch {
		case d.Kind == record.HostMemory:
			peak := "is not known"
			if d.PeakBandwidth != nil {
				peak = fmt.Sprintf("is %s (%s)", unit.Rate(*d.PeakBandwidth), d.PeakSource)
			}
			cache := ""
			if d.Cache > 0 {
				cache = ", last level of cache " + unit.Bytes(d.Cache)
			}
			lines = append(lines, fmt.Sprintf("HOST MEMORY, not a GPU's: %s of %s%s; its peak %s.", unit.Count(d.Units, "CPU"), d.Name, cache, peak))
		case d.Kind == record.Checked:
			once = append(once, "Results checked, not timed: the loopback runs the kernels thread by thread, so their times are not shown.")
		case d.Kind == record.OnLoopback:
			once = append(once, "SIMULATED: the loopback under a vendor's names; the times are of its virtual clock, not of the data moved.")
		case d.PeakBandwidth != nil:
			lines = append(lines, fmt.Sprintf("Peak of device %d: %s (%s).", d.Index, unit.Rate(*d.PeakBandwidth), d.PeakSource))
		}
	}
	lines = append(lines, slices.Compact(once)...)
	return append(lines, slice.Map(rec.Warnings, func(w record.Warning) string { return fmt.Sprintf("%s: %s. %s", w.Code, w.Message, w.Hint) })...)
}

// MemoryResults returns a table of every result, without empty columns.
func MemoryResults(rec *record.Record) table.Table {
	t := table.Table{Title: memoryTitle(rec), Notes: memoryFooter(rec), Rule: true, Groups: []table.Group{{}}}
	rows := make([]table.Row, len(rec.Kernels))
	for _, c := range memoryColumns {
		cells, filled := make([]string, len(rec.Kernels)), false
		for i := range rec.Kernels {
			cells[i] = plain.Line(c.of(rec, &rec.Kernels[i]))
			filled = filled || cells[i] != "" && cells[i] != unit.None
		}
		if !filled {
			continue
		}
		t.Columns = append(t.Columns, table.Column{Name: c.name, Right: !c.left})
		for i := range rows {
			rows[i].Cells = append(rows[i].Cells, cells[i])
		}
	}
	t.Groups[0].Rows = rows
	return t
}
