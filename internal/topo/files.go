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

	"zbench/bench/slice"
)

// Bounds of what is read of a tree that may hold anything.
const (
	// maxFile is more than any file of sysfs has, in bytes.
	maxFile = 64 << 10
	// maxEntries is more than the entries that any folder of a node has.
	maxEntries = 8192
	// maxText is more than the longest value that is shown, in bytes.
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

// text is a file's first line, cut to what can be shown; empty if it cannot be read or is
// no text.
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

// shortened cuts a text to what can be shown.
func shortened(s string) string {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// number is a file's whole number from 0; ok is false if it has none.
func number(fsys fs.FS, name string) (v uint64, ok bool) {
	v, err := strconv.ParseUint(text(fsys, name), 10, 64)
	return v, err == nil
}

// whole is a file's whole number from 0 as an int, nil if it has none, or one that
// no count reaches.
func whole(fsys fs.FS, name string) *int {
	v, ok := number(fsys, name)
	if !ok || v > 1<<30 {
		return nil
	}
	return new(int(v))
}

// list names a folder's entries; none if it cannot be read.
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

// beginnings are what the root of a tree holds, whatever part of one was recorded.
var beginnings = []string{"sys", "proc", "class", "devices", "bus", "topology/nodes", "nodes", "0/properties", "1/properties"}

// maxWrapped is the number of folders that an archive may wrap a tree in.
const maxWrapped = 3

// unwrapped is the tree itself where a recording has folders around it, each with nothing
// else in it.
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
