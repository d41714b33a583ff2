package folder

import (
	"errors"
	"fmt"
	"path/filepath"

	"zbench/bench/base/exit"
	"zbench/bench/base/jsonfile"
)

// Entry is a line of a journal, other than the first.
type Entry interface {
	// Line returns the entry as a journal line, with the run's id, a checksum and a newline.
	Line(run string) ([]byte, error)
}

// Journal is the journal of a running command. Once Append returns nil, the entry is on disk.
type Journal[E Entry] struct {
	dir  *Folder
	file AppendFile
	// name is the file's name. resume is the command that continues the run.
	name, run, resume string
}

// NewJournal writes the journal's lines so far and opens the file for more. resume is the command
// that continues the run.
func NewJournal[E Entry](dir *Folder, name, run, resume string, lines []byte) (*Journal[E], error) {
	if err := dir.Put(name, lines); err != nil {
		return nil, err
	}
	file, err := dir.fs.Append(dir.File(name))
	if err != nil {
		return nil, err
	}
	return &Journal[E]{dir, file, name, run, resume}, nil
}

// Begin opens a journal with a head and the entries so far. A new run, whose id *run is empty, gets
// its id first, as by NewRun. resume is the command that continues the run.
func Begin[E Entry](dir *Folder, name, resume string, run *string, head any, simulated bool, entries []E) (_ *Journal[E], err error) {
	if *run == "" {
		if *run, err = dir.NewRun(head, simulated); err != nil {
			return nil, err
		}
	}
	lines, err := jsonfile.Lines(*run, head, entries)
	if err != nil {
		return nil, err
	}
	return NewJournal[E](dir, name, *run, resume, lines)
}

// Append writes an entry to disk.
func (j *Journal[E]) Append(e E) error {
	line, err := e.Line(j.run)
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
			exit.Run, fmt.Errorf("%s cannot be written: %w; the sweep stops, earlier passes are saved", j.dir.File(j.name), err),
			"free disk space, then: "+j.resume,
		)
	}
	return nil
}

// Close closes the file.
func (j *Journal[E]) Close() error { return j.file.Close() }

// Damaged returns the error about an unreadable journal. Its hint explains how to keep the lines
// before the damaged one. If no line precedes it, the hint is the caller's text.
func Damaged(err error, path, otherwise string) error {
	hint := otherwise
	if damage, ok := errors.AsType[*jsonfile.LineError](err); ok && damage.Line > 1 {
		hint = fmt.Sprintf("the lines before it are valid: sed -i '%d,$d' %s keeps only those, and --resume %s measures the rest again", damage.Line, path, filepath.Dir(path))
	}
	return exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), hint)
}
