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

	"zbench/test/longtest"
)

// called runs a call of gpu-call.sh in a folder as `make gpu-folder` makes it, with stand-ins for
// zbench, gpu-compare and nvcc, and holds what comes back to the limits of a lent machine.
func called(t *testing.T, folder, call string, env ...string) (code int, printed string) {
	t.Helper()
	bin, path := t.TempDir(), t.TempDir()
	for _, name := range []string{"gpu-call.sh", "gpu-check.sh", "gpu-compare.sh", "gpu-processes.sh"} {
		text, err := os.ReadFile(filepath.Join("../../scripts", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), text, 0o755)) //nolint:gosec // a program
	}
	require.NoError(t, os.MkdirAll(filepath.Join(bin, "peers", "BabelStream", "src", "cuda"), 0o755)) //nolint:gosec // sources
	for at, text := range map[string]string{
		filepath.Join(bin, "zbench"):      "exit ${ZBENCH_CODE-5}\n",
		filepath.Join(bin, "gpu-compare"): "mkdir -p \"$OUT/run-01\"\necho page > \"$OUT/run-01/report.html\"\necho \"$3 $LIMIT $ALTERNATIONS BabelStream=${BABELSTREAM-}\" > \"$OUT/compare.md\"\n[[ $3 != *${FAILS-none}* ]]\n",
		filepath.Join(path, "nvcc"):       "while [ $# -gt 1 ]; do shift; done\necho built > \"$1\"\nchmod +x \"$1\"\n",
		filepath.Join(path, "python3"):    "exit 1\n",
		filepath.Join(path, "nvidia-smi"): "echo a GPU\n",
	} {
		require.NoError(t, os.WriteFile(at, []byte("#!/usr/bin/env bash\n"+text), 0o755)) //nolint:gosec // a program
	}
	c := exec.Command(filepath.Join(bin, "gpu-call.sh"), call, "--backend", "cuda")
	c.Env = append([]string{"PATH=" + path + ":" + os.Getenv("PATH"), "OUT=" + folder, "WORK=" + filepath.Join(filepath.Dir(bin), "work")}, env...)
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

// files are the names in a folder.
func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// The second call leaves all rows in one table, and one archive without pages. A missed bar goes on to
// the next row, and a row that the time does not reach is said to be missing.
func TestLongSecondCall(t *testing.T) {
	longtest.OnlyOrDetected(t)
	folder := t.TempDir()
	code, out := called(t, folder, "second", "FAILS=Products", "ROWS=memory:60 products:30 gemm:20", "LIMIT=100")
	require.Equal(t, 1, code, out)
	require.Equal(t, []string{"compare.md", "results.tar.gz"}, files(t, folder))
	require.Contains(t, out, "== products: exit code 1")
	require.Contains(t, out, "== gemm: exit code 0")
	text, err := os.ReadFile(filepath.Join(folder, "compare.md"))
	require.NoError(t, err)
	require.Regexp(t, `GPUMemory\$ 60 2 BabelStream=\n`, string(text), "no peer was built")
	require.Contains(t, string(text), "GPUGemm$ 20 2")
	names := packed(t, filepath.Join(folder, "results.tar.gz"))
	require.Subset(t, names, []string{"second/memory/compare.md", "second/products/compare.md", "second/second.txt", "second/driver-clock.csv"})
	require.NotContains(t, names, "second/memory/run-01/report.html")

	code, out = called(t, t.TempDir(), "second", "ROWS=memory:60", "LIMIT=5")
	require.Equal(t, 1, code, out)
	require.Regexp(t, `== memory: not run: \d s are left`, out)
}

// The first call builds the peers that have sources, and goes no further where there is no device.
func TestLongFirstCall(t *testing.T) {
	longtest.OnlyOrDetected(t)
	folder := t.TempDir()
	code, out := called(t, folder, "first")
	require.Equal(t, 5, code, out)
	require.Equal(t, []string{"doctor.txt", "machine.txt"}, files(t, folder))

	folder = t.TempDir()
	code, out = called(t, folder, "first", "ZBENCH_CODE=4")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "muon: exit code 4")
	require.Regexp(t, `peers: .*/cuda-stream`, out)
	require.Equal(t, []string{"cache.tar.gz", "doctor.txt", "machine.txt", "probes.txt", "results.tar.gz", "table.md"}, files(t, folder))
	require.Subset(t, packed(t, filepath.Join(folder, "results.tar.gz")), []string{"first/check/table.md", "first/peers.txt", "first/probe-hbm.txt"})
	table, err := os.ReadFile(filepath.Join(folder, "table.md"))
	require.NoError(t, err)
	require.Contains(t, string(table), "| doctor | failed |")
}

func TestCallsAreNamed(t *testing.T) {
	code, out := called(t, t.TempDir(), "all")
	require.Equal(t, 2, code)
	require.Contains(t, out, "first|second")
	code, out = called(t, "", "first")
	require.Equal(t, 2, code)
	require.True(t, strings.HasPrefix(out, "OUT is not set"), out)
}
