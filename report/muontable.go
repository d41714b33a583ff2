package report

import (
	"fmt"
	"strconv"

	"zbench/bench/muon"
)

// MuonTitle says what ran where.
func MuonTitle(r *muon.Report) string {
	title := fmt.Sprintf("Muon on %s (%s), coefficients %s", oneLine(r.Device), r.Backend, r.Coefficients)
	if r.Emulated {
		title += ": emulated, no rates"
	}
	return title
}

// MuonFigureHead names the columns of MuonFigures, MuonCheckHead those of
// MuonChecks.
var (
	MuonFigureHead = []string{"shape", "batch", "what", "median µs", "effective TFLOP/s", "executed TFLOP/s", "HBM GB/s at least", "× own full", "× vendor"}
	MuonCheckHead  = []string{"check", "shape", "error in all", "bar", "largest", "bar", "verdict"}
)

// MuonFigures are the figures of one shape, a row a kernel or sequence.
func MuonFigures(s muon.ShapeFacts) [][]string {
	var rows [][]string
	for _, x := range s.Rows {
		rows = append(rows, []string{
			fmt.Sprintf("%dx%d", s.Shape.Rows, s.Shape.Cols), strconv.Itoa(s.Measured), oneLine(x.What), muonFigure(x.Seconds, 1e6), muonFigure(x.Effective, 1e-12),
			muonFigure(x.Executed, 1e-12), muonFigure(x.Rate, 1e-9), muonFigure(x.ToFull, 1), muonFigure(x.ToVendor, 1),
		})
	}
	return rows
}

// MuonChecks are the checks, a row each.
func MuonChecks(checks []muon.Check) [][]string {
	var rows [][]string
	for _, c := range checks {
		verdict := "ok"
		if !c.OK() {
			verdict = "WRONG"
		}
		rows = append(rows, []string{oneLine(c.What), oneLine(c.Shape), muonError(c.Found.Frobenius), muonError(c.Bar.Frobenius), muonError(c.Found.Max), muonError(c.Bar.Max), verdict})
	}
	return rows
}

// MuonFooter says what the figures compare with, and what they come to.
func MuonFooter(r *muon.Report) []string {
	if r.Emulated {
		return nil
	}
	lines := []string{"vendor's products: " + oneLine(r.Vendor)}
	if r.Step != nil {
		lines = append(lines, fmt.Sprintf("Newton–Schulz of all matrices on one such GPU: %.4g s per optimiser step", *r.Step))
	}
	return lines
}

func muonError(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// muonFigure is a figure in a unit, a dash where there is none.
func muonFigure(v *float64, by float64) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v*by, 'g', 4, 64)
}
