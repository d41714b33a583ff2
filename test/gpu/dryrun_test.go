package gpu

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/test/project"
)

// What a lent machine returns, and how long the calls may take there.
const (
	mostFiles = 8
	mostBytes = 16 << 20
	mostDeep  = 2
)

var mostSeconds = map[string]float64{"first": 250, "second": 400}

// The folder that travels runs both calls on the loopback, under CUDA's names and laid out as
// Python's packages are, within the limits of a lent machine.
func TestDryRun(t *testing.T) {
	folder := os.Getenv("GPU_FOLDER")
	if folder == "" {
		t.Skip("GPU_FOLDER is not set: make check-toolchain sets it")
	}
	env := append(pythonPackages(t), "GPUS=1", "PARTS=kernels collectives", "SIZE=64K", "SHAPE=64x96", "SHAPES=64x96", "HIDDEN=1001", "MNK=64x64x64", "ROWS_OF_NORM=8",
		"SIZES=-b 1K -e 64K -f 8", "WORK="+t.TempDir(), "ALLOW_SIMULATED=1")
	for _, call := range []struct {
		name, rows string // of the norms' matrices; of the comparison
		code       int
		want       []string
	}{
		{"first", "8", 0, []string{"doctor: exit code 0", "all_reduce: exit code 0", "| gemm-types | ok |", "| 2 ranks a GPU | ok |"}},
		{"second", "burst:60 memory:60", 1, []string{"== burst: exit code 0", "NCCL_TESTS names no folder", "== memory: exit code 1"}},
	} {
		out := t.TempDir()
		c := exec.CommandContext(t.Context(), filepath.Join(folder, "gpu-call.sh"), call.name, "--backend", "cuda") //nolint:gosec // the folder that was made
		c.Env = slices.Concat(env, []string{"OUT=" + out, "ROWS=" + call.rows})
		begun := time.Now()
		text, _ := c.CombinedOutput()
		require.Less(t, time.Since(begun).Seconds(), mostSeconds[call.name])
		for _, w := range call.want {
			require.Contains(t, string(text), w)
		}
		require.Equal(t, call.code, c.ProcessState.ExitCode(), "%s", text)
		returned(t, out)
	}
}

// pythonPackages is the environment of a Python that has CUDA's packages, with a GPU behind them.
func pythonPackages(t *testing.T) []string {
	t.Helper()
	libraries, home := t.TempDir(), t.TempDir()
	text, err := exec.CommandContext(t.Context(), project.File(t, "scripts/loopback.sh"), libraries).CombinedOutput() //nolint:gosec // ours
	require.NoError(t, err, "%s", text)
	site := filepath.Join(home, "lib", "python3.12", "site-packages", "nvidia")
	for folder, names := range map[string]string{
		filepath.Join(site, "cu13", "lib"): "libcudart libnvrtc libcublasLt", filepath.Join(site, "nccl", "lib"): "libnccl", filepath.Join(home, "driver"): "libcuda",
	} {
		require.NoError(t, os.MkdirAll(folder, 0o750))
		for name := range strings.FieldsSeq(names) {
			found, err := filepath.Glob(filepath.Join(libraries, "cuda", "lib", name+".so*"))
			require.NoError(t, err)
			require.Len(t, found, 1, name)
			require.NoError(t, os.Symlink(found[0], filepath.Join(folder, filepath.Base(found[0]))))
		}
	}
	bin := filepath.Join(home, "bin")
	require.NoError(t, os.Mkdir(bin, 0o750))
	python := fmt.Sprintf("#!/bin/sh\ncase $2 in *__path__*) echo %s ;; *) exit 1 ;; esac\n", site)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte(python), 0o700)) //nolint:gosec // a program

	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 4}, fabric.Conditions{Seed: 1, Groups: []int{2}})
	require.NoError(t, err)
	machine := filepath.Join(home, "machine")
	require.NoError(t, os.WriteFile(machine, m.Text(), 0o600))
	return []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "LD_LIBRARY_PATH=" + filepath.Join(home, "driver"),
		"ZBENCH_LOOPBACK=" + machine, "ZBENCH_LOOPBACK_SHARED=" + filepath.Join(home, "shared"),
	}
}

// returned holds what a call left to the limits.
func returned(t *testing.T, out string) {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		about, err := e.Info()
		require.NoError(t, err)
		require.LessOrEqual(t, about.Size(), int64(mostBytes), path)
		require.True(t, e.Type().IsRegular(), path)
		inside, err := filepath.Rel(out, path)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(inside, string(filepath.Separator)), mostDeep)
		require.Regexp(t, `^[A-Za-z0-9._/-]+$`, inside)
		return nil
	}))
	require.LessOrEqual(t, n, mostFiles)
	require.Positive(t, n)
}
