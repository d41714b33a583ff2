package engine

import (
	"errors"
	"fmt"
	"path/filepath"

	"zbench/bench/exit"
	"zbench/bench/jsonfile"
)

// Log is the file of a journal that is being written. A line is on disk once Write has
// returned.
type Log struct {
	dir  *Folder
	file AppendFile
	// name is the file's, resume the command that continues the run.
	name, resume string
}

// NewLog writes a journal's lines so far, whole ones only, and opens the file for more.
// resume is the command that continues the run.
func (f *Folder) NewLog(name string, text []byte, resume string) (*Log, error) {
	if err := f.Put(name, text); err != nil {
		return nil, err
	}
	file, err := f.fs.Append(f.File(name))
	if err != nil {
		return nil, err
	}
	return &Log{f, file, name, resume}, nil
}

// Write appends a line; failed is why there is none.
func (l *Log) Write(line []byte, failed error) error {
	err := failed
	if err == nil {
		_, err = l.file.Write(line)
	}
	if err == nil {
		err = l.file.Sync()
	}
	switch {
	case errors.Is(err, ErrGone):
		return l.dir.Gone()
	case err != nil:
		return exit.With(
			exit.Run, fmt.Errorf("%s cannot be written: %w; the sweep stops, earlier passes are saved", l.dir.File(l.name), err),
			"free disk space, then: "+l.resume,
		)
	}
	return nil
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Damaged is the error of a journal that cannot be read. Its hint says how to keep the lines
// before a damaged one; otherwise is the hint where there are none.
func Damaged(err error, path, otherwise string) error {
	hint := otherwise
	if damage, ok := errors.AsType[*jsonfile.LineError](err); ok && damage.Line > 1 {
		hint = fmt.Sprintf("the lines before it are valid: sed -i '%d,$d' %s keeps only those, and --resume %s measures the rest again", damage.Line, path, filepath.Dir(path))
	}
	return exit.With(exit.Run, fmt.Errorf("%s: %w", path, err), hint)
}
