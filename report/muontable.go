package report

import (
	"fmt"
	"slices"
	"strconv"

	"zbench/bench/muon"
	"zbench/bench/record"
)

// MuonTitle says what ran where.
func MuonTitle(rec *record.Record) string {
	coefficients := ""
	if rec.OfKernels() {
		coefficients = rec.Spec.Kernels.Coefficients
	}
	title := fmt.Sprintf("Muon on %s (%s), coefficients %s", oneLine(muonDevice(rec)), rec.Source.Backend, coefficients)
	if rec.Emulated() {
		title += ": emulated, no rates"
	}
	return title
}

func muonDevice(rec *record.Record) string {
	if len(rec.World.Devices) == 0 {
		return "an unknown device"
	}
	return rec.World.Devices[0].Name
}

// MuonFigureHead names the columns of MuonFigures, MuonCheckHead those of
// MuonChecks.
var (
	MuonFigureHead = []string{"shape", "batch", "what", "median µs", "[95 %]", "n", "n_eff", "stop", "effective TFLOP/s", "executed TFLOP/s", "HBM GB/s at least", "× own full", "× vendor"}
	MuonCheckHead  = []string{"check", "shape", "error in all", "bar", "largest", "bar", "verdict"}
)

// MuonFigures are the figures of one shape, a row a kernel or sequence.
func MuonFigures(of []*record.Kernel) [][]string {
	var rows [][]string
	for _, k := range of {
		m := k.Metrics
		row := []string{fmt.Sprintf("%dx%d", k.Shape.Rows, k.Shape.Cols), strconv.FormatInt(k.Shape.Measured, 10), oneLine(muon.What(k))}
		rows = append(rows, append(append(row, muonTimes(k.Timing)...), muonFigure(m.Effective, 1e-12),
			muonFigure(m.Executed, 1e-12), muonFigure(m.Rate, 1e-9), muonFigure(m.ToFull, 1), muonFigure(m.ToVendor, 1)))
	}
	return rows
}

// muonTimes are the median with its interval, how many samples it is of and what
// they are worth, and why the timing ended.
func muonTimes(t *record.KernelTiming) []string {
	if t == nil {
		return []string{none, none, none, none, none}
	}
	s, interval := t.Seconds, none
	if s.Lo != nil && s.Hi != nil {
		interval = "[" + muonFigure(s.Lo, 1e6) + ", " + muonFigure(s.Hi, 1e6) + "]"
	}
	return []string{muonFigure(&s.Median, 1e6), interval, strconv.Itoa(s.N), muonFigure(s.NEff, 1), oneLine(t.Stop)}
}

// MuonChecks are the checks of the rows, each once.
func MuonChecks(of []*record.Kernel) [][]string {
	var rows [][]string
	var seen []record.Check
	for _, k := range of {
		for _, c := range k.Verified.Checks {
			if slices.Contains(seen, c) {
				continue
			}
			seen = append(seen, c)
			verdict := "ok"
			if !c.OK() {
				verdict = "WRONG"
			}
			rows = append(rows, []string{oneLine(c.What), oneLine(c.Shape), muonError(c.Found.Frobenius), muonError(c.Bar.Frobenius), muonError(c.Found.Max), muonError(c.Bar.Max), verdict})
		}
	}
	return rows
}

// MuonFooter says what the figures compare with, what they come to, and what is
// missing.
func MuonFooter(rec *record.Record) []string {
	var lines []string
	if !rec.Emulated() {
		lines = append(lines, "vendor's products: "+oneLine(rec.Source.Vendor))
	}
	if s := rec.SequenceSeconds; s != nil {
		lines = append(lines, fmt.Sprintf("Newton–Schulz of all matrices on one such GPU: %.4g s per optimiser step", *s))
	}
	for _, k := range rec.Kernels {
		if k.Status != record.OK {
			lines = append(lines, oneLine(fmt.Sprintf("%s, %s: %s: %s", muon.ShapeOf(&k).Title(), muon.What(&k), k.Status, k.Reason)))
		}
		for _, w := range k.Warnings {
			lines = append(lines, oneLine(fmt.Sprintf("%s, %s: %s: %s. %s", muon.ShapeOf(&k).Title(), muon.What(&k), w.Code, w.Message, w.Hint)))
		}
	}
	for _, w := range rec.Warnings {
		lines = append(lines, oneLine(fmt.Sprintf("%s: %s. %s", w.Code, w.Message, w.Hint)))
	}
	return lines
}

// MuonText are the rows of a text form: the figures of all shapes, and all checks.
func MuonText(rec *record.Record) (figures, checks [][]string) {
	for _, rows := range muonShapes(rec) {
		if !rec.Emulated() {
			figures = append(figures, MuonFigures(rows)...)
		}
		checks = append(checks, MuonChecks(rows)...)
	}
	return figures, checks
}

func muonError(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// muonFigure is a figure in a unit, a dash where there is none.
func muonFigure(v *float64, by float64) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v*by, 'g', 4, 64)
}
