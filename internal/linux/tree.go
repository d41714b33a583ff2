// Package linux reads a host's facts under /proc and /sys. The file system is passed in, so that a
// test can be a tree of small files. Reading never fails: unreadable content is empty, and
// unparsable content is not found.
package linux

import (
	"io/fs"
	"path"
	"strings"
)

// Tree is the root of a host's file system; names have no leading slash.
type Tree struct{ FS fs.FS }

// Read returns a file's text without the last line's end, empty if it cannot be read.
func (t Tree) Read(name string) string {
	data, err := fs.ReadFile(t.FS, name)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(data), "\n\x00")
}

// Exists reports whether there is such a file or folder.
func (t Tree) Exists(name string) bool {
	_, err := fs.Stat(t.FS, name)
	return err == nil
}

// Names lists a folder's entries that match a pattern, with the folder.
func (t Tree) Names(folder, pattern string) []string {
	entries, err := fs.ReadDir(t.FS, folder)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if ok, _ := path.Match(pattern, e.Name()); ok {
			names = append(names, path.Join(folder, e.Name()))
		}
	}
	return names
}
