package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"zbench/bench/exit"
)

// Files of a folder that the engine writes.
const (
	// JournalFile has each pass of a case as soon as it is done.
	JournalFile = "journal.jsonl"
	// ResultsFile is the record.
	ResultsFile = "results.json"
	// AdviceFile is the recommendation.
	AdviceFile = "recommend.json"
	// RunFile has the facts of the program's own run.
	RunFile = "run.json"
	// LockFile names the process that writes the folder.
	LockFile = "zbench.lock"
)

// Host is what a run needs of its surroundings.
type Host struct {
	FS  FS
	Now func() time.Time
	// Owner names this process to others: host and process number.
	Owner string
	// Note says what is neither an error nor a warning; nil says nothing.
	Note func(format string, args ...any)
}

func (h Host) note(format string, args ...any) {
	if h.Note != nil {
		h.Note(format, args...)
	}
}

// Folder is a result folder that this process may write. Close it when done.
type Folder struct {
	Path string
	fs   FS
	// made tells that the folder was not there before, empty that it held nothing.
	made, empty bool
	unlock      func() error
}

// NewFolder makes and locks the folder that a command will fill, before it
// measures anything, so that a bad path fails early. Without a path it makes a
// dated one that did not exist. A folder that holds files is refused unless force
// is set; what a killed run left before its first result does not count.
func NewFolder(h Host, path, command string, force bool) (*Folder, error) {
	const another = "choose another --out"
	if path == "" {
		path = dated(h, command)
	}
	entries, err := h.FS.ReadDir(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, exit.With(exit.Run, fmt.Errorf("the folder %s cannot be used: %w", path, err), another)
	case err == nil && !force && holdsFiles(h.FS, path, entries):
		return nil, exit.UsageError(&HoldsFilesError{path, len(entries)}, another+", or --force to write over it")
	}
	f := &Folder{fs: h.FS, Path: path, made: err != nil}
	if err := h.FS.MkdirAll(path); err != nil {
		return nil, exit.With(exit.Run, fmt.Errorf("the folder %s cannot be made: %w", path, err), another)
	}
	if err := f.lock(h); err != nil {
		return nil, err
	}
	if err := f.begin(force); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// begin looks at the folder again, now that it is locked: another run may have
// filled it in the meantime.
func (f *Folder) begin(force bool) error {
	entries, err := f.fs.ReadDir(f.Path)
	if err == nil {
		f.empty = !holdsFiles(f.fs, f.Path, entries)
		if !f.empty && !force {
			return exit.UsageError(&HoldsFilesError{f.Path, len(entries)}, "choose another --out, or --force to write over it")
		}
		run := []byte(noRun)
		if old, failed := f.fs.ReadFile(f.File(RunFile)); failed == nil {
			run = old // an earlier run's, until this one has its own
		}
		err = f.fs.WriteFile(f.File(RunFile), run)
	}
	if err == nil && f.empty {
		err = f.fs.RemoveTemporary(f.Path)
	}
	if err != nil {
		return exit.With(exit.Run, fmt.Errorf("the folder %s cannot be written: %w", f.Path, err), "choose another --out")
	}
	return nil
}

// OpenFolder locks a folder that is there, to add to it.
func OpenFolder(h Host, path string) (*Folder, error) {
	f := &Folder{fs: h.FS, Path: path}
	return f, f.lock(h)
}

// noRun is the run.json of a run that has not ended.
const noRun = "{}\n"

// HoldsFilesError is the refusal of a folder that holds files.
type HoldsFilesError struct {
	Path  string
	Files int
}

func (e *HoldsFilesError) Error() string {
	return fmt.Sprintf("%s already holds %d files", e.Path, e.Files)
}

// holdsFiles tells whether a folder holds more than a killed run leaves before its
// first result.
func holdsFiles(files FS, dir string, entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		switch name := e.Name(); name {
		case LockFile:
			return false
		case RunFile:
			text, err := files.ReadFile(filepath.Join(dir, name))
			return err != nil || string(text) != noRun
		default:
			return !files.IsTemporary(name)
		}
	})
}

// Abandon gives a folder back in which nothing was kept, so that the next run may
// have it. What was in there before stays; so does what cannot be removed.
func (f *Folder) Abandon() {
	if f.empty && f.fs.Remove(f.File(RunFile)) == nil && f.made {
		_ = f.Close() // the lock lies in the folder
		_ = f.fs.Remove(f.Path)
	}
}

// dated is a folder name that says when and what, and is not taken.
func dated(h Host, command string) string {
	base := "zbench-" + command + "-" + h.Now().UTC().Format("20060102-150405")
	name := base
	for i := 2; ; i++ {
		if _, err := h.FS.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// File is the path of a file in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path, name) }

// Write fills one file, whole or not at all.
func (f *Folder) Write(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.Put(name, b.Bytes())
}

// Put writes one file, whole or not at all.
func (f *Folder) Put(name string, data []byte) error {
	err := f.fs.WriteFile(f.File(name), data)
	known := (*exit.Error)(nil)
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return f.Gone()
	}
	return exit.With(exit.Run, fmt.Errorf("%s: %w", f.File(name), err), "make room, then: zbench report "+f.Path+" draws what is saved there")
}

// Tidy removes the unfinished files of a killed process.
func (f *Folder) Tidy() error {
	err := f.fs.RemoveTemporary(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Gone()
	}
	return err
}

// Gone is the error of a folder that was taken away during the run.
func (f *Folder) Gone() error {
	return exit.With(
		exit.Run, fmt.Errorf("the folder %s was %w; the run ends here", f.Path, ErrGone),
		"the files in its new place are complete: zbench report DIR renders them, zbench collectives --resume DIR resumes a sweep",
	)
}
