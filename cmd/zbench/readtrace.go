package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/files/formats"
	"zbench/bench/files/trace"
)

// readTraces reads files as the ranks of one job. If a path is a folder, it reads the files in it
// that contain calls.
func readTraces(s State, paths []string) (*trace.Trace, error) {
	t := &trace.Trace{}
	for _, path := range paths {
		info, err := s.FS.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, usagef("give a trace, a log, or a folder with a file a rank", "%s does not exist", path)
		case err != nil:
			return nil, folder.Unreadable(s.FS, path, err, "give a trace, a log, or a folder with a file a rank")
		case !info.IsDir():
			if err := addTrace(s, t, path); err != nil {
				return nil, err
			}
			continue
		}
		entries, err := s.FS.ReadDir(path)
		if err != nil {
			return nil, folder.Unreadable(s.FS, path, err, "give a folder with a file a rank")
		}
		none := true
		var others []string
		for _, e := range entries {
			if !e.Type().IsRegular() {
				continue
			}
			err := addTrace(s, t, filepath.Join(path, e.Name()))
			switch {
			case err == nil:
				none = false
			case errors.Is(err, formats.ErrUnknown) || errors.Is(err, formats.ErrHolds):
				others = append(others, plain.Line(e.Name()))
			default:
				return nil, err
			}
		}
		if len(others) > 0 {
			t.Note("%s without calls left out: %s", unit.Count(int64(len(others)), "file"), unit.FirstFew(others, 4))
		}
		if none {
			return nil, usagef("`zbench trace --help` lists what it reads", "%s has no file with calls", path)
		}
	}
	return t, nil
}

func addTrace(s State, t *trace.Trace, path string) error {
	file, err := s.FS.Open(path)
	if err != nil {
		return folder.Unreadable(s.FS, path, err, "give a trace or a log")
	}
	defer func() { _ = file.Close() }()
	one, err := formats.Read(filepath.Base(path), file)
	switch {
	case errors.Is(err, formats.ErrHolds):
		return usage(err, "`zbench trace --help` lists what it reads")
	case err != nil:
		return exit.With(exit.Run, err, "`zbench trace --help` lists what it reads")
	}
	t.Add(one)
	return nil
}

// isTrace reports whether a file has the calls of a job. A folder counts as a trace if it has no
// record and one of its files has calls.
func isTrace(s State, path string) bool {
	if info, err := s.FS.Stat(path); err == nil && info.IsDir() {
		entries, err := s.FS.ReadDir(path)
		return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() == engine.ResultsFile || e.Name() == engine.JournalFile
		}) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Type().IsRegular() && isTrace(s, filepath.Join(path, e.Name()))
		})
	}
	file, err := s.FS.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // the file was only read
	return formats.HasCalls(base(path), file)
}
