package rccl_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/test/longtest"
)

// program is a run of testdata/client.c: a program that is not zbench, on the loopback's
// shared libraries.
type program struct {
	gpus, threads, processes int
	iterations, microseconds int
	sizes                    []int64
	// env are variables beside those that every run has.
	env []string
}

// line is what one of its threads prints for one size.
type line struct {
	rank                        int
	bytes                       int64
	monotonic, realtime, ofDays float64
	wrong                       int
}

// compiled is testdata/name, built once against the loopback's libraries.
func compiled(t *testing.T, name string) string {
	t.Helper()
	libraries := filepath.Join(loopbackLibraries(t), "rocm/lib")
	file := filepath.Join(loopback, name+".program")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	// The libraries of rccl-tests (src/Makefile): whether a program needs them is not asked.
	compiler := map[string]string{".c": "cc", ".cc": "c++"}[filepath.Ext(name)]
	out, err := exec.Command(compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-o", file, "testdata/"+name, //nolint:gosec // this test's own program
		"-L"+libraries, "-Wl,--no-as-needed", "-lrccl", "-lamdhip64", "-lhsa-runtime64", "-lpthread").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// simulated is the environment of a program on the machine.
func simulated(t *testing.T, m *fabric.Machine) []string {
	t.Helper()
	dir := t.TempDir()
	machine := filepath.Join(dir, "machine")
	require.NoError(t, os.WriteFile(machine, m.Text(), 0o600))
	libraries := filepath.Join(loopbackLibraries(t), "rocm/lib")
	return []string{
		"LD_LIBRARY_PATH=" + libraries, "LD_PRELOAD=" + libraries + "/libzbench-clock.so",
		"ZBENCH_LOOPBACK=" + machine, "ZBENCH_LOOPBACK_SHARED=" + dir + "/arena", "ZBENCH_LOOPBACK_CLOCK=virtual", "CLIENT_ID=" + dir + "/id",
	}
}

// start starts all processes of a program, and returns what they print and their exit
// codes. All have ended, and the file where they met is gone.
func (p program) start(t *testing.T, m *fabric.Machine) (out []line, codes []int) {
	t.Helper()
	file, env := compiled(t, "client.c"), simulated(t, m)
	args := []string{strconv.Itoa(p.gpus), strconv.Itoa(p.threads), strconv.Itoa(p.iterations), strconv.Itoa(p.microseconds)}
	for _, n := range p.sizes {
		args = append(args, strconv.FormatInt(n, 10))
	}
	var all []*exec.Cmd
	var printed []*bytes.Buffer
	for i := range p.processes {
		c := exec.CommandContext(t.Context(), file, args...) //nolint:gosec // this test's own program
		c.Env = append(slices.Concat(env, p.env), fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", i), fmt.Sprintf("OMPI_COMM_WORLD_LOCAL_RANK=%d", i),
			fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d", p.processes), fmt.Sprintf("OMPI_COMM_WORLD_LOCAL_SIZE=%d", p.processes))
		printed = append(printed, new(bytes.Buffer))
		c.Stdout, c.Stderr = printed[i], os.Stderr
		require.NoError(t, c.Start())
		all = append(all, c)
	}
	for i, c := range all {
		_ = c.Wait()
		codes = append(codes, c.ProcessState.ExitCode())
		for text := range strings.Lines(printed[i].String()) {
			var l line
			_, err := fmt.Sscan(text, &l.rank, &l.bytes, &l.monotonic, &l.realtime, &l.ofDays, &l.wrong)
			require.NoError(t, err, text)
			out = append(out, l)
		}
	}
	require.NoFileExists(t, strings.TrimPrefix(env[3], "ZBENCH_LOOPBACK_SHARED="), "the last process removes it")
	return out, codes
}

// node resolves one node whose processes drive so many GPUs each, and without noise.
func node(t *testing.T, gpus int, faults ...string) *fabric.Machine {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: gpus}, fabric.Conditions{Faults: append(faults, "noise:sigma=0")})
	require.NoError(t, err)
	return m
}

// zbench's own burst time of an all_reduce on that machine, in seconds.
func burst(t *testing.T, gpus int, bytes int64) float64 {
	t.Helper()
	w := spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: gpus}
	d, _ := open(t, w, fabric.Conditions{Faults: []string{"noise:sigma=0"}}, nil)
	defer d.Close() //nolint:errcheck // its world must be closed before the next
	a := axes(t, w, "all_reduce")
	a.MinBytes, a.MaxBytes, a.InPlace = bytes, bytes, []bool{false}
	o := plan.DefaultOptions()
	o.Checks = 0
	results := run(t, d, a.Cases(), o)
	require.Equal(t, record.OK, results[0].Status)
	return results[0].Burst.MeanOfRanks.Median
}

// checkClock holds the times of a program's own clocks to zbench's of as many GPUs for each
// thread.
func checkClock(t *testing.T, p program) {
	t.Helper()
	p.iterations, p.sizes, p.env = 20, []int64{1 << 20, 64 << 20}, []string{"ZBENCH_LOOPBACK_DATA=0"}
	out, codes := p.start(t, node(t, 1))
	require.Equal(t, make([]int, p.processes), codes)
	require.Len(t, out, p.threads*p.processes*len(p.sizes))
	for _, n := range p.sizes {
		want := burst(t, p.gpus, n) + float64(p.microseconds)*1e-6/float64(p.iterations)
		for _, l := range out {
			if l.bytes == n {
				require.InEpsilon(t, want, l.monotonic, 5e-3, "%+v", l)
				require.InDelta(t, l.monotonic, l.realtime, 1e-7, "a double has so many digits of a date")
				require.InDelta(t, l.monotonic, l.ofDays, 2e-7)
			}
		}
	}
}

// A program that reads the clock through the C library sees the model's time: its figures
// are zbench's, however its GPUs are spread over threads and processes. A sleep takes its
// time.
func TestProgramsSeeTheModelsClock(t *testing.T) {
	for _, p := range []program{
		{gpus: 8, threads: 1, processes: 1},
		{gpus: 1, threads: 8, processes: 1},
		{gpus: 2, threads: 2, processes: 2},
		{gpus: 4, threads: 2, processes: 1, microseconds: 2000},
	} {
		t.Run(fmt.Sprintf("%d GPUs, %d threads, %d processes", p.gpus, p.threads, p.processes), func(t *testing.T) { checkClock(t, p) })
	}
}

// The same of 8 processes.
func TestLongProcessesSeeTheModelsClock(t *testing.T) {
	longtest.Only(t)
	checkClock(t, program{gpus: 1, threads: 1, processes: 8})
}

// A program sees a planted data fault as wrong data, and a planted hang ends in its own
// time-out; without the fault neither is there.
func TestLongProgramsSeeFaults(t *testing.T) {
	longtest.OnlyOrDetected(t)
	p := program{gpus: 4, threads: 2, processes: 1, iterations: 2, sizes: []int64{4 << 10}, env: []string{"CLIENT_TIMEOUT=600", "ZBENCH_LOOPBACK_HANG_RATE=1000"}}
	out, codes := p.start(t, node(t, 1))
	require.Equal(t, []int{0}, codes)
	require.Len(t, out, 2)
	for _, l := range out {
		require.Zero(t, l.wrong)
	}

	out, codes = p.start(t, node(t, 1, "missing_rank:node=0,gpu=5"))
	require.Equal(t, []int{0}, codes)
	require.Len(t, out, 2)
	for _, l := range out {
		require.Equal(t, 4*1024, l.wrong, "every element of every GPU")
	}

	out, codes = p.start(t, node(t, 1, "hang:node=0,gpu=5,bytes=1e3,launch=6"))
	require.Equal(t, []int{3}, codes, "the program's own time-out of 10 minutes")
	require.Empty(t, out)
}

// Sleeps and timed waits of a program that has launched work take exactly what was asked on
// the virtual clock, whatever the host's load, and at least that on the kernel's clock. Without a machine file the program
// sees the kernel's.
func TestLongProgramsWaitOnTheModelsClock(t *testing.T) {
	longtest.OnlyOrDetected(t)
	file, env := compiled(t, "waits.cc"), simulated(t, node(t, 1))
	for _, shown := range []bool{true, false} {
		c := exec.CommandContext(t.Context(), file) //nolint:gosec // this test's own program
		c.Env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return !shown && strings.HasPrefix(v, "ZBENCH_LOOPBACK=") })
		text, err := c.Output()
		require.NoError(t, err)
		require.Equal(t, 6, strings.Count(string(text), "\n"), "%s", text)
		for row := range strings.Lines(string(text)) {
			var name string
			var asked, steady, system, kernel float64
			_, err := fmt.Sscan(row, &name, &asked, &steady, &system, &kernel)
			require.NoError(t, err, row)
			require.GreaterOrEqual(t, kernel, asked-1e-6, row)
			if shown {
				require.InDelta(t, asked, steady, 1e-8, row)
				require.InDelta(t, asked, system, 1e-8, row)
				continue
			}
			require.GreaterOrEqual(t, steady, asked, row)
			require.GreaterOrEqual(t, math.Abs(steady-asked), 1e-8, row)
		}
	}
}
