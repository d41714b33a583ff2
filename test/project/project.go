// Package project finds the files that tests of several packages read.
package project

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top is the folder of the go.mod above the package under test.
var top = findTop()

func findTop() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return ""
}

// File is the path of a file or folder of the project, named from its top: testdata/all_reduce.log.
func File(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(top, filepath.FromSlash(name))
	if _, err := os.Stat(path); top == "" || err != nil {
		t.Fatalf("there is no %s above the test's folder", name)
	}
	return path
}

// Read is the text of a file of the project.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Sources calls visit with every source file that a program is made of, of these extensions, by its
// path from the top: no tests, nor what only they use or read.
func Sources(t testing.TB, extensions []string, visit func(rel string, text []byte)) {
	t.Helper()
	read := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(path, top+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "test" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git")):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(extensions, filepath.Ext(rel)) || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		read++
		text, err := os.ReadFile(path)
		visit(rel, text)
		return err
	})
	if err != nil || read <= 200 {
		t.Fatalf("%d source files read: %v", read, err)
	}
}

// Published is a folder of what others published: logs, tables, trees of their machines. They are
// no part of the project: ZBENCH_SHARED names where they lie, and a test that reads them is
// skipped without it. Its name begins with TestData, by which make check-data runs it.
func Published(t testing.TB, folder string) string {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestData") {
		t.Fatalf("%s reads published files: name it TestData…, or make check-data does not run it", t.Name())
	}
	shared := os.Getenv("ZBENCH_SHARED")
	if shared == "" {
		t.Skip("make check-data runs it, on files that others published")
	}
	return filepath.Join(shared, folder)
}
