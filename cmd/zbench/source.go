package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"zbench/bench/advice"
	"zbench/bench/engine"
	"zbench/bench/recommend"
	"zbench/bench/record"
)

// readSource reads a record or a log with its samples, where a journal lies
// beside the record and is of the same sweep.
func readSource(s State, path string) (recommend.Source, error) {
	rec, err := readEither(s, path)
	if err != nil {
		return recommend.Source{}, err
	}
	return sourceOf(s, path, rec), nil
}

// sourceWith is a record with samples, with what it shows to be mended first and how it is measured
// again.
func sourceWith(rec *record.Record, parts []record.Part) recommend.Source {
	of := recommend.SourceOf(rec, parts)
	of.Fault, of.Again = faultOf(rec), again(rec)
	return of
}

// sourceOf is the record that was read from path, with its samples. A journal beside it that
// cannot give them is named: without samples the figures may be others.
func sourceOf(s State, path string, rec *record.Record) recommend.Source {
	dir := path
	if info, err := s.FS.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
		if filepath.Base(path) != engine.ResultsFile && filepath.Base(path) != engine.JournalFile {
			return sourceWith(rec, nil)
		}
	}
	file := filepath.Join(dir, engine.JournalFile)
	text, err := s.FS.ReadFile(file)
	if err != nil {
		return sourceWith(rec, nil) // a record need not have a journal
	}
	j, err := engine.ReadJournal(file, text)
	if err == nil && (j.Header.Record.Run != rec.Run || !j.Header.Record.Created.Equal(rec.Created)) {
		err = fmt.Errorf("%s: it is of another run than the record", file)
	}
	if err != nil {
		s.note(false, "The samples of the journal are ignored: %s\n", err)
		return sourceWith(rec, nil)
	}
	return sourceWith(rec, j.Parts)
}

// checkSamples warns in the record, and at once, of samples beside its file that are not
// those that zbench wrote.
func checkSamples(s State, file string, rec *record.Record) {
	dir := filepath.Dir(file)
	index, err := s.FS.ReadFile(filepath.Join(dir, engine.SamplesIndexFile))
	if err != nil {
		return // a record need not have samples
	}
	values, err := s.FS.ReadFile(filepath.Join(dir, engine.SamplesFile))
	if err != nil {
		return
	}
	if w := record.CheckSamples(rec, index, values); w != nil {
		rec.Warnings = append(rec.Warnings, *w)
		s.note(false, "EDITED: %s: %s.\n", dir, w.Message)
	}
}

// readAdvice reads the recommendation that lies in a record's folder; nil is none,
// or one of curves that were measured before.
func readAdvice(s State, dir string, rec *record.Record) *advice.Document {
	text, err := s.FS.ReadFile(filepath.Join(dir, engine.AdviceFile))
	if err != nil {
		return nil
	}
	d, err := advice.Read(bytes.NewReader(text))
	if err == nil && !d.Of([]recommend.Source{{Record: rec}}) {
		err = errors.New("it was computed from other curves than those of the record")
	}
	if err == nil && d.Answered() && faultOf(rec) != nil {
		err = errors.New("the record shows a fault, which comes before a bucket size")
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "%s is ignored: %s\n", filepath.Join(dir, engine.AdviceFile), err)
		return nil
	}
	return d
}
