package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/test/longtest"
)

// clientMachines writes the machine files of eight ranks: all in one process, and each in
// its own.
func clientMachines(t testing.TB, dir string, faults ...string) (together, apart string) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	files := map[int]string{8: filepath.Join(dir, "together"), 1: filepath.Join(dir, "apart")}
	for gpus, file := range files {
		m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: gpus}, fabric.Conditions{Seed: 1, Faults: faults})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, m.Text(), 0o600))
	}
	return files[8], files[1]
}

// machineOf is the machine file together with a version of the collectives library, such as 22203 for 2.22.3.
func machineOf(t testing.TB, together, version string) string {
	text, err := os.ReadFile(together)
	require.NoError(t, err)
	file := together + "." + version
	require.NoError(t, os.WriteFile(file, append(text, "collectives_version "+version+"\n"...), 0o600))
	return file
}

// client builds testdata/client_test.c with the runtime and the collectives library in it.
func client(t testing.TB, dir string, options ...string) string {
	program := filepath.Join(dir, "client")
	compile(t, append(options, "-Wall", "-Wextra", "-DZB_NAMES=0", "-DFORWARD_COLLECTIVES=1", "-o", program,
		"testdata/client_test.c", "c/shared/runtime.c", "c/shared/forward.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")...)
	return program
}

// clientCommand is one of its parts. No variable hides a GPU.
func clientCommand(program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...) //nolint:gosec // a test built it
	cmd.Env = append(append(os.Environ(), env...), "ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=")
	return cmd
}

// runClient runs one of its parts.
func runClient(t testing.TB, program string, env []string, args ...string) string {
	out, err := clientCommand(program, append(env, "ZBENCH_LOOPBACK_KERNELS="+filepath.Join(filepath.Dir(program), "kernels.so")), args...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return string(out)
}

// A program that knows HIP and RCCL alone gets the results and the error codes of the real
// libraries from the loopback's, without a race: from one thread, from a thread a rank, from
// a process a rank; through groups, splits, graphs, events, operators of its own, kernels,
// every collective, messages and aborts.
func TestToolchainClient(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	program := client(t, dir, "-g", "-O1", "-fsanitize=thread")
	compile(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "kernels.so"), "testdata/client_kernels.c")
	together, apart := clientMachines(t, dir)
	world := "ZBENCH_LOOPBACK_SHARED=" + filepath.Join(dir, "alone") // as zbench loopback sets it
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + together}, "one")
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + apart, world}, "one")
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + together}, "threads")
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + apart, world, "ZBENCH_LOOPBACK_CLOCK=paced"}, "threads")
	runClient(t, program, []string{"MACHINE=" + apart}, "processes", filepath.Join(dir, "world"))
	runClient(t, program, []string{"MACHINE=" + apart}, "first", filepath.Join(dir, "first"))
	stuck, _ := clientMachines(t, t.TempDir(), "stuck_gpu:node=0,gpu=5")
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + stuck}, "stuck")
	runClient(t, program, []string{"MACHINE=" + apart}, "ipc", filepath.Join(dir, "ipc"))
	// The same on the model's clock.
	clock := filepath.Join(dir, "clock.so")
	compile(t, "-O1", "-shared", "-fPIC", "-o", clock, "c/shared/clock.c", "-ldl")
	shown := []string{"LD_PRELOAD=" + clock, "ZBENCH_LOOPBACK_CLOCK=virtual"}
	runClient(t, program, append(shown, "ZBENCH_LOOPBACK="+together), "one")
	runClient(t, program, append(shown, "ZBENCH_LOOPBACK="+together), "threads")
	runClient(t, program, append(shown, "ZBENCH_LOOPBACK="+together), "clock")
	runClient(t, program, append(shown, "MACHINE="+apart), "processes", filepath.Join(dir, "shown"))
	runClient(t, program, append(shown, "MACHINE="+apart), "ipc", filepath.Join(dir, "shown_ipc"))
}

// The same of 64 processes on 8 simulated nodes.
func TestLongClientOf64Processes(t *testing.T) {
	longtest.Only(t)
	dir := t.TempDir()
	program := client(t, dir, "-O1", "-DCLIENT_RANKS=64")
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 8, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Seed: 1})
	require.NoError(t, err)
	machine := filepath.Join(dir, "machine")
	require.NoError(t, os.WriteFile(machine, m.Text(), 0o600))
	runClient(t, program, []string{"MACHINE=" + machine}, "processes", filepath.Join(dir, "world"))
}
