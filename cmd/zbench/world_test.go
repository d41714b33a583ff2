package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

// program is this test as an executable named zbench: what zbench starts, it starts by its
// own file.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "zbench")
	if os.Link(self, name) == nil {
		return name
	}
	from, err := os.Open(self)
	require.NoError(t, err)
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	return name
}

// childrenOf are the processes that a process has started, by rank.
func childrenOf(t *testing.T, pid int) map[int]int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	ranks := map[int]int{}
	for _, name := range tasks {
		text, _ := os.ReadFile(name)
		for word := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(word)
			require.NoError(t, err)
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", child))
			for v := range strings.SplitSeq(string(environ), "\x00") {
				if rank, ok := strings.CutPrefix(v, "ZBENCH_RANK="); ok {
					n, err := strconv.Atoi(rank)
					require.NoError(t, err)
					ranks[n] = child
				}
			}
		}
	}
	return ranks
}

// However a run of several processes ends, what is finished is saved where the leader
// lives, the error says who was lost, and no process is left behind.
func TestLongEndsOfSeveralProcesses(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	zbench := program(t)
	const parent = -1
	for name, c := range map[string]struct {
		whom   int // a rank, or the parent
		signal syscall.Signal
		code   int
		says   string
		saved  bool
	}{
		"follower killed":      {3, syscall.SIGKILL, exit.Run, "process 3 on ", true},
		"leader killed":        {0, syscall.SIGKILL, exit.Run, "ended early (signal: killed)", false},
		"parent killed":        {parent, syscall.SIGKILL, -1, "interrupted", true},
		"parent interrupted":   {parent, syscall.SIGINT, exit.Interrupted, "resume with: `zbench collectives --resume", true},
		"follower interrupted": {5, syscall.SIGTERM, exit.Interrupted, "interrupted", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			cmd := exec.Command(zbench, "collectives", "--backend", "loopback", "--launch", "local", "-q", "--out", dir)
			errors := filepath.Join(t.TempDir(), "stderr")
			stderr, err := os.Create(errors)
			require.NoError(t, err)
			cmd.Stderr = stderr
			require.NoError(t, cmd.Start())
			lines(t, dir, 3)
			ranks := childrenOf(t, cmd.Process.Pid)
			require.Len(t, ranks, 8)
			whom := ranks[c.whom]
			if c.whom == parent {
				whom = cmd.Process.Pid
			}
			require.NoError(t, syscall.Kill(whom, c.signal))
			err = cmd.Wait()
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), err)
			require.Eventually(t, func() bool {
				for _, pid := range ranks {
					if syscall.Kill(pid, 0) == nil {
						return false
					}
				}
				return true
			}, time.Minute, 10*time.Millisecond, "processes are left behind")
			text, err := os.ReadFile(errors)
			require.NoError(t, err)
			require.Contains(t, string(text), c.says)
			if c.saved {
				require.FileExists(t, filepath.Join(dir, "results.json"))
			}
		})
	}
}

// Sixteen processes that torchrun or a script has started leave the record of one.
func TestLongProcessesOfALauncher(t *testing.T) {
	longtest.Only(t)
	zbench := program(t)
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	t.Setenv("ZBENCH_TOKEN", strings.Repeat("0f", 32))
	run := func(out string, vars ...string) string {
		cmd := exec.Command(zbench, "collectives", "all_gather", "-b", "1K", "-e", "1M", "--strides", "8", "--backend", "loopback", "-q", "--out", filepath.Join(dir, out))
		if vars == nil {
			cmd.Args = append(cmd.Args, "--nodes", "2")
		}
		cmd.Env = append(os.Environ(), vars...)
		var both bytes.Buffer
		cmd.Stdout, cmd.Stderr = &both, &both
		require.NoError(t, cmd.Run(), "%s", &both)
		return both.String()
	}
	run("one")
	want, err := os.ReadFile(filepath.Join(dir, "one", "results.json"))
	require.NoError(t, err)
	var wait sync.WaitGroup
	for rank := range 16 {
		wait.Go(func() {
			said := run("torchrun", fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("LOCAL_RANK=%d", rank%8), "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8",
				fmt.Sprintf("GROUP_RANK=%d", rank/8), "GROUP_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+strconv.Itoa(os.Getpid()))
			require.Equal(t, rank == 0, said != "", said)
		})
	}
	wait.Wait()
	got, err := os.ReadFile(filepath.Join(dir, "torchrun", "results.json"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
