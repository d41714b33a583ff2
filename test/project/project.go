// Package project finds files that the tests of several packages read.
package project

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top is the nearest folder with a go.mod above the package under test.
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

// File returns the path of a file or folder of the project. name is relative to the top folder,
// such as testdata/all_reduce.log.
func File(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(top, filepath.FromSlash(name))
	if _, err := os.Stat(path); top == "" || err != nil {
		t.Fatalf("there is no %s above the test's folder", name)
	}
	return path
}

// Read returns the text of a file of the project.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Sources calls visit with every source file from which a program is built, if it has one of the
// extensions. rel is its path from the top folder. Tests, and files that only tests use, are left
// out.
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

// Published returns a folder with files that others published, such as logs, tables and trees of
// their machines. These files are not a part of the project: ZBENCH_SHARED names the folder that
// contains them, and without it the test is skipped. The name of such a test begins with TestData,
// because make check-data selects tests by this name.
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
