package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"zbench/bench/advice"
	"zbench/bench/document"
	"zbench/bench/engine"
	"zbench/bench/gate"
	"zbench/bench/record"
	"zbench/bench/results"
	"zbench/report"
)

// printRecord writes the record to standard output. If that is a data format, a requested
// bucket size and the verdict go to standard error; quiet omits the verdict if no bucket
// size was requested.
func printRecord(s State, r sweepOutput, format string, quiet bool) error {
	readable, err := collectivesDocument.print(s, format, r)
	asked := r.advice != nil && !r.advice.IsAssumed()
	if err != nil || readable || quiet && !asked {
		return err
	}
	if asked && r.advice.Answered() {
		if err := r.advice.WriteText(s.Stderr); err != nil {
			return err
		}
	}
	_, err = io.WriteString(s.Stderr.unescaped(), verdictText(s, s.Stderr, r))
	return err
}

// writeDrawn writes the files that follow from the record, which lies in folder, from the
// recommendation and from the outcome of thresholds. The page has the folder's name, not its path on this machine.
func writeDrawn(dir *engine.Folder, folder string, rec *record.Record, d *advice.Document, gates *gate.Report) error {
	answer := kneesOf(rec)
	page := results.Collectives(rec, results.Extras{Knees: &answer, Advice: d, Command: reproduce(rec), Folder: filepath.Base(folder)})
	gates.AddTo(page)
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
	return writeCharts(dir, page)
}

// writeCharts writes the page's charts as files of their own.
func writeCharts(dir *engine.Folder, page *document.Document) error {
	for _, c := range page.Charts() {
		if err := dir.Write(c.ID+".png", func(w io.Writer) error { return report.WritePNG(w, c) }); err != nil {
			return err
		}
		if err := dir.Write(c.ID+".svg", func(w io.Writer) error { return report.WriteSVG(w, c) }); err != nil {
			return err
		}
	}
	return nil
}

// artifact is a file that a folder gets.
type artifact struct {
	name string
	fill func(io.Writer) error
}

// keepDocument writes what a command leaves of its document: its files, the page with its
// charts, and run.json.
func keepDocument(dir *engine.Folder, s State, started time.Time, page *document.Document, files []artifact) error {
	files = append(files, artifact{"report.html", func(w io.Writer) error { return report.WriteHTML(w, page) }})
	for _, f := range files {
		if err := dir.Write(f.name, f.fill); err != nil {
			return err
		}
	}
	if err := writeCharts(dir, page); err != nil {
		return err
	}
	return writeRun(dir, s, started)
}

func writeRun(dir *engine.Folder, s State, started time.Time) error {
	return writeRunOf(dir, s, started, nil, nil)
}

// writeRunOf also has what was checked before the run, and what leading other processes took.
func writeRunOf(dir *engine.Folder, s State, started time.Time, checks []record.Preflight, control *record.Control) error {
	now := s.Now()
	return dir.Write(engine.RunFile, func(w io.Writer) error {
		text, err := json.MarshalIndent(record.Run{
			Schema: record.RunSchema, Started: started.UTC(), Finished: now.UTC(), Seconds: now.Sub(started).Seconds(),
			Args: s.Args, Host: s.Hostname(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: s.Host().CPUs,
			Preflight: checks, Control: control,
		}, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	})
}
