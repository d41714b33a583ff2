package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/record"
)

// Journal is a journal that is being written.
type Journal struct {
	// Log is its content so far.
	Log  *record.Journal
	file AppendFile
	dir  *Folder
}

// NewJournal writes the entries as the folder's new journal and opens it for more. A
// results.json of an earlier run is replaced by the results of these entries, so that
// it is not mistaken for this run's.
func NewJournal(dir *Folder, entries *record.Journal) (*Journal, error) {
	text, err := entries.Text()
	if err != nil {
		return nil, err
	}
	if _, err := dir.fs.Stat(dir.File(ResultsFile)); !errors.Is(err, fs.ErrNotExist) {
		if err := dir.Write(ResultsFile, func(w io.Writer) error { return record.Encode(w, entries.Record()) }); err != nil {
			return nil, err
		}
	}
	if err := dir.Put(JournalFile, text); err != nil {
		return nil, err
	}
	f, err := dir.fs.Append(dir.File(JournalFile))
	if err != nil {
		return nil, err
	}
	kept := *entries
	kept.Parts, kept.Rounds = slices.Clone(entries.Parts), slices.Clone(entries.Rounds)
	return &Journal{file: f, Log: &kept, dir: dir}, nil
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
func (j *Journal) Close() error { return j.file.Close() }

func (j *Journal) write(of interface{ Line() ([]byte, error) }) error {
	line, err := of.Line()
	if err == nil {
		_, err = j.file.Write(line)
	}
	if err == nil {
		err = j.file.Sync()
	}
	switch {
	case errors.Is(err, ErrGone):
		return j.dir.Gone()
	case err != nil:
		return exit.With(
			exit.Run, fmt.Errorf("%s cannot be written: %w; the sweep stops, earlier passes are saved", j.dir.File(JournalFile), err),
			"free disk space, then: "+ResumeCommand(&j.Log.Header.Record, j.dir.Path),
		)
	}
	return nil
}

// ResumeCommand is the command that resumes the run of a record in a folder.
func ResumeCommand(rec *record.Record, dir string) string {
	return "zbench " + Command(rec.Benchmark()) + " --resume " + dir
}

// WriteSamples writes samples.f32 and samples.json.
func WriteSamples(dir *Folder, results []record.Result, parts []record.Part) error {
	var values, index bytes.Buffer
	if err := record.WriteSamples(&values, &index, results, parts); err != nil {
		return err
	}
	if err := dir.Put("samples.f32", values.Bytes()); err != nil {
		return err
	}
	return dir.Put("samples.json", index.Bytes())
}

// ReadJournal reads a journal from its bytes; path is for messages.
func ReadJournal(path string, text []byte) (*record.Journal, error) {
	j, err := record.ReadJournal(text)
	if err == nil {
		return j, nil
	}
	hint := "start a new sweep in another folder (--out)"
	if damage, ok := errors.AsType[*record.LineError](err); ok && damage.Line > 1 {
		hint = fmt.Sprintf("the lines before it are valid: sed -i '%d,$d' %s keeps only those, and --resume %s measures the rest again", damage.Line, path, filepath.Dir(path))
	}
	return nil, exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), hint)
}
