package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/launch"
	"zbench/test/longtest"
)

// The ranks are a launcher's processes: on hardware the nodes are the launcher's, in a
// simulation the fabric's.
func TestWorldOfALaunchersProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		backend string
		role    launch.Role
		asked   spec.World
		given   bool
		nodes   int
		gpus    int
		fails   string
	}{
		"two nodes":          {"rocm", launch.Role{Size: 16, LocalSize: 8}, spec.World{}, false, 2, 8, ""},
		"four GPUs each":     {"rocm", launch.Role{Size: 4, LocalSize: 2}, spec.World{GPUsPerProcess: 4}, false, 2, 8, ""},
		"one large node":     {"rocm", launch.Role{Size: 16, LocalSize: 16}, spec.World{}, false, 1, 16, ""},
		"simulated":          {"loopback", launch.Role{Size: 16, LocalSize: 16}, spec.World{}, false, 2, 8, ""},
		"simulated, unknown": {"loopback", launch.Role{Size: 4}, spec.World{}, false, 1, 4, ""},
		"nodes given":        {"loopback", launch.Role{Size: 16, LocalSize: 16}, spec.World{Nodes: 4}, true, 4, 4, ""},
		"another world":      {"rocm", launch.Role{Size: 16, LocalSize: 8}, spec.World{Nodes: 4, GPUsPerNode: 8}, true, 0, 0, "with -g 1 they drive 16 GPUs, but 4 nodes of 8 GPUs are 32"},
		"uneven nodes":       {"rocm", launch.Role{Size: 12, LocalSize: 8}, spec.World{}, false, 0, 0, "they drive 12 GPUs, but 1 nodes of 8 GPUs are 8"},
	} {
		l := launching{method: launch.Env, role: c.role, want: spec.Spec{Backend: c.backend, Fabric: fabric.Default, World: c.asked}}
		err := l.spreadRanks(c.given)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails, name)
			require.Equal(t, exit.Usage, exit.CodeOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, []int{c.nodes, c.gpus}, []int{l.want.World.Nodes, l.want.World.GPUsPerNode}, name)
	}
}

// On hardware the nodes are those on which the launcher has placed the processes; fewer than
// the job's are asked for by their number.
func TestNodesOfTheWorldAreTheLaunchers(t *testing.T) {
	mpi := launch.Role{Kind: launch.Rank, By: "mpirun", Size: 16, LocalSize: 8}
	script := mpi
	script.By = "a script (ZBENCH_RANK)"
	job := map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "4"}
	for name, c := range map[string]struct {
		backend string
		role    launch.Role
		nodes   int
		gpus    int
		job     map[string]string
		fails   string
	}{
		"as placed":                 {"rocm", mpi, 2, 0, nil, ""},
		"not asked for":             {"auto", mpi, 0, 0, nil, ""},
		"more nodes":                {"rocm", mpi, 4, 0, nil, "on 2 nodes, but --nodes 4 --gpus-per-node 4 are asked for"},
		"fewer nodes":               {"auto", mpi, 1, 0, nil, "on 2 nodes, but --nodes 1 --gpus-per-node 16"},
		"larger nodes":              {"rocm", mpi, 0, 16, nil, "on 2 nodes, but --nodes 1 --gpus-per-node 16"},
		"simulated":                 {"loopback", mpi, 4, 0, nil, ""},
		"no place known":            {"rocm", launch.Role{Kind: launch.Rank, Size: 16}, 4, 0, nil, ""},
		"a part of the job":         {"rocm", mpi, 0, 0, job, "on 2 nodes, but the job of Slurm has 4 .SLURM_JOB_NUM_NODES=4.: the others would take no part"},
		"a part that is asked for":  {"rocm", mpi, 2, 0, job, ""},
		"without those left out":    {"rocm", mpi, 0, 0, map[string]string{"SLURM_JOB_ID": "1", "SLURM_NNODES": "4", launch.ControlVariable: "stdin"}, ""},
		"a part of it, simulated":   {"loopback", mpi, 0, 0, job, ""},
		"a part by zbench's choice": {"rocm", script, 0, 0, job, ""},
	} {
		l := launching{method: launch.Env, role: c.role, want: spec.Spec{Backend: c.backend, Fabric: fabric.Default, World: spec.World{Nodes: c.nodes, GPUsPerNode: c.gpus}}}
		require.NoError(t, l.spreadRanks(c.nodes > 0), name)
		err := l.realNodes(State{Getenv: func(name string) string { return c.job[name] }}, c.nodes > 0)
		if c.fails == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.Regexp(t, c.fails, err.Error(), name)
		require.Equal(t, exit.Usage, exit.CodeOf(err), name)
	}
}

// The first process's exit code is the sweep's; what is none of zbench's is a run error
// that says how it ended.
func TestExitCodeOfStartedProcesses(t *testing.T) {
	for code, want := range map[int]int{0: 0, exit.WrongData: exit.WrongData, exit.Interrupted: exit.Interrupted, -1: exit.Run, 137: exit.Run, 7: exit.Run} {
		err := verdictOf(ending{code: code, how: "signal: killed"}, nil, said("kept"))
		require.Equal(t, want, exit.CodeOf(err), code)
		if want == exit.Run {
			require.ErrorContains(t, err, "signal: killed")
			require.Equal(t, "kept", hintIn(t, err))
		}
	}
	err := verdictOf(ending{code: exit.Interrupted}, &ending{child: 3, code: -1, how: "signal: killed"}, said("kept"))
	require.Equal(t, exit.Run, exit.CodeOf(err))
	require.ErrorContains(t, err, "process 3 ended early (signal: killed)")
}

func said(text string) func() string { return func() string { return text } }

// An early end says that cases are saved only where they are, and where.
func TestWhatAnEarlyEndHasSaved(t *testing.T) {
	longtest.OneGoroutine(t)
	t.Chdir(t.TempDir())
	s, _ := testState(t)
	begun := time.Now()
	all := worldRun{runOptions: runOptions{output: output{out: "all"}}}
	for _, o := range []worldRun{{}, all, {runOptions: runOptions{resume: "all"}}} {
		require.Equal(t, "nothing was measured, and nothing is saved. The launcher's own message is above; --dry-run prints the command that was run", o.savedSince(s, begun))
	}
	s.Args = []string{"collectives", "all_reduce", "-b", "1K", "-e", "1K", "-q", "--backend", "loopback"}
	require.Equal(t, exit.OK, Main(t.Context(), s))
	require.Regexp(t, `^finished cases are saved; to run the rest: .zbench collectives --resume zbench-collectives-\d{8}-\d{6}.$`, (&worldRun{}).savedSince(s, begun))
	require.Contains(t, (&worldRun{}).savedSince(s, begun.Add(time.Hour)), "nothing is saved")
	s.Args = append(s.Args, "--out", "all")
	require.Equal(t, exit.OK, Main(t.Context(), s))
	require.Contains(t, all.savedSince(s, begun.Add(time.Hour)), "collectives --resume all")
}

// mpirun gives its processes a terminal wherever its own output goes: no colour, and no terminal's
// width, unless the zbench that started it says so.
func TestOutputUnderMpirunIsPlain(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, c := range []struct {
		env    map[string]string
		colour bool
	}{
		{map[string]string{}, true},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "0"}, false},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "0", "ZBENCH_CONTROL": "stdin"}, true},
	} {
		s, out := testState(t, "collectives", "all_reduce", "-b", "1K", "-e", "1K", "-q", "--backend", "loopback", "--launch", "inproc", "--out", filepath.Join(t.TempDir(), "out"))
		s.Stdout = Stream{Writer: out, IsTTY: true, Width: 80}
		open, end := io.Pipe() // a zbench that started this one keeps its standard input open
		defer func() { _ = end.Close() }()
		s.Stdin = open
		s.Getenv = func(name string) string { return c.env[name] }
		if c.env["OMPI_COMM_WORLD_RANK"] != "" {
			maps.Copy(c.env, map[string]string{"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"})
		}
		require.Equal(t, exit.OK, Main(t.Context(), s))
		require.Equal(t, c.colour, strings.Contains(out.String(), "\x1b["), "%v", c.env)
	}
}

// A line on standard input asks the leader to stop, the second ends it at once, and so
// does the end of the zbench that started it.
func TestLeaderHeedsStandardInput(t *testing.T) {
	in, out := io.Pipe()
	code := make(chan int, 1)
	ctx := new(launchFlagSet).watchInput(t.Context(), State{Stdin: in, Exit: func(c int) { code <- c }})
	_, err := out.Write([]byte("interrupt\n"))
	require.NoError(t, err)
	<-ctx.Done()
	require.EqualError(t, context.Cause(ctx), "interrupt")
	require.ErrorIs(t, context.Cause(ctx), context.Canceled)
	_, err = out.Write([]byte("interrupt\n"))
	require.NoError(t, err)
	require.Equal(t, exit.Interrupted, <-code)
	ctx = new(launchFlagSet).watchInput(t.Context(), State{Stdin: strings.NewReader("")})
	<-ctx.Done()
	require.ErrorContains(t, context.Cause(ctx), "has ended")
}

// Only a process that is told so takes its standard input for orders.
func TestStandardInputIsLeftAlone(t *testing.T) {
	vars := map[string]string{"ZBENCH_RANK": "1", "ZBENCH_WORLD_SIZE": "2", "ZBENCH_LOCAL_RANK": "1", launch.ControlVariable: "stdin"}
	s := State{Stdin: iotestPanics{}, Getenv: func(name string) string { return vars[name] }}
	o := launchFlagSet{method: "auto"}
	_, role, several := o.among(t.Context(), s)
	require.True(t, several)
	require.Equal(t, 1, role.Rank)
	delete(vars, launch.ControlVariable)
	vars["ZBENCH_RANK"], vars["ZBENCH_LOCAL_RANK"] = "0", "0"
	_, _, several = o.among(t.Context(), s)
	require.True(t, several)
	o.dry = true
	_, _, several = o.among(t.Context(), s)
	require.False(t, several, "a dry run prints, whatever started it")
}

type iotestPanics struct{}

func (iotestPanics) Read([]byte) (int, error) { panic("standard input was read") }

// What children get of the environment: the changes of the command, and the secret.
func TestEnvironmentOfChildren(t *testing.T) {
	line := launch.Line{Set: []launch.Var{{Name: "ZBENCH_TOKEN", Secret: true}, {Name: "A", Value: "2"}}, Unset: []string{"B"}}
	require.Equal(t, []string{"C=3", "ZBENCH_TOKEN=secret", "A=2"}, line.Environ([]string{"A=1", "B=1", "C=3", "ZBENCH_TOKEN=old"}, "secret"))
	require.False(t, bytes.Contains([]byte(line.String()), []byte("secret")))
}

// The processes of a simulation share one heap of C's, unless the user has chosen; those of
// a measurement are left alone.
func TestSimulatedProcessesHaveOneHeap(t *testing.T) {
	for name, c := range map[string]struct {
		backend, given string
		one            bool
	}{
		"a simulation":  {"loopback", "", true},
		"the user's":    {"loopback", "4", false},
		"a measurement": {"rocm", "", false},
	} {
		s, _ := testState(t, "collectives", "--backend", c.backend, "--launch", "local", "--nodes", "1", "--gpus-per-node", "2", "-g", "1")
		s.Getenv = func(name string) string { return map[string]string{"MALLOC_ARENA_MAX": c.given}[name] }
		s.Random = constant{}
		started := false
		s.Start = func(child Command) (Child, error) {
			started = true
			require.Equal(t, c.one, slices.Contains(child.Environ, "MALLOC_ARENA_MAX=1"), name)
			return nil, errors.New("as far as this test goes")
		}
		require.Equal(t, exit.Run, Main(context.Background(), s), name)
		require.True(t, started, name)
	}
}
