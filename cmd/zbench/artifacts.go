package main

import (
	"encoding/json"
	"io"
	"runtime"
	"time"

	"zbench/bench/advice"
	"zbench/bench/document"
	"zbench/bench/engine"
	"zbench/bench/gate"
	"zbench/bench/record"
	"zbench/bench/results"
)

// shownRecord is a record of collectives with what a command shows of it.
type shownRecord struct {
	*record.Record
	advice *advice.Document
	gates  *gate.Report
	strict bool
	// folder is where the record lies.
	folder string
}

// document is the record for its readers; of a terminal of so many columns, 0 for none.
func (r shownRecord) document(width int) *document.Document {
	answer := kneesOf(r.Record)
	d := results.Collectives(r.Record, results.Extras{Knees: &answer, Advice: r.advice, Command: reproduce(r.Record), Folder: r.folder, Width: width})
	r.gates.AddTo(d, r.strict)
	return d
}

// keep writes the files that follow from the record.
func (r shownRecord) keep(dir *engine.Folder) error {
	answer := kneesOf(r.Record)
	return writeFiles(dir, append(artifacts(r.document(0), "results"), artifact{"knees.json", answer.WriteJSON}))
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
