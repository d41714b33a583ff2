package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/spec"
)

// What a request in a file asks of kernels is checked as the flags are: nothing is left out
// or replaced in silence, and the file is named.
func TestSpecFilesOfKernels(t *testing.T) {
	for _, one := range []struct {
		command   []string
		benchmark string
		kernels   spec.Kernels
		says      string
	}{
		{[]string{"hbm"}, "hbm", spec.Kernels{Streams: []string{"foo"}, Dtypes: []string{"float32"}, Size: 1 << 20}, `unknown stream "foo": valid are read`},
		{[]string{"hbm"}, "hbm", spec.Kernels{Dtypes: []string{"float32", "foo"}, Size: 1 << 20}, `unknown dtype "foo": valid are float32,`},
		{[]string{"hbm"}, "hbm", spec.Kernels{Size: 1 << 20}, "dtypes is empty: valid are float32,"},
		{[]string{"hbm"}, "hbm", spec.Kernels{Dtypes: []string{"float32"}, Data: "noise", Size: 1 << 20}, `unknown data "noise": valid are random, zeros`},
		{[]string{"hbm"}, "hbm", spec.Kernels{Dtypes: []string{"float32"}, Size: 3}, "size is 3: an array has at least 16 B"},
		{[]string{"hbm"}, "hbm", spec.Kernels{Dtypes: []string{"float32"}, Hidden: []int{8}, Size: 1 << 20}, "hbm has no hidden"},
		{[]string{"kernels", "rmsnorm"}, "rmsnorm", spec.Kernels{Dtypes: []string{"bfloat16"}, Hidden: []int{0}}, "hidden has 0: a row has 1 to 65536 elements"},
		{[]string{"kernels", "rmsnorm"}, "rmsnorm", spec.Kernels{Dtypes: []string{"foo"}, Hidden: []int{8}}, `unknown dtype "foo"`},
		{[]string{"kernels", "rmsnorm"}, "rmsnorm", spec.Kernels{Dtypes: []string{"bfloat16"}}, "hidden is empty"},
		{[]string{"kernels", "rmsnorm"}, "rmsnorm", spec.Kernels{Dtypes: []string{"bfloat16"}, Hidden: []int{8}, Rows: 1 << 40}, "a matrix has 1 to 1073741824 rows"},
		{[]string{"kernels", "rmsnorm"}, "rmsnorm", spec.Kernels{Dtypes: []string{"bfloat16"}, Hidden: []int{8}, Shapes: []string{"8x8"}}, "rmsnorm has no shapes"},
		{[]string{"kernels", "muon"}, "muon", spec.Kernels{Shapes: []string{"8y8"}, Coefficients: "you"}, `shape "8y8"`},
		{[]string{"kernels", "muon"}, "muon", spec.Kernels{Shapes: []string{"8x8"}, Coefficients: "x"}, `unknown coefficients "x"`},
		{[]string{"kernels", "muon"}, "muon", spec.Kernels{Shapes: []string{"8x8"}, Coefficients: "you", Tune: true}, "muon has no tune"},
	} {
		one.kernels.Precision, one.kernels.MaxTime = 0.5, 0.001
		text, err := json.Marshal(spec.Spec{Schema: spec.Schema, Benchmark: one.benchmark, Backend: "loopback", World: spec.World{Nodes: 1, GPUsPerNode: 1, GPUsPerProcess: 1}, Kernels: &one.kernels})
		require.NoError(t, err)
		dir := t.TempDir()
		file, out := filepath.Join(dir, "request.json"), filepath.Join(dir, "out")
		require.NoError(t, os.WriteFile(file, text, 0o600))
		code, stdout, stderr := printed(t, append(one.command, "--spec", file, "--out", out, "-q")...)
		require.Equal(t, exit.Usage, code, "%s: %s%s", text, stderr, stdout)
		require.Contains(t, stderr, one.says)
		require.Contains(t, stderr, "\n  → ")
		require.NoDirExists(t, out)
	}
}
