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

// Limits on reading a tree with arbitrary content.
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

// read returns the text of a file without the last line break.
func read(fsys fs.FS, name string) (string, error) {
	// Only regular files are read: a pipe in a copied tree would never answer.
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

// text returns the first line of a file, shortened for display; "" if the file cannot be read or
// is not text.
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

// shortened() shortens a text for display.
func shortened(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// number returns the whole number in a file, 0 or more; `ok` is false if there is none.
func number(fsys fs.FS, name string) (v uint64, ok bool) {
	v, err := strconv.ParseUint(text(fsys, name), 10, 64)
	return v, err == nil
}

// whole() returns the whole number in a file as an int; nil if there is none or it is implausibly
// large.
func whole(fsys fs.FS, name string) *int {
	v, ok := number(fsys, name)
	if !ok || v > 1<<30 {
		return nil
	}
	return new(int(v))
}

// list() returns the names of a folder's entries; none if the folder cannot be read.
func list(fsys fs.FS, folder string) []string {
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil {
		return nil
	}
	return slice.Map(entries[:min(len(entries), maxEntries)], func(e fs.DirEntry) string { return e.Name() })
}

// exists() reports whether the file or folder exists.
func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// beginnings are names that can be at the root of a tree, whichever part of a system was recorded.
var beginnings = []string{"sys", "proc", "class", "devices", "bus", "topology/nodes", "nodes", "0/properties", "1/properties"}

// maxWrapped is the largest number of folders that an archive may have around a tree.
const maxWrapped = 3

// unwrapped() returns the tree inside of folders that contain nothing else, as a recording may
// have.
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

// under() finds a folder in a tree that may begin at the root, at sys, or below sys.
func under(fsys fs.FS, folder string) string {
	for _, name := range []string{path.Join("sys", folder), folder} {
		if exists(fsys, name) {
			return name
		}
	}
	return ""
}

// uevent reads a file with lines of NAME=value.
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
