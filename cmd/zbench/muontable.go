package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	method "zbench/bench/muon"
)

// muonFormats are the ways to print a report of kernels muon.
var muonFormats = []struct {
	name  string
	write func(io.Writer, *method.Report) error
}{
	{"table", func(w io.Writer, r *method.Report) error { return muonText(w, r, tabbed) }},
	{"json", func(w io.Writer, r *method.Report) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}},
	{"csv", muonCSV},
	{"markdown", func(w io.Writer, r *method.Report) error { return muonText(w, r, piped) }},
}

func muonFormatNames() []string {
	var names []string
	for _, f := range muonFormats {
		names = append(names, f.name)
	}
	return names
}

func validMuonFormat(name string) bool {
	for _, f := range muonFormats {
		if f.name == name {
			return true
		}
	}
	return false
}

// tabbed and piped write rows, the first of them the header.
func tabbed(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

func piped(w io.Writer, rows [][]string) error {
	for i, row := range rows {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintf(w, "|%s\n", strings.Repeat(" --- |", len(row))); err != nil {
				return err
			}
		}
	}
	return nil
}

// muonText writes heading, figures and checks.
func muonText(w io.Writer, r *method.Report, table func(io.Writer, [][]string) error) error {
	heading := fmt.Sprintf("Muon on %s (%s), coefficients %s", r.Device, r.Backend, r.Coefficients)
	if r.Emulated {
		heading += ": emulated, no rates"
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", heading); err != nil {
		return err
	}
	if !r.Emulated {
		rows := [][]string{{"shape", "batch", "what", "median µs", "effective TFLOP/s", "executed TFLOP/s", "HBM GB/s at least", "× own full", "× vendor"}}
		for _, s := range r.Shapes {
			for _, x := range s.Rows {
				rows = append(rows, []string{
					fmt.Sprintf("%dx%d", s.Shape.Rows, s.Shape.Cols), strconv.Itoa(s.Measured), x.What, scaled(x.Seconds, 1e6), scaled(x.Effective, 1e-12),
					scaled(x.Executed, 1e-12), scaled(x.Rate, 1e-9), scaled(x.ToFull, 1), scaled(x.ToVendor, 1),
				})
			}
		}
		if err := table(w, rows); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "\nvendor's products: %s\n", r.Vendor); err != nil {
			return err
		}
		if r.Step != nil {
			if _, err := fmt.Fprintf(w, "Newton–Schulz of all matrices on one such GPU: %.4g s per optimiser step\n", *r.Step); err != nil {
				return err
			}
		}
		fmt.Fprintln(w) //nolint:errcheck // the table below says it
	}
	rows := [][]string{{"check", "shape", "error in all", "bar", "largest", "bar", "verdict"}}
	for _, c := range r.Checks {
		verdict := "ok"
		if !c.OK() {
			verdict = "WRONG"
		}
		rows = append(rows, []string{c.What, c.Shape, short(c.Found.Frobenius), short(c.Bar.Frobenius), short(c.Found.Max), short(c.Bar.Max), verdict})
	}
	return table(w, rows)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// scaled is a figure in a unit, a dash where there is none.
func scaled(v *float64, by float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v*by, 'g', 4, 64)
}

// muonCSV writes the figures alone, in base units.
func muonCSV(w io.Writer, r *method.Report) error {
	c := csv.NewWriter(w)
	plain := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	err := c.Write([]string{"name", "rows", "cols", "measured_batch", "what", "median_seconds", "samples", "effective_flops", "executed_flops", "least_bytes", "bytes_per_second", "times_own_full", "times_vendor"})
	for _, s := range r.Shapes {
		for _, x := range s.Rows {
			if err == nil {
				err = c.Write([]string{
					s.Shape.Name, strconv.Itoa(s.Shape.Rows), strconv.Itoa(s.Shape.Cols), strconv.Itoa(s.Measured), x.What, plain(x.Seconds), strconv.Itoa(x.Samples),
					plain(x.Effective), plain(x.Executed), plain(&x.Bytes), plain(x.Rate), plain(x.ToFull), plain(x.ToVendor),
				})
			}
		}
	}
	c.Flush()
	if err != nil {
		return err
	}
	return c.Error()
}
