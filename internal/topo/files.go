package topo

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"zbench/bench/base/slice"
)

// Bounds on reading a tree with arbitrary content.
const (
	// maxFile is larger than any file of sysfs, in bytes.
	maxFile = 64 << 10
	// maxEntries is larger than the number of entries in any folder of a node.
	maxEntries = 8192
	// maxText is longer than the longest displayed value, in bytes.
	maxText = 256
)

var (
	errTooLarge = errors.New("larger than any file of sysfs")
	errNoFile   = errors.New("not a regular file")
)

// read returns a file's text without its end of line.
func read(fsys fs.FS, name string) (string, error) {
	// A pipe in a copied tree would never answer.
	if info, err := fs.Stat(fsys, name); err != nil {
		return "", err
	} else if info != nil && !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "read", Path: name, Err: errNoFile}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFile {
		return "", &fs.PathError{Op: "read", Path: name, Err: errTooLarge}
	}
	return strings.TrimRight(string(data), "\n\r\x00 "), nil
}

// text returns a file's first line, shortened for display; empty if it cannot be read or is not
// text.
func text(fsys fs.FS, name string) string {
	all, err := read(fsys, name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(all, "\n")
	line = strings.TrimSpace(line)
	if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
		return ""
	}
	return shortened(line)
}

// shortened shortens a text for display.
func shortened(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// number returns a file's whole number from 0; ok is false if it has none.
func number(fsys fs.FS, name string) (v uint64, ok bool) {
	v, err := strconv.ParseUint(text(fsys, name), 10, 64)
	return v, err == nil
}

// whole returns a file's whole number from 0 as an int, nil if it has none, or an impossible count.
func whole(fsys fs.FS, name string) *int {
	v, ok := number(fsys, name)
	if !ok || v > 1<<30 {
		return nil
	}
	return new(int(v))
}

// list returns a folder's entries; none if it cannot be read.
func list(fsys fs.FS, folder string) []string {
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil {
		return nil
	}
	return slice.Map(entries[:min(len(entries), maxEntries)], func(e fs.DirEntry) string { return e.Name() })
}

// exists reports whether there is a file or folder of that name.
func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// beginnings are possible folders at the root of a tree, whatever part was recorded.
var beginnings = []string{"sys", "proc", "class", "devices", "bus", "topology/nodes", "nodes", "0/properties", "1/properties"}

// maxWrapped is the number of folders in which an archive may wrap a tree.
const maxWrapped = 3

// unwrapped returns the tree itself if a recording has folders around it, each with nothing else in
// it.
func unwrapped(fsys fs.FS) fs.FS {
	inner := fsys
	for range maxWrapped + 1 {
		if slices.ContainsFunc(beginnings, func(name string) bool { return exists(inner, name) }) {
			return inner
		}
		names := list(inner, ".")
		if len(names) != 1 {
			return fsys
		}
		next, err := fs.Sub(inner, names[0])
		if err != nil {
			return fsys
		}
		inner = next
	}
	return fsys
}

// under finds the folder in a tree that may begin at the root, at sys, or below it.
func under(fsys fs.FS, folder string) string {
	for _, name := range []string{path.Join("sys", folder), folder} {
		if exists(fsys, name) {
			return name
		}
	}
	return ""
}

// uevent reads lines of NAME=value.
func uevent(fsys fs.FS, name string) map[string]string {
	all, err := read(fsys, name)
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for line := range strings.Lines(all) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = shortened(value)
		}
	}
	return values
}
