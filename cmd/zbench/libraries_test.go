package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
	"zbench/test/project"
)

// Libraries that are broken in the ways libraries are: what a user sees of it,
// in folders with short names and with long ones, which fold the text elsewhere.
func TestLongLibraryScripts(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for _, folder := range []string{"a", strings.Repeat("a-long-name-", 6)} {
		t.Run(fmt.Sprintf("%d characters", len(folder)), func(t *testing.T) {
			root := filepath.Join(t.TempDir(), folder)
			require.NoError(t, os.Mkdir(root, 0o755))
			libraryScripts(t, root)
		})
	}
}

func libraryScripts(t *testing.T, root string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/libraries",
		WorkdirRoot:         root,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			steady(e)
			e.Setenv("VENDOR", project.File(t, "testdata/libraries/vendor.c"))
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "long" && len(filepath.Base(root)) > 1, nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": exitCode, "library": buildLibrary, "break": breakLibrary, "json": isJSON, "fifo": makeFIFO, "says": says,
		},
	})
}

// noPackages hides this host's Python, whose packages may hold the libraries that
// a script says are missing: zbench takes the first Python on PATH, and that is a
// file in an empty folder. A shell passes over it, as it cannot be run.
func noPackages(e *testscript.Env) {
	bin := filepath.Join(e.WorkDir, ".nopython", "bin")
	if err := os.MkdirAll(bin, 0o750); err != nil {
		e.T().Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "python3"), nil, 0o600); err != nil {
		e.T().Fatal(err)
	}
	e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
}

// buildLibrary makes a shared library of zbench's stand-in for a vendor's:
// library FILE COLLECTIVES|RUNTIME [more arguments of the compiler].
func buildLibrary(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: library FILE COLLECTIVES|RUNTIME [ARGUMENT…]")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	command := exec.Command(cc, append([]string{
		"-shared", "-fPIC", "-o", file, ts.Getenv("VENDOR"), "-D" + args[1], "-Wl,-soname," + filepath.Base(file),
	}, args[2:]...)...)
	command.Dir = ts.MkAbs(".")
	if out, err := command.CombinedOutput(); err != nil {
		ts.Fatalf("%s: %v\n%s", cc, err, out)
	}
}

// breakLibrary breaks one: break FILE truncate|aarch64.
func breakLibrary(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	switch args[1] {
	case "truncate":
		data = data[:len(data)/2]
	case "aarch64":
		binary.LittleEndian.PutUint16(data[18:], 183) // e_machine
	default:
		ts.Fatalf("unknown damage %s", args[1])
	}
	ts.Check(os.WriteFile(file, data, 0o755)) //nolint:gosec // as libraries are
}

// makeFIFO makes one: fifo FILE.
func makeFIFO(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// isJSON checks that standard output is one JSON value and nothing else.
func isJSON(ts *testscript.TestScript, _ bool, _ []string) {
	var value any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &value); err != nil {
		ts.Fatalf("standard output is not JSON: %v", err)
	}
}
