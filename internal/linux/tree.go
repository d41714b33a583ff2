// Package linux reads facts about a host from /proc and /sys. The file system is passed in, so that
// a test can use a tree of small files. Reading never fails: unreadable content is empty, and
// content that cannot be parsed counts as not found.
package linux

import (
	"io/fs"
	"path"
	"strings"
)

// Tree is the root of a host's file system. File names have no leading slash.
type Tree struct{ FS fs.FS }

// Read returns the text of a file without the last line break; "" if the file cannot be read.
func (t Tree) Read(name string) string {
	data, err := fs.ReadFile(t.FS, name)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(data), "\n\x00")
}

// Exists reports whether the file or folder exists.
func (t Tree) Exists(name string) bool {
	_, err := fs.Stat(t.FS, name)
	return err == nil
}

// Names lists the entries of a folder that match a pattern. The names include the folder.
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
