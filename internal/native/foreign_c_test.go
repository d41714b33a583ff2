package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// foreignProgram builds testdata/foreign_test.c.
func foreignProgram(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "foreign")
	compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/foreign_test.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	return program
}

// foreign runs a part of testdata/foreign_test.c in a world with these faults. It returns what
// the part printed.
func foreign(t *testing.T, program string, faults []string, args []string, env ...string) string {
	together, _ := clientMachines(t, t.TempDir(), faults...)
	out, err := clientCommand(program, append([]string{"ZBENCH_LOOPBACK=" + together}, env...), args...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return string(out)
}

// What proves nothing is said or refused: skipped kernels, memory that is not there, a call
// with a wrong argument, launches that came late.
func TestToolchainForeign(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := foreignProgram(t)
	skip, planted := "ZBENCH_LOOPBACK_UNKNOWN_KERNELS=skip", []string{"missing_rank:node=0,gpu=5"}

	out := foreign(t, program, nil, []string{"skipped"}, skip)
	require.Contains(t, out, "zbench loopback: 3 kernels skipped: the program's own checks prove nothing\n")
	out = foreign(t, program, planted, []string{"refused"}, skip)
	require.Contains(t, out, "the loopback shows no GPU")
	require.NotContains(t, foreign(t, program, planted, []string{"unknown"}), "skipped")
	require.NotContains(t, foreign(t, program, nil, []string{"unknown"}), "skipped")
	out = foreign(t, program, []string{"slow_rail:node=0,rail=2,left=0.5"}, []string{"skipped"}, skip)
	require.Contains(t, out, "3 kernels skipped", "a fault of times and skipped kernels go together")

	require.Contains(t, foreign(t, program, nil, []string{"memory"}), "zbench loopback: 206.2 GB of GPU memory are refused: the GPU has 206.2 GB left\n")
	out = foreign(t, program, nil, []string{"room"})
	require.Contains(t, out, "zbench loopback: 3.0 GB of GPU memory are refused: the host has memory for 1.0 GB more.")
	require.Empty(t, foreign(t, program, nil, []string{"roomy"}, "ZBENCH_LOOPBACK_DATA=0"))
	require.Empty(t, foreign(t, program, nil, []string{"roomy"}, "ZBENCH_LOOPBACK_OVERCOMMIT=1"))

	told := "zbench loopback: NCCL WARN ncclBroadcast, rank 0 of 2: invalid root 5\n"
	for level, want := range map[string]bool{"": false, "VERSION": false, "WARN": true, "warn": true, "INFO": true, "TRACE": true} {
		out = foreign(t, program, nil, []string{"call"}, "NCCL_DEBUG="+level)
		if want {
			require.Contains(t, out, told, level)
		} else {
			require.NotContains(t, out, "NCCL WARN", level)
		}
	}
	paced := []string{"ZBENCH_LOOPBACK_CLOCK=paced", "ZBENCH_LOOPBACK_DATA=0"}
	require.Regexp(t, `zbench loopback: [0-2] launches late, of 2\b`, foreign(t, program, nil, []string{"launch"}, paced...))
	require.NotContains(t, foreign(t, program, nil, []string{"launch"}), "late")
}

// With measured times of some collectives the end of a program tells which of its others took the model's.
func TestToolchainTellsOfModelledTimes(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program, machine := foreignProgram(t), filepath.Join(t.TempDir(), "machine")
	together, _ := clientMachines(t, t.TempDir())
	text, err := os.ReadFile(together)
	require.NoError(t, err)
	for ranks, lacks := range map[int]bool{4: true, 2: false} {
		measured := fmt.Sprintf("%scurve all_reduce 0 %d 1 1e8 1 1e-3 1e-9 1\npoint 16 0.001\n", text, ranks)
		require.NoError(t, os.WriteFile(machine, []byte(measured), 0o600))
		out := foreign(t, program, nil, []string{"launch"}, "ZBENCH_LOOPBACK="+machine)
		require.Equal(t, lacks, strings.HasSuffix(out, "zbench loopback: the file of measured times lacks these, which took the fabric's times: all_reduce of 2 ranks\n"), out)
		require.Equal(t, lacks, strings.Contains(out, "lacks"), out)
	}
}

// The host's memory is what is available, or what the container's limit leaves of it.
func TestToolchainRoomOfHosts(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := foreignProgram(t)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no file":          {nil, "18446744073709551615"},
		"a host":           {map[string]string{"proc/meminfo": "MemTotal: 8000 kB\nMemFree: 10 kB\nMemAvailable:   5000 kB\n"}, "5120000"},
		"no limit":         {map[string]string{"proc/meminfo": "MemAvailable: 5 kB\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "7\n"}, "5120"},
		"a container":      {map[string]string{"proc/meminfo": "MemAvailable: 5000 kB\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "700\n"}, "300"},
		"full":             {map[string]string{"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "1001\n"}, "0"},
		"the first groups": {map[string]string{"proc/meminfo": "MemAvailable: 5 kB\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "4000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000\n"}, "3000"},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		require.Equal(t, c.want, foreign(t, program, nil, []string{"left", root}), name)
	}
}
