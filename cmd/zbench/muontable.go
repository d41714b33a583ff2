package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	method "zbench/bench/muon"
	"zbench/bench/plain"
	"zbench/report"
)

// muonFormats are the ways to print a report of kernels muon.
var muonFormats = []struct {
	name  string
	write func(io.Writer, *method.Report) error
}{
	{"table", func(w io.Writer, r *method.Report) error { return muonText(w, r, tabbed) }},
	{"json", method.Encode},
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
		cells := make([]string, len(row))
		for c := range row {
			cells[c] = plain.Markdown(row[c])
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
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
	if _, err := fmt.Fprintf(w, "%s\n\n", report.MuonTitle(r)); err != nil {
		return err
	}
	if !r.Emulated {
		rows := [][]string{report.MuonFigureHead}
		for _, s := range r.Shapes {
			rows = append(rows, report.MuonFigures(s)...)
		}
		if err := table(w, rows); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n\n", strings.Join(report.MuonFooter(r), "\n")) //nolint:errcheck // the table below says it
	}
	return table(w, append([][]string{report.MuonCheckHead}, report.MuonChecks(r.Checks)...))
}

// muonCSV writes the figures alone, in base units.
func muonCSV(w io.Writer, r *method.Report) error {
	c := csv.NewWriter(w)
	figure := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	err := c.Write([]string{"name", "rows", "cols", "measured_batch", "what", "median_seconds", "samples", "effective_flops", "executed_flops", "least_bytes", "bytes_per_second", "times_own_full", "times_vendor"})
	for _, s := range r.Shapes {
		for _, x := range s.Rows {
			if err == nil {
				err = c.Write(plain.Row([]string{
					s.Shape.Name, strconv.Itoa(s.Shape.Rows), strconv.Itoa(s.Shape.Cols), strconv.Itoa(s.Measured), x.What, figure(x.Seconds), strconv.Itoa(x.Samples),
					figure(x.Effective), figure(x.Executed), figure(&x.Bytes), figure(x.Rate), figure(x.ToFull), figure(x.ToVendor),
				}))
			}
		}
	}
	c.Flush()
	if err != nil {
		return err
	}
	return c.Error()
}
