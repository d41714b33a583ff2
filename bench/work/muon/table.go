package muon

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// title says what was run, and where.
func title(rec *record.Record) string {
	coefficients := ""
	if rec.OfKernels() {
		coefficients = rec.Spec.Kernels.Coefficients
	}
	title := fmt.Sprintf("Muon on %s (%s), coefficients %s", plain.Line(rec.DeviceName()), rec.Source.Backend, coefficients)
	if rec.Emulated() {
		title += ": emulated, no rates"
	}
	return title
}

// results returns a table with the figures of all shapes, if there are any, and a table with the
// checks.
func results(rec *record.Record) []table.Table {
	rows := slices.Concat(rowsByShape(rec)...)
	checks := checks(rows, every)
	if rec.Emulated() {
		checks.Title, checks.Notes = title(rec), footer(rec)
		return []table.Table{checks}
	}
	figures := figures(rows)
	figures.Title, figures.Notes = title(rec), footer(rec)
	return []table.Table{figures, checks}
}

// short returns the results for a terminal, in at most 100 columns: the relevant rate of each row,
// and the checks that failed. If nothing was timed, it returns all checks.
func short(rec *record.Record) []table.Table {
	if rec.Emulated() {
		return results(rec)
	}
	t := table.Of([]string{"what", "median", "rate", "of peak", "× own full", "× vendor", "GPU at"})
	for i := 1; i < len(t.Columns); i++ {
		t.Columns[i].Right = true
	}
	t.Title, t.Notes, t.By, t.Rule = title(rec), shortFooter(rec), []string{"shape"}, true
	rows := slices.Concat(rowsByShape(rec)...)
	for _, k := range rows {
		rate, ofPeak := rateOf(rec, k)
		median, at := unit.None, unit.None
		if k.Timing != nil {
			median = unit.Seconds(k.Timing.Seconds.Median)
		}
		if hz, _ := k.Timing.Clock(); hz > 0 {
			at = unit.Hertz(hz)
		}
		what := strings.Replace(strings.ReplaceAll(What(k), k.Library, libraryName(k.Library)), "own triangles and", "ours and", 1)
		t.AddTo(plain.Line(ShapeOf(k).Title()), plain.Line(what), median, rate, ofPeak, ratio(k.Metrics.ToFull), ratio(k.Metrics.ToVendor), at)
	}
	out := []table.Table{t}
	if failed := checks(rows, func(c record.Check) bool { return !c.OK() }); failed.Filled() {
		out = append(out, failed)
	}
	return out
}

// rateOf returns the relevant rate of a row and its share of the published peak. The rate counts
// operations for products and moved bytes for passes over memory.
func rateOf(rec *record.Record, k *record.Kernel) (rate, ofPeak string) {
	m, rate, ofPeak := k.Metrics, unit.None, unit.None
	switch {
	case m.Effective != nil:
		rate = unit.Flops(*m.Effective)
		if peak := device.PeakOf(rec.DeviceName(), k.Dtype); peak > 0 && m.Executed != nil {
			ofPeak = unit.Percent(*m.Executed / peak)
		}
	case m.Rate != nil:
		rate = unit.Rate(*m.Rate)
		if m.OfPeak != nil {
			ofPeak = unit.Percent(*m.OfPeak)
		}
	}
	return rate, ofPeak
}

// libraryName returns the name of a library from its file name: libcublas.so.13 is cublas.
func libraryName(file string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(file, "lib"), ".so")
	return name
}

func ratio(v *float64) string {
	if v == nil {
		return unit.None
	}
	return fmt.Sprintf("%.2f", *v)
}

// figures returns a table with one row per kernel or sequence, the most important rows first.
func figures(of []*record.Kernel) table.Table {
	t := table.Of([]string{"shape", "batch", "what", "median µs", "effective TFLOP/s", "executed TFLOP/s", "× own full", "× vendor", "HBM GB/s at least", "of peak", "GPU at", "notes", "[95 %]", "n", "n_eff", "stop"})
	for i := 3; i < 10; i++ {
		t.Columns[i].Right = true
	}
	for _, k := range of {
		m, ofPeak := k.Metrics, unit.None
		if m.OfPeak != nil {
			ofPeak = unit.Percent(*m.OfPeak)
		}
		median, interval, n, effective, stop := unit.None, unit.None, unit.None, unit.None, unit.None
		if k.Timing != nil {
			s := k.Timing.Seconds
			if s.Lo != nil && s.Hi != nil {
				interval = "[" + figure(s.Lo, 1e6) + ", " + figure(s.Hi, 1e6) + "]"
			}
			median, n, effective, stop = figure(&s.Median, 1e6), strconv.Itoa(s.N), figure(s.NEff, 1), plain.Line(k.Timing.Stop)
		}
		t.Add(
			fmt.Sprintf("%dx%d", k.Shape.Rows, k.Shape.Cols), strconv.FormatInt(k.Shape.Measured, 10), plain.Line(What(k)), median, figure(m.Effective, 1e-12), figure(m.Executed, 1e-12),
			figure(m.ToFull, 1), figure(m.ToVendor, 1), figure(m.Rate, 1e-9), ofPeak, cmp.Or(k.Timing.ConditionsText(), unit.None), cmp.Or(k.Bound(), unit.None), interval, n, effective, stop,
		)
	}
	return t
}

func every(record.Check) bool { return true }

// checks returns a table of the checks that shown selects, each once per shape.
func checks(of []*record.Kernel, shown func(record.Check) bool) table.Table {
	t := table.Of([]string{"check", "shape", "error in all", "bar", "largest", "bar", "verdict"})
	for i := 2; i < 6; i++ {
		t.Columns[i].Right = true
	}
	type once struct {
		record.Check
		of Shape
	}
	seen := map[once]bool{}
	for _, k := range of {
		for _, c := range k.Verified.Checks {
			one := once{c, ShapeOf(k)}
			if seen[one] || !shown(c) {
				continue
			}
			seen[one] = true
			verdict := "ok"
			if !c.OK() {
				verdict = "WRONG"
			}
			t.Add(plain.Line(c.What), plain.Line(c.Shape), errorText(c.Found.Frobenius), errorText(c.Bar.Frobenius), errorText(c.Found.Max), errorText(c.Bar.Max), verdict)
		}
	}
	return t
}

// footer says what the figures are compared with, which references are missing, and lists every
// warning.
func footer(rec *record.Record) []string {
	return notes(rec, slice.Map(rowWarnings(rec), func(w rowWarning) string {
		return fmt.Sprintf("%s, %s: %s: %s. %s", ShapeOf(w.row).Title(), What(w.row), w.Code, w.Message, w.Hint)
	}))
}

// shortFooter returns the same as footer, but only the number of warnings about rows.
func shortFooter(rec *record.Record) []string {
	lines := []string{"rate: of products the operations that they stand for; of peak: those that were executed, of passes the bytes"}
	codes, of := slice.Group(rowWarnings(rec), func(w rowWarning) string { return w.Code })
	for _, code := range codes {
		lines = append(lines, fmt.Sprintf("%s: %s; the page says which", code, unit.Count(len(of[code]), "row")))
	}
	return notes(rec, lines)
}

// rowWarning is a warning with its row.
type rowWarning struct {
	record.Warning
	row *record.Kernel
}

func rowWarnings(rec *record.Record) (all []rowWarning) {
	for _, k := range rec.KernelRows() {
		for _, w := range k.Warnings {
			all = append(all, rowWarning{w, k})
		}
	}
	return all
}

// notes says what the figures are compared with, and which rows have no reference. It adds remarks
// on rows, and the warnings of the run.
func notes(rec *record.Record, ofRows []string) []string {
	var lines []string
	if !rec.Emulated() {
		lines = append(lines, "vendor's products: "+rec.Source.Vendor)
	}
	for _, k := range rec.KernelRows() {
		if k.Status != record.OK {
			lines = append(lines, fmt.Sprintf("%s, %s: %s: %s", ShapeOf(k).Title(), What(k), k.Status, k.Reason))
		}
	}
	lines = append(lines, ofRows...)
	for _, w := range rec.Warnings {
		lines = append(lines, fmt.Sprintf("%s: %s. %s", w.Code, w.Message, w.Hint))
	}
	return slice.Map(lines, plain.Line)
}

func errorText(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// figure formats a figure multiplied by a factor. A missing figure becomes a dash.
func figure(v *float64, by float64) string {
	if v == nil {
		return unit.None
	}
	return strconv.FormatFloat(*v*by, 'g', 4, 64)
}
