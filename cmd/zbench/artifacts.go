package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"zbench/bench/advice"
	"zbench/bench/bucket"
	"zbench/bench/record"
	"zbench/report"
)

// printRecord writes the record to standard output, and the sizes near the
// plateau after it: behind a table to standard output, else to standard error,
// so that machine-readable output stays alone. Quiet leaves them out there, unless a
// bucket size was asked for.
func printRecord(s State, rec *record.Record, d *advice.Document, format string, quiet bool) error {
	readable, err := collectivesDocument.print(s, format, rec)
	if err != nil {
		return err
	}
	to := s.Stdout
	switch {
	case !readable && quiet && d == nil:
		return nil
	case !readable:
		to = s.Stderr
	}
	if _, err := io.WriteString(to, "\n"); err != nil {
		return err
	}
	if answered(d) || d != nil && d.Answer.Refusal == nil {
		return d.WriteText(to)
	}
	answer := bucket.Knees(rec)
	if err := answer.WriteText(to); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "\n%s\n", answer.Sentence())
	return err
}

// writeAll leaves a record and everything drawn from it in the folder, the
// record first: nothing that fails later can lose it. d is nil where nothing was
// recommended.
func writeAll(dir *folder, rec *record.Record, d *advice.Document) error {
	if err := dir.write("results.json", func(w io.Writer) error { return record.Encode(w, rec) }); err != nil {
		return err
	}
	return writeDrawn(dir, rec, d)
}

// writeDrawn leaves what can be drawn again from the record and the recommendation.
func writeDrawn(dir *folder, rec *record.Record, d *advice.Document) error {
	if d != nil {
		if err := dir.write(adviceFile, d.WriteJSON); err != nil {
			return err
		}
	}
	answer := bucket.Knees(rec)
	command := reproduce(rec)
	if d != nil && rec.Sweep != nil && len(rec.Sweep.Further) > 0 {
		command += " " + strings.Join(d.Asked, " ") // they decide which cases were added
	}
	page := report.Collectives(rec, report.Extras{Knees: &answer, Advice: d, Command: command})
	files := []struct {
		name string
		fill func(io.Writer) error
	}{
		{"results.csv", func(w io.Writer) error { return record.WriteCSV(w, rec) }},
		{"bucket.json", answer.WriteJSON},
		{"report.html", func(w io.Writer) error { return report.WriteHTML(w, page) }},
	}
	for _, f := range files {
		if err := dir.write(f.name, f.fill); err != nil {
			return err
		}
	}
	for _, c := range page.Charts() {
		if err := dir.write(c.ID+".png", func(w io.Writer) error { return report.WritePNG(w, c) }); err != nil {
			return err
		}
		if err := dir.write(c.ID+".svg", func(w io.Writer) error { return report.WriteSVG(w, c) }); err != nil {
			return err
		}
	}
	return nil
}

// run is run.json: facts of the tool's own run, kept out of the record so that
// a record depends on nothing but its input.
type run struct {
	Schema   string    `json:"schema"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Seconds  float64   `json:"seconds"`
	Args     []string  `json:"args"`
	Host     string    `json:"host"`
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
	CPUs     int       `json:"cpus"`
}

func writeRun(dir *folder, s State, started time.Time) error {
	now := s.Now()
	return dir.write("run.json", func(w io.Writer) error {
		text, err := json.MarshalIndent(run{
			Schema: "zbench.run/1", Started: started.UTC(), Finished: now.UTC(), Seconds: now.Sub(started).Seconds(),
			Args: s.Args, Host: s.Hostname(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: s.Host().CPUs,
		}, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	})
}

// reproduce is the command line that makes the record again.
func reproduce(rec *record.Record) string { return strings.Join(reproduceArgs(rec), " ") }

func reproduceArgs(rec *record.Record) []string {
	if rec.Sweep == nil {
		var files []string
		for _, i := range rec.Source.Imports {
			files = append(files, i.File)
		}
		return append([]string{"zbench", "import"}, files...)
	}
	w, p := rec.World, rec.Sweep
	line := append([]string{"zbench", "collectives"}, p.Collectives...)
	line = append(line, "--backend", rec.Source.Backend)
	if rec.Fabric != nil {
		line = append(line, "--fabric", rec.Fabric.Name, "--seed", fmt.Sprint(p.Seed))
	}
	place := "both"
	if len(p.InPlace) == 1 {
		place = map[bool]string{false: "out", true: "in"}[p.InPlace[0]]
	}
	line = append(line, strings.Fields(fmt.Sprintf("--nodes %d --gpus-per-node %d -g %d -b %d -e %d -d %s -o %s -n %d -w %d -c %d --precision %g --max-time %g --place %s --cache %s",
		w.Nodes, w.GPUsPerNode, w.GPUsPerProcess, p.MinBytes, p.MaxBytes, p.Dtype, p.Op, p.Iterations, p.Warmup, p.Checks, p.Precision, p.MaxTime, place, p.Cache))...)
	if w.RanksPerGPU > 1 {
		line = append(line, "--ranks-per-gpu", fmt.Sprint(w.RanksPerGPU))
	}
	return append(line, reproduceRest(p)...)
}

// reproduceRest are the flags that a sweep has or has not.
func reproduceRest(p *record.Sweep) []string {
	line := []string{"-f", fmt.Sprint(p.Factor)}
	if p.StepBytes > 0 {
		line = []string{"-i", fmt.Sprint(p.StepBytes)}
	}
	if p.GraphLaunches > 0 {
		line = append(line, "-G", fmt.Sprint(p.GraphLaunches))
	}
	for _, g := range p.Groups {
		line = append(line, "--groups", fmt.Sprint(g))
	}
	for _, s := range p.Strides {
		line = append(line, "--strides", fmt.Sprint(s))
	}
	for _, n := range p.Scales {
		line = append(line, "--scale", fmt.Sprint(n))
	}
	for _, f := range p.Faults {
		line = append(line, "--fault", f)
	}
	return line
}
