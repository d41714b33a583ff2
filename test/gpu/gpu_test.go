// Package gpu holds zbench on a real GPU against the programs people use today,
// both sides in one call, by turns: BabelStream, torch (compiled, batched products,
// foreach), the vendor's BLAS, Triton kernels, nccl-tests. It is a test program, so
// that it can be built on one machine (`make bin/gpu-compare`) and carried to
// another that has no Go:
//
//	ZBENCH=bin/zbench bin/gpu-compare -test.run '^TestGPUNorm$'
//
// One row a call takes less than nine minutes; scripts/gpu-compare.sh makes the
// calls, each with a table of its own.
//
// Variables: ZBENCH the binary, ZBENCH_FLAGS what each of its runs gets (--backend,
// --lib-path, …), BABELSTREAM its CUDA or HIP program, NCCL_TESTS the folder with
// all_reduce_perf, GPUS how many GPUs it may also take together, SIZE of hbm's arrays
// (2G), SIZES of messages (-b 1K -e 1G -f 4), PYTHON a Python that has torch, LIGER the folder with the
// package liger_kernel, ALTERNATIONS how many turns (3), LIMIT how many seconds all
// of it may take (530), OUT the folder for compare.md and compare.csv (.).
//
// A peer that is not there is NOT CHECKED. A bar that is missed fails.
package gpu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What was found so far; each test adds its own.
var (
	rows  []finding
	with  []string // what ran it: devices, libraries
	begun = time.Now()
)

// TestMain ends early where there is no GPU or no library, and prints the table at the end.
func TestMain(m *testing.M) {
	if err := answers(); err != nil {
		fmt.Fprintln(os.Stderr, "nothing to compare on:", err)
		os.Exit(noDevice)
	}
	code := m.Run()
	if len(rows) > 0 {
		fmt.Print("\n", markdown(with, rows))
	}
	os.Exit(code)
}

// save writes the table of what there is.
func save(t *testing.T) {
	t.Helper()
	folder := setting("OUT", ".")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{"compare.md": markdown(with, rows), "compare.csv": turnsCSV(rows)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// runs counts what ran, for the folders that keep it.
var runs int

// kept is a new folder for a run: what it wrote comes back with the table.
func kept(t *testing.T) string {
	t.Helper()
	runs++
	folder := filepath.Join(setting("OUT", "."), fmt.Sprintf("run-%02d", runs))
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	return folder
}

// setting is a variable of the environment, or what stands for it.
func setting(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// zbenchHere skips where no binary is named: then this is one of all tests, on a
// machine of which nothing is known.
func zbenchHere(t *testing.T) {
	t.Helper()
	if os.Getenv("ZBENCH") == "" {
		t.Skip("ZBENCH is not set: make gpu-compare sets it")
	}
}

func alternations(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(setting("ALTERNATIONS", "3"))
	if err != nil || n < 1 {
		t.Fatalf("ALTERNATIONS=%s: want a count", os.Getenv("ALTERNATIONS"))
	}
	return n
}

// within is a context that ends when all must have: a lent machine goes back.
func within(t *testing.T) context.Context {
	t.Helper()
	limit, err := strconv.ParseFloat(setting("LIMIT", "530"), 64)
	if err != nil {
		t.Fatalf("LIMIT=%s: want seconds", os.Getenv("LIMIT"))
	}
	left := time.Duration(limit*float64(time.Second)) - time.Since(begun)
	ctx, cancel := context.WithTimeout(t.Context(), left)
	t.Cleanup(cancel)
	return ctx
}

// ranWith notes what ran a side, once.
func ranWith(what string) {
	if !slices.Contains(with, what) {
		with = append(with, what)
	}
}

// add takes findings into the table, keeps it, and fails for a bar that was missed.
func add(t *testing.T, found ...finding) {
	t.Helper()
	for _, f := range found {
		rows = append(rows, f)
		switch verdict := f.verdict(); {
		case strings.HasPrefix(verdict, missed):
			t.Errorf("%s, %s: %s", f.row, f.what, verdict)
		default:
			t.Logf("%s, %s: %s", f.row, f.what, verdict)
		}
	}
	save(t)
}
