package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"zbench/bench/advice"
	"zbench/bench/cost"
	"zbench/bench/engine"
	"zbench/bench/record"
)

// readSource reads a record or a log with its samples, where a journal lies
// beside the record and is of the same sweep.
func readSource(s State, path string) (cost.Source, error) {
	rec, err := readEither(s, path)
	if err != nil {
		return cost.Source{}, err
	}
	dir := path
	if info, err := s.FS.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
		if filepath.Base(path) != engine.ResultsFile && filepath.Base(path) != engine.JournalFile {
			return cost.Of(rec, nil), nil
		}
	}
	text, err := s.FS.ReadFile(filepath.Join(dir, engine.JournalFile))
	if err != nil {
		return cost.Of(rec, nil), nil //nolint:nilerror // a record need not have a journal
	}
	j, err := engine.ReadJournal(filepath.Join(dir, engine.JournalFile), text)
	if err != nil || !j.Header.Record.Created.Equal(rec.Created) {
		return cost.Of(rec, nil), nil //nolint:nilerror // a damaged journal has no samples to give
	}
	return cost.Of(rec, j.Parts), nil
}

// readAdvice reads the recommendation that lies in a record's folder; nil is none,
// or one of curves that were measured before.
func readAdvice(s State, dir string, rec *record.Record) *advice.Document {
	text, err := s.FS.ReadFile(filepath.Join(dir, engine.AdviceFile))
	if err != nil {
		return nil
	}
	d, err := advice.Read(bytes.NewReader(text))
	if err == nil && !d.Of([]cost.Source{{Record: rec}}) {
		err = errors.New("it was computed from other curves than those of the record")
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "%s is ignored: %s\n", filepath.Join(dir, engine.AdviceFile), err)
		return nil
	}
	return d
}
