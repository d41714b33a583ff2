package gpu

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// called runs a call of gpu-call.sh with stand-ins for zbench, gpu-compare and nvcc.
func called(t *testing.T, folder, call string, env ...string) (code int, printed string) {
	t.Helper()
	bin, path := t.TempDir(), t.TempDir()
	for at, text := range map[string]string{
		filepath.Join(bin, "zbench"):      "exit 5\n",
		filepath.Join(bin, "gpu-compare"): "mkdir -p \"$OUT\"\necho \"$3 $LIMIT BabelStream=${BABELSTREAM-}\" > \"$OUT/compare.md\"\n[[ $3 != *${FAILS-none}* ]]\n",
		filepath.Join(path, "nvcc"):       "while [ $# -gt 1 ]; do shift; done\necho built > \"$1\"\n",
		filepath.Join(path, "python3"):    "exit 1\n",
		filepath.Join(path, "nvidia-smi"): "echo a GPU\n",
	} {
		require.NoError(t, os.WriteFile(at, []byte("#!/usr/bin/env bash\n"+text), 0o755)) //nolint:gosec // a program
	}
	c := exec.Command("../../scripts/gpu-call.sh", call, "--backend", "cuda")
	c.Env = append([]string{"PATH=" + path + ":" + os.Getenv("PATH"), "OUT=" + folder, "BIN=" + bin}, env...)
	out, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(out)
}

// packed are the names in a tar.gz.
func packed(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // read only
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		names = append(names, h.Name)
	}
}

// A call leaves a table of each row and one archive; a missed bar goes on to the next row, and a
// peer is built from its sources where there are any.
func TestCallsLeaveFewFiles(t *testing.T) {
	sources := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(sources, "src", "cuda"), 0o755))
	folder := t.TempDir()
	code, out := called(t, folder, "compute", "FAILS=Products", "BABELSTREAM_SRC="+sources)
	require.Equal(t, 1, code, out)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	require.Equal(t, []string{"memory.md", "newton-schulz.md", "nvidia-smi.txt", "products.md", "results.tar.gz"}, names)
	require.Contains(t, out, "== products: exit code 1")
	require.Contains(t, out, "== newton-schulz: exit code 0")
	text, err := os.ReadFile(filepath.Join(folder, "memory.md"))
	require.NoError(t, err)
	require.Regexp(t, `GPUMemory\$ 17\d BabelStream=/.*/cuda-stream`, string(text), "a third of the call's seconds")
	require.Subset(t, packed(t, filepath.Join(folder, "results.tar.gz")), []string{"results/memory/compare.md", "results/products/compare.md", "results/compute.txt", "results/build-BabelStream.txt", "results/gemm.txt", "results/driver-clock.csv"})
	require.Contains(t, out, "== gemm: exit code 5")

	code, out = called(t, t.TempDir(), "moves")
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "nccl-tests is NOT CHECKED: NCCL_TESTS_SRC has no src/Makefile")
}

// The check's table and archive are there when no device is; the compiled kernels always.
func TestCallWithoutADevice(t *testing.T) {
	folder := t.TempDir()
	code, out := called(t, folder, "check")
	require.Equal(t, 5, code, out)
	table, err := os.ReadFile(filepath.Join(folder, "table.md"))
	require.NoError(t, err)
	require.Contains(t, string(table), "| doctor | failed |")
	require.FileExists(t, filepath.Join(folder, "results.tar.gz"))
	require.FileExists(t, filepath.Join(folder, "cache.tar.gz"))
}

func TestCallsAreNamed(t *testing.T) {
	code, out := called(t, t.TempDir(), "all")
	require.Equal(t, 2, code)
	require.Contains(t, out, "check|compute|moves")
	code, out = called(t, "", "check")
	require.Equal(t, 2, code)
	require.True(t, strings.HasPrefix(out, "OUT is not set"), out)
}
