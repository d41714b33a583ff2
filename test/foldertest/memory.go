// Package foldertest is a file system in memory for tests of folders.
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

// Memory is a file system in memory. Of appended lines it takes Left, then fails as
// a full disk does; negative takes all.
type Memory struct {
	fstest.MapFS
	Left  int
	Locks map[string]string
}

var _ folder.FS = (*Memory)(nil)

// New is an empty one that takes all.
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

// Mine takes every file for the user's own.
func (m *Memory) Mine(string) error { return nil }

// IsTemporary tells names that end in .tmp.
func (m *Memory) IsTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }

// RemoveTemporary removes nothing.
func (m *Memory) RemoveTemporary(string) error { return nil }

// Remove removes a file.
func (m *Memory) Remove(name string) error { delete(m.MapFS, name); return nil }

// Append opens a file to append to it. A removed one is gone.
func (m *Memory) Append(name string) (folder.AppendFile, error) { return &growing{m, name}, nil }

// Lock keeps locks until they are released. The lock of an owner named "dead" is
// free, as that of a process that was killed.
func (m *Memory) Lock(name, owner string) (func() error, string, error) {
	before := m.Locks[name]
	if err := m.Held(name); err != nil {
		return nil, "", err
	}
	m.Locks[name] = owner
	return func() error { delete(m.Locks, name); return nil }, before, nil
}

// Held reports a lock of another owner.
func (m *Memory) Held(name string) error {
	if owner := m.Locks[name]; owner != "" && owner != "dead" {
		return &folder.LockedError{Owner: owner}
	}
	return nil
}

// Files are the contents of a folder, but for run.json.
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
		f.Data = append(f.Data, p[:len(p)/2]...) // torn
		return len(p) / 2, ErrFull
	}
	g.m.Left--
	f.Data = append(f.Data, p...)
	return len(p), nil
}
func (g *growing) Sync() error  { return nil }
func (g *growing) Close() error { return nil }
