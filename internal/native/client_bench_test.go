package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// benchRound is what one round of bench in testdata/client_test.c took: seconds by the host's clock,
// and of the CPUs of all processes.
type benchRound struct {
	wall, cpu float64
	file      int64 // bytes of the file where they meet, on its file system
}

// benchRounds runs the client's all_reduces: by one thread, by threads or by processes, which
// meet in a file of the folder as `zbench loopback` has it.
func benchRounds(t testing.TB, program, machine, meet, how, dtype string) []benchRound {
	file := filepath.Join(meet, "world")
	args := []string{"bench", how, dtype}
	env := []string{"ZBENCH_LOOPBACK=" + machine, "ZBENCH_LOOPBACK_SHARED=" + file}
	if how == "processes" {
		args, env = []string{how, file, dtype}, []string{"MACHINE=" + machine}
	}
	cmd := exec.Command(program, args...) //nolint:gosec // client built it
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var rounds []benchRound
	for line := range strings.Lines(string(out)) {
		var round int
		var r benchRound
		_, err := fmt.Sscan(line, &round, &r.wall, &r.cpu, &r.file)
		require.NoError(t, err, "%s", out)
		for round >= len(rounds) {
			rounds = append(rounds, benchRound{})
		}
		before := rounds[round]
		rounds[round] = benchRound{max(before.wall, r.wall), before.cpu + r.cpu, max(before.file, r.file)}
	}
	return rounds
}

// What an all_reduce of 256 MiB over 8 ranks takes of the host, with its data.
func BenchmarkClientAllReduce(b *testing.B) {
	program := client(b, b.TempDir(), "-O2")
	_, machine := clientMachines(b, b.TempDir())
	meet := "/dev/shm"
	if _, err := os.Stat(meet); err != nil {
		meet = b.TempDir()
	}
	for _, how := range []string{"one", "threads", "processes"} {
		for _, dtype := range []string{"float", "half", "bfloat16"} {
			b.Run(how+"/"+dtype, func(b *testing.B) {
				for b.Loop() {
					dir, err := os.MkdirTemp(meet, "zbench-bench-") //nolint:usetesting // in memory, as zbench loopback has it
					require.NoError(b, err)
					rounds := benchRounds(b, program, machine, dir, how, dtype)
					require.NoError(b, os.RemoveAll(dir))
					for i, r := range rounds {
						b.ReportMetric(r.wall, fmt.Sprintf("s/round%d", i+1))
						b.ReportMetric(r.cpu, fmt.Sprintf("cpu-s/round%d", i+1))
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// Data that no other process reads stays out of the file where processes meet. It goes
// through it where ranks are in processes of their own.
func TestToolchainDataOfOneProcess(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	const bytes = 8 << 20
	program := client(t, t.TempDir(), "-O2", fmt.Sprintf("-DBENCH_BYTES=%d", bytes))
	_, machine := clientMachines(t, t.TempDir())
	for _, how := range []string{"one", "threads", "processes"} {
		rounds := benchRounds(t, program, machine, t.TempDir(), how, "half")
		require.Len(t, rounds, 3, how)
		for _, r := range rounds {
			if how == "processes" {
				require.GreaterOrEqual(t, r.file, int64(bytes), how)
			} else {
				require.Less(t, r.file, int64(bytes), how)
			}
		}
	}
}

// A file system without room for the data is an error that says so.
func TestToolchainNoRoomToMeet(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := client(t, t.TempDir(), "-O2", "-DBENCH_BYTES=(2<<20)", "-Dfallocate=client_no_room", "testdata/client_no_room.c")
	_, machine := clientMachines(t, t.TempDir())
	cmd := exec.Command(program, "processes", filepath.Join(t.TempDir(), "world"), "float") //nolint:gosec // client built it
	cmd.Env = append(os.Environ(), "MACHINE="+machine)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "do not fit into the file system of the file where processes meet")
	require.Contains(t, string(out), "TMPDIR")
}
