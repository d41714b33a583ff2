// Package folder writes a command's result folder. The folder is locked while it is written, each
// file is written whole or not at all, and journals grow line by line. File system, clock and
// random bytes are passed in.
package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"zbench/bench/base/exit"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
)

// Files that every folder has.
const (
	// RunFile has the facts of this run: host, command line, exit code.
	RunFile = "run.json"
	// LockFile names the process that writes the folder.
	LockFile = "zbench.lock"
)

// Host provides what a folder needs from the operating system.
type Host struct {
	FS  FS
	Now func() time.Time
	// Random returns unpredictable bytes for run ids. If it is nil, each id is computed from facts
	// that are known before the first result.
	Random io.Reader
	// Owner names this process in messages of other processes: host and process number.
	Owner string
	// Note prints a message that is neither an error nor a warning. If Note is nil, nothing is
	// printed.
	Note func(format string, args ...any)
}

// Say prints a message, unless Note is nil.
func (h Host) Say(format string, args ...any) {
	if h.Note != nil {
		h.Note(format, args...)
	}
}

// Folder is a result folder that this process may write. The caller must Close it.
type Folder struct {
	Path   string
	fs     FS
	random io.Reader
	// Field made is true if this run created the folder. Field empty is true if the folder had no
	// files.
	made, empty bool
	unlock      func() error
}

// New creates and locks a command's folder before anything is measured, so that a bad path fails
// early. Without a path it creates a new dated folder. It refuses a folder with files unless force
// is set. Files that a killed run left before its first result do not count.
func New(h Host, path, command string, force bool) (*Folder, error) {
	const another = "choose another --out"
	if path == "" {
		path = dated(h, command)
	}
	entries, err := h.FS.ReadDir(path)
	strange := odd(h.FS, path, entries)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, exit.With(exit.Run, fmt.Errorf("the folder %s cannot be used: %w", path, err), another)
	case strange != nil:
		return nil, exit.With(exit.Run, strange, another)
	case err == nil && !force && holdsFiles(h.FS, path, entries):
		if err := h.FS.Held(filepath.Join(path, LockFile)); err != nil {
			return nil, inUse(path, err) // --force would not help
		}
		return nil, exit.UsageError(&HoldsFilesError{path, len(entries)}, another+", or --force to write over it")
	}
	f := &Folder{fs: h.FS, random: h.Random, Path: path, made: err != nil}
	if err := h.FS.MkdirAll(path); err != nil {
		return nil, exit.With(exit.Run, fmt.Errorf("the folder %s cannot be created: %w", path, err), another)
	}
	if err := f.lock(h); err != nil {
		return nil, err
	}
	if err := f.begin(force); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// begin checks the folder again after locking: another run may have written files
// since the first check.
func (f *Folder) begin(force bool) error {
	entries, err := f.fs.ReadDir(f.Path)
	if err == nil {
		f.empty = !holdsFiles(f.fs, f.Path, entries)
		if !f.empty && !force {
			return exit.UsageError(&HoldsFilesError{f.Path, len(entries)}, "choose another --out, or --force to write over it")
		}
		run := []byte(noRun)
		if old, failed := f.fs.ReadFile(f.File(RunFile)); failed == nil {
			run = old // keep the run.json of an earlier run until this run writes its own
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

// odd refuses a folder that has a pipe, a device or a huge file in the place of zbench's files.
// Another user may have prepared such a folder, and a command that reads such a file would not end.
func odd(files FS, dir string, entries []fs.DirEntry) error {
	const most = 4 << 30 // the limit of a journal
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !slices.Contains([]string{".json", ".jsonl", ".lock"}, filepath.Ext(name)) {
			continue
		}
		info, err := files.Stat(name)
		switch {
		case err != nil || info.IsDir(): // the reader of the file reports this
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is a pipe or a device, not a file of zbench's", name)
		case info.Size() > most, e.Name() == RunFile && info.Size() > most>>10:
			return fmt.Errorf("%s has %d bytes, more than a file of zbench's", name, info.Size())
		}
	}
	return nil
}

// Open locks an existing folder, to add to it.
func Open(h Host, path string) (*Folder, error) {
	f := &Folder{fs: h.FS, random: h.Random, Path: path}
	if entries, err := h.FS.ReadDir(path); err == nil {
		if err := odd(h.FS, path, entries); err != nil {
			return f, exit.With(exit.Run, err, "remove it")
		}
	}
	return f, f.lock(h)
}

// Shared creates a folder if it is missing. It takes no lock, because several processes write files
// with different names into the folder.
func Shared(h Host, path string) (*Folder, error) {
	return &Folder{fs: h.FS, random: h.Random, Path: path}, h.FS.MkdirAll(path)
}

// NewRun returns the id of a new run, which ends each line of the run's journal. The id is random,
// so that a line of another run is recognised even if both runs had the same request. A simulated
// run must write the same files every time, so its id is computed from the journal's header.
func (f *Folder) NewRun(header any, simulated bool) (string, error) {
	text, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	if f.random != nil && !simulated {
		more := make([]byte, sha256.Size)
		if _, err := io.ReadFull(f.random, more); err != nil {
			return "", fmt.Errorf("no random bytes for the run's id: %w", err)
		}
		text = append(text, more...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:jsonfile.RunDigits/2]), nil
}

// noRun is the content of run.json while a run is unfinished.
const noRun = "{}\n"

// HoldsFilesError is the error about a folder that holds files.
type HoldsFilesError struct {
	Path  string
	Files int
}

func (e *HoldsFilesError) Error() string {
	return fmt.Sprintf("%s already holds %d files", e.Path, e.Files)
}

// holdsFiles reports whether a folder has files besides the files that a killed run leaves before
// its first result.
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

// lock prevents other processes from writing the folder until Close. It replaces a stale lock and
// prints a note.
func (f *Folder) lock(h Host) error {
	unlock, stale, err := h.FS.Lock(f.File(LockFile), h.Owner)
	held := (*LockedError)(nil)
	switch {
	case errors.As(err, &held):
		return inUse(f.Path, err)
	case err != nil:
		return exit.With(exit.Run, fmt.Errorf("the folder %s cannot be locked: %w", f.Path, err), "choose another --out")
	}
	if stale != "" {
		h.Say("%s: the run of %s ended without finishing; its stale lock is replaced.\n", f.Path, stale)
	}
	f.unlock = unlock
	return nil
}

// inUse returns the error of a folder whose lock another process holds.
func inUse(path string, locked error) error {
	return exit.UsageError(fmt.Errorf("%s is %w", path, locked), "wait until that run ends, or choose another --out")
}

// Close unlocks the folder, so that other processes can write it. Further calls do nothing.
func (f *Folder) Close() error {
	if f == nil || f.unlock == nil {
		return nil
	}
	unlock := f.unlock
	f.unlock = nil
	return unlock()
}

// Abandon removes this run's files from a folder without results, so that the next run can use the
// folder. Files of earlier runs stay. Files that cannot be removed also stay.
func (f *Folder) Abandon() {
	if f != nil && f.empty && f.fs.Remove(f.File(RunFile)) == nil && f.made {
		_ = f.Close() // the lock file is in the folder
		_ = f.fs.Remove(f.Path)
	}
}

// Dated returns the beginning of the name of a command's new folder. Names of later folders sort
// after earlier ones.
func Dated(command string, t time.Time) string {
	return "zbench-" + command + "-" + t.UTC().Format("20060102-150405")
}

// dated returns an unused folder name, made of the command and the time.
func dated(h Host, command string) string {
	base := Dated(command, h.Now())
	name := base
	for i := 2; ; i++ {
		if _, err := h.FS.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// File returns the path of a file in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path, name) }

// Has reports whether the folder has a file of that name.
func (f *Folder) Has(name string) bool {
	_, err := f.fs.Stat(f.File(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// Write writes one file atomically. fill produces its content.
func (f *Folder) Write(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.Put(name, b.Bytes())
}

// Put writes one file atomically.
func (f *Folder) Put(name string, data []byte) error {
	err := f.fs.WriteFile(f.File(name), data)
	known := (*exit.Error)(nil)
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return f.Gone()
	}
	return exit.With(exit.Run, fmt.Errorf("%s: %w", f.File(name), err), "free disk space, then render what is saved: "+plain.Typed("zbench", "report", f.Path))
}

// Tidy removes unfinished files that a killed process left.
func (f *Folder) Tidy() error {
	err := f.fs.RemoveTemporary(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Gone()
	}
	return err
}

// Gone returns the error about a folder that was removed during the run.
func (f *Folder) Gone() error {
	return exit.With(
		exit.Run, fmt.Errorf("the folder %s was %w; the run stops", f.Path, ErrGone),
		"the files at their new path are complete: `zbench report DIR` renders them, `zbench collectives --resume DIR` resumes a sweep",
	)
}
