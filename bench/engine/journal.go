// Package engine runs a request: it prepares the cases, measures them into a folder, resumes an
// interrupted run, and extends a sweep if the bucket size needs more sizes. File system, clock and
// driver are passed in, so that any caller can start, kill and resume a run.
//
// [Prepare] checks a [spec.Spec]; [Engine.Run] starts a run and [Engine.Resume] resumes one.
package engine

import (
	"bytes"
	"slices"

	"zbench/bench/answers/judge"
	"zbench/bench/base/folder"
	"zbench/bench/run/record"
)

// The files of a record's folder.
const (
	// JournalFile gets each pass of a case as soon as it is done.
	JournalFile = "journal.jsonl"
	// ResultsFile is the record.
	ResultsFile = "results.json"
	// SamplesFile has the samples. SamplesIndexFile has the position of each series in SamplesFile.
	SamplesFile      = "samples.f32"
	SamplesIndexFile = "samples.json"
	// AdviceFile is the recommendation.
	AdviceFile = "recommend.json"
)

// Journal is a journal that is being written.
type Journal struct {
	// Log is the content of the journal so far.
	Log  *record.Journal
	file *folder.Journal[record.JournalLine]
	// resume is the command that continues the run.
	resume string
}

// NewJournal writes the entries as the folder's new journal and opens it for more. If the folder has a
// results.json, the results of these entries replace it, so that nobody mistakes the old results for the
// results of this run.
func NewJournal(dir *folder.Folder, entries *record.Journal) (*Journal, error) {
	if rec := &entries.Header.Record; rec.Run == "" { // a new record, or one that an earlier version began
		var err error
		if rec.Run, err = dir.NewRun(entries.Header, rec.Simulated); err != nil {
			return nil, err
		}
	}
	text, err := entries.Text()
	if err != nil {
		return nil, err
	}
	if dir.Has(ResultsFile) {
		if err := dir.Write(ResultsFile, entries.Record().WriteJSON); err != nil {
			return nil, err
		}
	}
	rec := &entries.Header.Record
	resume := rec.ResumeCommand(dir.Path)
	file, err := folder.NewJournal[record.JournalLine](dir, JournalFile, rec.Run, resume, text)
	if err != nil {
		return nil, err
	}
	kept := *entries
	kept.Truncated = 0 // the new journal has only whole lines
	kept.Parts, kept.Rounds = slices.Clone(entries.Parts), slices.Clone(entries.Rounds)
	return &Journal{Log: &kept, file: file, resume: resume}, nil
}

// Append writes a part to disk.
func (j *Journal) Append(p record.Part) error {
	j.Log.Parts = append(j.Log.Parts, p)
	return j.file.Append(p)
}

// Add writes the cases of an added round to disk.
func (j *Journal) Add(f record.AddedRound) error {
	j.Log.Rounds = append(j.Log.Rounds, f)
	return j.file.Append(f)
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// WriteRecord judges a record and writes it with its findings.
func WriteRecord(dir *folder.Folder, rec *record.Record) error {
	judge.Store(rec)
	return dir.Write(ResultsFile, rec.WriteJSON)
}

// WriteSamples writes samples.f32 and samples.json.
func WriteSamples(dir *folder.Folder, rec *record.Record, parts []record.Part) error {
	var values, index bytes.Buffer
	if err := record.WriteSamples(&values, &index, rec, parts); err != nil {
		return err
	}
	if err := dir.Put(SamplesFile, values.Bytes()); err != nil {
		return err
	}
	return dir.Put(SamplesIndexFile, index.Bytes())
}

// ReadJournal reads a journal from its bytes; path is for messages.
func ReadJournal(path string, text []byte) (*record.Journal, error) {
	j, err := record.ReadJournal(text)
	if err == nil {
		return j, nil
	}
	return nil, folder.Damaged(err, path, "start a new sweep in another folder (--out)")
}
