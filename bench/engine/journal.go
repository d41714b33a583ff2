package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"

	"zbench/bench/plain"
	"zbench/bench/record"
)

// Journal is a journal that is being written.
type Journal struct {
	// Log is its content so far.
	Log *record.Journal
	log *Log
}

// NewJournal writes the entries as the folder's new journal and opens it for more. A
// results.json of an earlier run is replaced by the results of these entries, so that
// it is not mistaken for this run's.
func NewJournal(dir *Folder, entries *record.Journal) (*Journal, error) {
	if rec := &entries.Header.Record; rec.Run == "" { // a new one, or begun by an earlier version
		var err error
		if rec.Run, err = dir.NewRun(entries.Header, rec.Simulated); err != nil {
			return nil, err
		}
	}
	text, err := entries.Text()
	if err != nil {
		return nil, err
	}
	if _, err := dir.fs.Stat(dir.File(ResultsFile)); !errors.Is(err, fs.ErrNotExist) {
		if err := dir.Write(ResultsFile, func(w io.Writer) error { return record.Encode(w, entries.Record()) }); err != nil {
			return nil, err
		}
	}
	log, err := dir.NewLog(JournalFile, text, ResumeCommand(&entries.Header.Record, dir.Path))
	if err != nil {
		return nil, err
	}
	kept := *entries
	kept.Truncated = 0 // the new journal has whole lines only
	kept.Parts, kept.Rounds = slices.Clone(entries.Parts), slices.Clone(entries.Rounds)
	return &Journal{Log: &kept, log: log}, nil
}

// Append writes a part to disk.
func (j *Journal) Append(p record.Part) error {
	j.Log.Parts = append(j.Log.Parts, p)
	return j.write(p)
}

// Add writes the cases of an added round to disk.
func (j *Journal) Add(f record.AddedRound) error {
	j.Log.Rounds = append(j.Log.Rounds, f)
	return j.write(f)
}

// Close closes the file.
func (j *Journal) Close() error { return j.log.Close() }

func (j *Journal) write(of record.JournalLine) error {
	line, err := of.Line(j.Log.Header.Record.Run)
	return j.log.Write(line, err)
}

// ResumeCommand is the command that resumes the run of a record in a folder.
func ResumeCommand(rec *record.Record, dir string) string {
	return "`zbench " + Command(rec.Benchmark()) + " --resume " + plain.Shell(dir) + "`"
}

// WriteSamples writes samples.f32 and samples.json.
func WriteSamples(dir *Folder, rec *record.Record, parts []record.Part) error {
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
	return nil, Damaged(err, path, "start a new sweep in another folder (--out)")
}
