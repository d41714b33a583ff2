package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"zbench/bench/engine"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/report"
)

// drawKernels writes what can be made again of a record of kernels.
func drawKernels(dir *engine.Folder, rec *record.Record) error {
	if err := dir.Write("results.csv", func(w io.Writer) error { return record.WriteCSV(w, rec) }); err != nil {
		return err
	}
	draw := report.WriteMemoryHTML
	if rec.Benchmark() == spec.Muon {
		draw = report.WriteMuonHTML
	}
	return dir.Write("report.html", func(w io.Writer) error { return draw(w, rec, reproduce(rec)) })
}

// printKernels writes a record of kernels in one of the formats.
func printKernels(w io.Writer, rec *record.Record, format string) error {
	switch format {
	case "csv":
		return record.WriteCSV(w, rec)
	case "json":
		return record.Encode(w, rec)
	}
	var b bytes.Buffer
	var err error
	if rec.Benchmark() == spec.Muon {
		err = muonText(&b, rec, map[string]func(io.Writer, [][]string) error{"table": tabbed, "markdown": piped}[format])
	} else {
		err = report.WriteMemoryTable(&b, rec, format)
	}
	if err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// muonText writes heading, figures and checks.
func muonText(w io.Writer, rec *record.Record, table func(io.Writer, [][]string) error) error {
	fmt.Fprintf(w, "%s\n\n", report.MuonTitle(rec)) //nolint:errcheck // a buffer
	figures, checks := report.MuonText(rec)
	if len(figures) > 0 {
		if err := table(w, append([][]string{report.MuonFigureHead}, figures...)); err != nil {
			return err
		}
		fmt.Fprintln(w) //nolint:errcheck // a buffer
	}
	if lines := report.MuonFooter(rec); len(lines) > 0 {
		fmt.Fprintf(w, "%s\n\n", strings.Join(lines, "\n")) //nolint:errcheck // a buffer
	}
	return table(w, append([][]string{report.MuonCheckHead}, checks...))
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
