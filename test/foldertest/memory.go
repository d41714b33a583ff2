// Package foldertest has a file system in memory for tests of folders.
package foldertest

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing/fstest"

	"zbench/bench/base/folder"
)

// Memory is a file system in memory. After Left appended lines it fails as a full disk does; a
// negative Left means no limit.
type Memory struct {
	fstest.MapFS
	Left  int
	Locks map[string]string
}

var _ folder.FS = (*Memory)(nil)

// New returns an empty file system without a limit.
func New() *Memory { return &Memory{MapFS: fstest.MapFS{}, Left: -1, Locks: map[string]string{}} }

// MkdirAll makes a folder.
func (m *Memory) MkdirAll(name string) error {
	m.MapFS[name] = &fstest.MapFile{Mode: fs.ModeDir}
	return nil
}

// WriteFile replaces a file.
func (m *Memory) WriteFile(name string, data []byte) error {
	m.MapFS[name] = &fstest.MapFile{Data: bytes.Clone(data)}
	return nil
}

// Mine accepts every file as the user's own.
func (m *Memory) Mine(string) error { return nil }

// IsTemporary reports whether a name ends in .tmp.
func (m *Memory) IsTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }

// RemoveTemporary removes nothing.
func (m *Memory) RemoveTemporary(string) error { return nil }

// Remove removes a file.
func (m *Memory) Remove(name string) error { delete(m.MapFS, name); return nil }

// Append opens a file for appending. Writing fails once the file was removed.
func (m *Memory) Append(name string) (folder.AppendFile, error) { return &growing{m, name}, nil }

// Lock keeps a lock until it is released. The lock of an owner named "dead" is free, like the lock
// of a process that was killed.
func (m *Memory) Lock(name, owner string) (func() error, string, error) {
	before := m.Locks[name]
	if err := m.Held(name); err != nil {
		return nil, "", err
	}
	m.Locks[name] = owner
	return func() error { delete(m.Locks, name); return nil }, before, nil
}

// Held returns a LockedError if another owner holds the lock.
func (m *Memory) Held(name string) error {
	if owner := m.Locks[name]; owner != "" && owner != "dead" {
		return &folder.LockedError{Owner: owner}
	}
	return nil
}

// Files returns the contents of all files in a folder except run.json.
func (m *Memory) Files(dir string) map[string]string {
	all := map[string]string{}
	for name, f := range m.MapFS {
		if path.Dir(name) == dir && path.Base(name) != folder.RunFile {
			all[path.Base(name)] = string(f.Data)
		}
	}
	return all
}

type growing struct {
	m    *Memory
	name string
}

// ErrFull is the error of a full disk.
var ErrFull = errors.New("no space left on device")

func (g *growing) Write(p []byte) (int, error) {
	f := g.m.MapFS[g.name]
	if f == nil {
		return 0, folder.ErrGone
	}
	if g.m.Left == 0 {
		f.Data = append(f.Data, p[:len(p)/2]...) // a full disk takes only a part of the data
		return len(p) / 2, ErrFull
	}
	g.m.Left--
	f.Data = append(f.Data, p...)
	return len(p), nil
}
func (g *growing) Sync() error  { return nil }
func (g *growing) Close() error { return nil }
