package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// folder is one result folder. store.go alone makes and fills folders.
type folder struct {
	fs   FS
	path string
	// made tells that the folder was not there before, empty that it held nothing.
	made, empty bool
}

// newFolder makes the folder that a command will fill, before it measures
// anything, so that a bad path fails early. Without a path it makes a dated one
// that did not exist. A folder that holds files is refused unless force is set;
// what a run leaves that was killed before its first result is none.
func newFolder(s State, path, command string, force bool) (*folder, error) {
	if path == "" {
		path = dated(s, command)
	}
	entries, err := s.FS.ReadDir(path)
	empty := !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !isLeftover(s, path, e) })
	switch {
	case err == nil && !empty && !force:
		return nil, &codeError{exitUsage, &holdsFiles{path, len(entries)}, "choose another --out, or --force to write over it"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, &codeError{exitRun, fmt.Errorf("the folder %s cannot be used: %w", path, err), "choose another --out"}
	}
	made := err != nil
	if err := s.FS.MkdirAll(path); err != nil {
		return nil, &codeError{exitRun, fmt.Errorf("the folder %s cannot be made: %w", path, err), "choose another --out"}
	}
	f := &folder{fs: s.FS, path: path, made: made, empty: empty}
	run := []byte(noRun)
	if old, err := s.FS.ReadFile(f.file("run.json")); err == nil {
		run = old // an earlier run's, until this one has its own
	}
	err = s.FS.WriteFile(f.file("run.json"), run)
	if err == nil && empty {
		err = s.FS.RemoveTemporary(path)
	}
	if err != nil {
		return nil, &codeError{exitRun, fmt.Errorf("the folder %s cannot be written: %w", path, err), "choose another --out"}
	}
	return f, nil
}

// noRun is the run.json of a run that has not ended.
const noRun = "{}\n"

// holdsFiles is the refusal of a folder that holds files.
type holdsFiles struct {
	path  string
	files int
}

func (e *holdsFiles) Error() string { return fmt.Sprintf("%s already holds %d files", e.path, e.files) }

// isLeftover tells whether a file is what a killed run leaves before its first result.
func isLeftover(s State, dir string, e fs.DirEntry) bool {
	if e.Name() != "run.json" {
		return isTemporary(e.Name())
	}
	text, err := s.FS.ReadFile(filepath.Join(dir, e.Name()))
	return err == nil && string(text) == noRun
}

// abandon takes the folder back in which nothing was kept, so that the next run
// may have it. What was in there before stays; so does what cannot be removed.
func (f *folder) abandon() {
	if !f.empty {
		return
	}
	if f.fs.Remove(f.file("run.json")) == nil && f.made {
		_ = f.fs.Remove(f.path)
	}
}

// dated is a folder name that says when and what, and is not taken.
func dated(s State, command string) string {
	base := "zbench-" + command + "-" + s.Now().UTC().Format("20060102-150405")
	name := base
	for i := 2; ; i++ {
		if _, err := s.FS.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// write fills one file, whole or not at all.
func (f *folder) write(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.put(name, b.Bytes())
}

// put writes one file, whole or not at all.
func (f *folder) put(name string, data []byte) error {
	err := f.fs.WriteFile(f.file(name), data)
	told := (*codeError)(nil)
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return f.gone()
	}
	return &codeError{exitRun, fmt.Errorf("%s: %w", f.file(name), err), "make room, then: zbench report " + f.path + " draws what is saved there"}
}

// gone is the error of a folder that somebody took away during the run.
func (f *folder) gone() error {
	return &codeError{
		exitRun, fmt.Errorf("the folder %s was %w; the run ends here", f.path, errGone),
		"what is in it where it is now is whole: zbench report DIR draws it, zbench collectives --resume DIR goes on with a sweep",
	}
}

// maxEpoch is the last second of the year 9999, after which RFC 3339 has no name.
const maxEpoch = 253402300799

// created is the time a record carries: SOURCE_DATE_EPOCH when set, so that a
// record can be reproduced byte for byte, else now.
func created(s State) (time.Time, error) {
	text := s.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return s.Now().UTC().Truncate(time.Second), nil
	}
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil || epoch < 0 || epoch > maxEpoch {
		return time.Time{}, usagef("unset it or give seconds since 1970", "SOURCE_DATE_EPOCH=%q is not a number of seconds from 0 to %d", text, maxEpoch)
	}
	return time.Unix(epoch, 0).UTC(), nil
}
