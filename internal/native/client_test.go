package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/fabric"
	"zbench/bench/spec"
	"zbench/internal/native"
)

// clientMachines writes the machine files of eight ranks: all in one process, and each in
// its own.
func clientMachines(t *testing.T, dir string) (together, apart string) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	files := map[int]string{8: filepath.Join(dir, "together"), 1: filepath.Join(dir, "apart")}
	for gpus, file := range files {
		m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: gpus}, fabric.Options{Seed: 1})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, m.Text(), 0o600))
	}
	return files[8], files[1]
}

// client builds testdata/client_test.c with the runtime and collectives library in it, and
// runs all of it: one thread, threads, processes.
func client(t *testing.T, compiler, source string, args ...string) {
	dir := t.TempDir()
	kernels, program := filepath.Join(dir, "kernels.so"), filepath.Join(dir, "client")
	compile(t, "-shared", "-fPIC", "-o", kernels, "testdata/client_kernels.c")
	object := filepath.Join(dir, "client.o")
	flags := append([]string{"-g", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-c", "-o", object}, args...)
	out, err := exec.Command(compiler, append(flags, source)...).CombinedOutput() //nolint:gosec // built from this folder
	require.NoError(t, err, "%s", out)
	compile(t, append(sanitizers(args), "-g", "-O1", "-DZB_NAMES=0", "-DFORWARD_COLLECTIVES=1", "-o", program, object,
		"c/shared/runtime.c", "c/shared/forward.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")...)
	together, apart := clientMachines(t, dir)
	run := func(env string, args ...string) {
		cmd := exec.Command(program, args...) //nolint:gosec // built above
		cmd.Env = append(os.Environ(), env, "ZBENCH_LOOPBACK_KERNELS="+kernels)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	run("ZBENCH_LOOPBACK="+together, "one")
	run("ZBENCH_LOOPBACK="+together, "threads")
	run("MACHINE="+apart, "processes", filepath.Join(dir, "world"))
}

// sanitizers are the options of them that the libraries need, too.
func sanitizers(args []string) []string {
	if len(args) > 0 && args[0] == "-fsanitize=thread" {
		return args[:1]
	}
	return nil
}

// A program that knows HIP and RCCL alone gets the results and the error codes of the real
// libraries from the loopback's, without a race: from one thread, from a thread a rank, from
// a process a rank; through groups, splits, graphs, events, operators of its own and kernels.
func TestToolchainClient(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	client(t, "cc", "testdata/client_test.c", "-fsanitize=thread")
}
