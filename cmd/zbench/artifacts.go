package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"zbench/bench/advice"
	"zbench/bench/bucket"
	"zbench/bench/engine"
	"zbench/bench/record"
	"zbench/report"
)

// formats are the forms of standard output.
var formats = []struct {
	name  string
	write func(io.Writer, *record.Record) error
}{
	{"table", func(w io.Writer, rec *record.Record) error { return report.WriteTable(w, rec, "table") }},
	{"markdown", func(w io.Writer, rec *record.Record) error { return report.WriteTable(w, rec, "markdown") }},
	{"csv", record.WriteCSV},
	{"json", record.Encode},
}

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func checkFormat(name string) error {
	if !slices.Contains(formatNames(), name) {
		return usagef("", "unknown format %q: valid are %s", name, strings.Join(formatNames(), ", "))
	}
	return nil
}

// printRecord writes the record to standard output, and the sizes near the
// plateau after it: behind a table to standard output, else to standard error,
// so that machine-readable output stays alone. Quiet leaves them out there, unless a
// bucket size was asked for.
func printRecord(s State, rec *record.Record, d *advice.Document, format string, quiet bool) error {
	for _, f := range formats {
		if f.name == format {
			if err := f.write(s.Stdout, rec); err != nil {
				return err
			}
		}
	}
	to := s.Stdout
	switch {
	case format != "table" && quiet && d == nil:
		return nil
	case format != "table":
		to = s.Stderr
	}
	if _, err := io.WriteString(to, "\n"); err != nil {
		return err
	}
	if d.Answered() || d != nil && d.Answer.Refusal == nil {
		return d.WriteText(to)
	}
	answer := bucket.Knees(rec)
	if err := answer.WriteText(to); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "\n%s\n", answer.Sentence())
	return err
}

// writeDrawn leaves what can be drawn again from the record and the recommendation.
func writeDrawn(dir *engine.Folder, rec *record.Record, d *advice.Document) error {
	answer := bucket.Knees(rec)
	page := report.Build(rec, bucketView(answer))
	if d != nil {
		page.Advise(d)
	}
	page.Command = reproduce(rec)
	files := []struct {
		name string
		fill func(io.Writer) error
	}{
		{"results.csv", func(w io.Writer) error { return record.WriteCSV(w, rec) }},
		{"bucket.json", answer.WriteJSON},
		{"report.html", func(w io.Writer) error { return report.WriteHTML(w, page) }},
	}
	for _, f := range files {
		if err := dir.Write(f.name, f.fill); err != nil {
			return err
		}
	}
	for _, c := range page.AllCharts() {
		if err := dir.Write(c.ID+".png", func(w io.Writer) error { return report.WritePNG(w, c) }); err != nil {
			return err
		}
		if err := dir.Write(c.ID+".svg", func(w io.Writer) error { return report.WriteSVG(w, c) }); err != nil {
			return err
		}
	}
	return nil
}

func writeRun(dir *engine.Folder, s State, started time.Time) error {
	now := s.Now()
	return dir.Write(engine.RunFile, func(w io.Writer) error {
		text, err := json.MarshalIndent(record.Run{
			Schema: record.RunSchema, Started: started.UTC(), Finished: now.UTC(), Seconds: now.Sub(started).Seconds(),
			Args: s.Args, Host: s.Hostname(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: s.Host().CPUs,
		}, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	})
}

// bucketView is the part of the answer that the page shows.
func bucketView(a bucket.Answer) *report.Bucket {
	b := &report.Bucket{Headline: a.Sentence()}
	for i := range a.Curves {
		c := &a.Curves[i]
		name := curveName(c)
		if c.Reason != "" {
			b.Caveats = append(b.Caveats, name+": "+c.Reason)
			continue
		}
		note := ""
		if !c.Saturated {
			note = "still rising at the end of the sweep"
		}
		b.Plateaus = append(b.Plateaus, report.Plateau{Collective: name, BusBW: c.PlateauBusBW, Note: note})
		for _, p := range c.Points {
			line := report.BucketLine{
				Collective: name, Fraction: p.Fraction,
				Bytes: p.Bytes, Elements: p.Elements, PerRankBytes: p.PerRankBytes, BusBW: p.BusBW,
			}
			if p.AtSmallestSize {
				line.Note = "at the smallest size of the sweep already"
			}
			b.Lines = append(b.Lines, line)
		}
	}
	for _, n := range a.Needs {
		b.Needs = append(b.Needs, n.What+": "+n.How)
	}
	for _, w := range a.Warnings {
		b.Caveats = append(b.Caveats, w.Message+" — "+w.Hint)
	}
	return b
}

// curveName tells a curve from the others of its collective.
func curveName(c *bucket.Curve) string {
	name := c.Collective
	if c.Groups > 1 {
		name += fmt.Sprintf(", groups of %d", c.Ranks)
	}
	if c.Stride > 0 {
		name += fmt.Sprintf(", %d apart", c.Stride)
	}
	if c.InPlace {
		name += ", in place"
	}
	if c.Setup != "" {
		name += ", " + c.Setup
	}
	return name
}
