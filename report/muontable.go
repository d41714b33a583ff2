package report

import (
	"fmt"
	"strconv"

	"zbench/bench/muon"
	"zbench/bench/plain"
	"zbench/bench/table"
)

// muonTitle says what ran where.
func muonTitle(r *muon.Report) string {
	title := fmt.Sprintf("Muon on %s (%s), coefficients %s", plain.Line(r.Device), r.Backend, r.Coefficients)
	if r.Emulated {
		title += ": emulated, no rates"
	}
	return title
}

// MuonResults are a table of the figures of all shapes, where there are any, and one
// of the checks.
func MuonResults(r *muon.Report) []table.Table {
	checks := muonChecks(r.Checks)
	if r.Emulated {
		checks.Title = muonTitle(r)
		return []table.Table{checks}
	}
	figures := muonFigures(r.Shapes...)
	figures.Title, figures.Notes = muonTitle(r), muonFooter(r)
	return []table.Table{figures, checks}
}

// muonFigures are the figures of shapes, a row a kernel or sequence.
func muonFigures(shapes ...muon.ShapeFacts) table.Table {
	t := table.Of([]string{"shape", "batch", "what", "median µs", "effective TFLOP/s", "executed TFLOP/s", "HBM GB/s at least", "× own full", "× vendor"})
	for _, s := range shapes {
		for _, x := range s.Rows {
			t.Add(
				fmt.Sprintf("%dx%d", s.Shape.Rows, s.Shape.Cols), strconv.Itoa(s.Measured), plain.Line(x.What), muonFigure(x.Seconds, 1e6), muonFigure(x.Effective, 1e-12),
				muonFigure(x.Executed, 1e-12), muonFigure(x.Rate, 1e-9), muonFigure(x.ToFull, 1), muonFigure(x.ToVendor, 1),
			)
		}
	}
	return t
}

// muonChecks are the checks, a row each.
func muonChecks(checks []muon.Check) table.Table {
	t := table.Of([]string{"check", "shape", "error in all", "bar", "largest", "bar", "verdict"})
	for _, c := range checks {
		verdict := "ok"
		if !c.OK() {
			verdict = "WRONG"
		}
		t.Add(plain.Line(c.What), plain.Line(c.Shape), muonError(c.Found.Frobenius), muonError(c.Bar.Frobenius), muonError(c.Found.Max), muonError(c.Bar.Max), verdict)
	}
	return t
}

// muonFooter says what the figures compare with, and what they come to.
func muonFooter(r *muon.Report) []string {
	if r.Emulated {
		return nil
	}
	lines := []string{"vendor's products: " + plain.Line(r.Vendor)}
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
