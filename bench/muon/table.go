package muon

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// title says what ran where.
func title(rec *record.Record) string {
	coefficients := ""
	if rec.OfKernels() {
		coefficients = rec.Spec.Kernels.Coefficients
	}
	title := fmt.Sprintf("Muon on %s (%s), coefficients %s", plain.Line(device(rec)), rec.Source.Backend, coefficients)
	if rec.Emulated() {
		title += ": emulated, no rates"
	}
	return title
}

func device(rec *record.Record) string {
	if len(rec.World.Devices) == 0 {
		return "an unknown device"
	}
	return rec.World.Devices[0].Name
}

// results are a table of the figures of all shapes, where there are any, and one
// of the checks.
func results(rec *record.Record) []table.Table {
	rows := slices.Concat(rowsByShape(rec)...)
	checks := checks(rows)
	if rec.Emulated() {
		checks.Title, checks.Notes = title(rec), footer(rec)
		return []table.Table{checks}
	}
	figures := figures(rows)
	figures.Title, figures.Notes = title(rec), footer(rec)
	return []table.Table{figures, checks}
}

// figures are the figures of rows, a row a kernel or sequence.
func figures(of []*record.Kernel) table.Table {
	t := table.Of([]string{"shape", "batch", "what", "median µs", "[95 %]", "n", "n_eff", "stop", "effective TFLOP/s", "executed TFLOP/s", "HBM GB/s at least", "of peak", "× own full", "× vendor", "GPU at", "notes"})
	for _, k := range of {
		m, ofPeak := k.Metrics, unit.None
		if m.OfPeak != nil {
			ofPeak = unit.Percent(*m.OfPeak)
		}
		row := []string{fmt.Sprintf("%dx%d", k.Shape.Rows, k.Shape.Cols), strconv.FormatInt(k.Shape.Measured, 10), plain.Line(What(k))}
		t.Add(append(append(row, times(k.Timing)...), figure(m.Effective, 1e-12),
			figure(m.Executed, 1e-12), figure(m.Rate, 1e-9), ofPeak, figure(m.ToFull, 1), figure(m.ToVendor, 1), cmp.Or(k.Timing.ConditionsText(), unit.None), cmp.Or(k.Bound(), unit.None))...)
	}
	return t
}

// times are the median with its interval, how many samples it is of and what
// they are worth, and why the timing ended.
func times(t *record.KernelTiming) []string {
	if t == nil {
		return []string{unit.None, unit.None, unit.None, unit.None, unit.None}
	}
	s, interval := t.Seconds, unit.None
	if s.Lo != nil && s.Hi != nil {
		interval = "[" + figure(s.Lo, 1e6) + ", " + figure(s.Hi, 1e6) + "]"
	}
	return []string{figure(&s.Median, 1e6), interval, strconv.Itoa(s.N), figure(s.NEff, 1), plain.Line(t.Stop)}
}

// checks are the checks of the rows, each once for a shape.
func checks(of []*record.Kernel) table.Table {
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
			if seen[one] {
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

// footer says what the figures compare with, what they come to, and what is
// missing.
func footer(rec *record.Record) []string {
	var lines []string
	if !rec.Emulated() {
		lines = append(lines, "vendor's products: "+plain.Line(rec.Source.Vendor))
	}
	if s := rec.SequenceSeconds; s != nil {
		lines = append(lines, fmt.Sprintf("Newton–Schulz of all matrices on one such GPU: %.4g s per optimiser step", *s))
	}
	for _, k := range rec.Kernels {
		if k.Status != record.OK {
			lines = append(lines, plain.Line(fmt.Sprintf("%s, %s: %s: %s", ShapeOf(&k).Title(), What(&k), k.Status, k.Reason)))
		}
		for _, w := range k.Warnings {
			lines = append(lines, plain.Line(fmt.Sprintf("%s, %s: %s: %s. %s", ShapeOf(&k).Title(), What(&k), w.Code, w.Message, w.Hint)))
		}
	}
	for _, w := range rec.Warnings {
		lines = append(lines, plain.Line(fmt.Sprintf("%s: %s. %s", w.Code, w.Message, w.Hint)))
	}
	return lines
}

func errorText(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// figure is a figure in a unit, a dash if there is none.
func figure(v *float64, by float64) string {
	if v == nil {
		return unit.None
	}
	return strconv.FormatFloat(*v*by, 'g', 4, 64)
}
