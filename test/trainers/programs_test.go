package trainers

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// started runs a program on the loopback as Python starts it, with the preloaded clock and sitecustomize: the forked one
// of other tests has neither. options are env's. It returns what the program printed and its exit code.
func (in inside) started(t *testing.T, flags string, options []string, args ...string) (out string, code int) {
	t.Helper()
	words := slices.Concat(
		[]string{in.root, "env"}, options,
		[]string{"OMP_NUM_THREADS=1", "HOME=/tmp", "timeout", "300", in.at + "/zbench", "loopback", "--torch", "--cache-dir", in.at + "/cache", "--libraries", in.libraries}, strings.Fields(flags), []string{"--", "python3", "-W", "ignore"}, args,
	)
	text, err := exec.Command("chroot", words...).CombinedOutput() //nolint:gosec // the test's own words
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	} else if exit != nil {
		code = exit.ExitCode()
	}
	return string(text), code
}

var mine = regexp.MustCompile(`mine: ([\d.]+) ms a step of (\d+) MiB on SIMULATED MI300X`)

// A trainer for GPUs runs unchanged. The step that it prints by its own clock is zbench's.
func TestATrainerForGPUs(t *testing.T) {
	in := enter(t, "")
	for _, how := range []string{"train", "spawn", "mesh"} {
		out, code := in.started(t, "--sizes --nodes 1", nil, in.at+"/gpus.py", how)
		require.Zero(t, code, out)
		own, theirs := mine.FindStringSubmatch(out), summary.FindStringSubmatch(out)
		require.NotNil(t, own, out)
		require.NotNil(t, theirs, out)
		near(t, number(t, own[1]), number(t, theirs[1]), 0.01)
		require.InDelta(t, 8*2048*2048*4*7>>20, number(t, own[2]), 200, "parameters, gradients, buckets, two moments, and what a step holds besides: MiB")
	}
	out, code := in.started(t, "--sizes", nil, in.at+"/gpus.py", "missing")
	require.Equal(t, 1, code)
	require.Contains(t, out, "torch.cuda.memory_snapshot has no stand-in")
}

// Collectives that PyTorch's functional calls and DTensor make are simulated, with data and without.
func TestFunctionalCollectives(t *testing.T) {
	in := enter(t, "")
	// A file of the program's with the name of a package that torch looks for.
	require.NoError(t, os.WriteFile(filepath.Join(in.root, in.at, "cuda.py"), []byte("raise SystemExit('cuda.py was imported')"), 0o644)) //nolint:gosec // Python reads it
	for _, flags := range []string{"", "--sizes"} {
		out, code := in.started(t, flags, nil, in.at+"/gpus.py", "functional")
		require.Zero(t, code, out)
		require.Contains(t, out, "SIMULATED on 8 ranks: 8 collectives", "three calls, four parameters, and the second layer's sum")
		require.Contains(t, out, "b'node'")
	}
	out, code := in.started(t, "--nodes 2", nil, "-c", "import torch.distributed as d; d.init_process_group('nccl', world_size=8, rank=0)")
	require.Equal(t, 6, code, out)
	require.Regexp(t, "NO RESULT: .* world of 8 ranks .* 0 of 16", out)
}

// Nothing done is no success: the line names what is missing.
func TestNothingDoneIsNoResult(t *testing.T) {
	in := enter(t, "")
	for how, says := range map[string]string{
		"alone": "without torch.distributed", "silent": "called no collective", "unwrapped": "steps called a collective", "unstepped": "made no step",
		"replicas": "DataParallel",
	} {
		out, code := in.started(t, "--sizes", nil, in.at+"/gpus.py", how)
		require.Equal(t, 6, code, out)
		require.Regexp(t, "NO RESULT: .*"+says, out)
		require.NotContains(t, out, " ms a step (median", "nothing is printed as a result")
	}
	out, code := in.started(t, "", nil, "-c", "print(1)")
	require.Equal(t, 6, code, out)
	require.Contains(t, out, "did not import torch")
	out, code = in.started(t, "", nil, "-c", "import nowhere")
	require.Equal(t, 1, code, out)
	require.NotContains(t, out, "NO RESULT")
}

// A thread that keeps Python's lock, as a busy host makes it, takes no time of the program's clock.
func TestALockTakesNoTime(t *testing.T) {
	in := enter(t, "")
	out, code := in.started(t, "", nil, "-c", `
import threading, time, torch
torch.distributed.init_process_group("nccl")
busy = threading.Thread(target=lambda: 3**3000000)
begin = time.monotonic()
busy.start()
while busy.is_alive():
    time.sleep(0)
torch.distributed.all_reduce(torch.ones(1))
torch.cuda.synchronize()
print(f"took {time.monotonic() - begin:.6f}")`)
	require.Zero(t, code, out)
	took := regexp.MustCompile(`took ([\d.]+)`).FindStringSubmatch(out)
	require.NotNil(t, took, out)
	require.Less(t, number(t, took[1]), 0.004, "the interpreter asks again after 5 ms")
}

// --sizes computes indices however many: a program reads them as numbers.
func TestIndicesAreComputed(t *testing.T) {
	in := enter(t, "")
	out, code := in.started(t, "--sizes", nil, "-c", `
import torch
torch.distributed.init_process_group("nccl")
torch.distributed.all_reduce(torch.ones(1))
torch.full((100000,), 7.0), torch.full((100000,), 5)
print(sorted(torch.randperm(100000).tolist()) == list(range(100000)))`)
	require.Zero(t, code, out)
	require.Contains(t, out, "True")
}

// --steps ends a program that has no end, and Ctrl-C leaves the line, too.
func TestAProgramWithoutAnEnd(t *testing.T) {
	in := enter(t, "")
	out, code := in.started(t, "--sizes --steps 5", nil, in.at+"/gpus.py", "endless")
	require.Zero(t, code, out)
	require.Contains(t, out, "ms a step (median of 3)")

	for _, flags := range []string{"--sizes", "--sizes --real 0,4", "--sizes --what-if all"} {
		in.interrupted(t, flags)
	}
}

// interrupted starts a program without an end, and ends it by Ctrl-C.
func (in inside) interrupted(t *testing.T, flags string) {
	t.Helper()
	words := []string{in.root, "env", "OMP_NUM_THREADS=1", in.at + "/zbench", "loopback", "--torch", "--cache-dir", in.at + "/cache", "--libraries", in.libraries}
	words = slices.Concat(words, strings.Fields(flags), []string{"--", "python3", "-W", "ignore", in.at + "/gpus.py", "endless"})
	cmd := exec.Command("chroot", words...) //nolint:gosec // the test's own words
	var said bytes.Buffer
	cmd.Stderr = &said
	steps, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(steps)
	for range 10 {
		require.True(t, lines.Scan(), said.String())
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
	}
	require.Error(t, cmd.Wait())
	require.Regexp(t, `ms a step \(median of \d+\)`, said.String())
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return x
}

func near(t *testing.T, got, want, share float64) {
	t.Helper()
	t.Logf("%g; %g", got, want)
	require.InDelta(t, want, got, share*want)
}

// An all_reduce that a program times with its own events takes what zbench times alone on the same fabric.
func TestAProgramsOwnCurve(t *testing.T) {
	in := enter(t, "")
	for _, nodes := range []string{"1", "8"} {
		world := " --fault noise:sigma=0 --nodes " + nodes
		out, code := in.started(t, "--sizes"+world, nil, in.at+"/gpus.py", "bench")
		require.Zero(t, code, out)
		alone := isolated(t, "-b 32K -e 1G -f 8"+world)
		rows := regexp.MustCompile(`all_reduce (\d+) (\S+)`).FindAllStringSubmatch(out, -1)
		require.Len(t, rows, len(alone))
		for _, row := range rows {
			near(t, number(t, row[2]), alone[row[1]], 0.005)
		}
	}
}

// isolated is the times of an all_reduce by bytes, each launch alone, on a rank that is neither the slowest nor the fastest: a
// program prints rank 0's, or the mean of all ranks.
func isolated(t *testing.T, flags string) map[string]float64 {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sweep")
	out, err := exec.Command(os.Getenv("ZBENCH"), strings.Fields("collectives all_reduce --backend loopback -q -d float --out "+dir+" "+flags)...).CombinedOutput() //nolint:gosec // the built binary
	require.NoError(t, err, "%s", out)
	text, err := os.Open(filepath.Join(dir, "results.csv"))
	require.NoError(t, err)
	rows, err := csv.NewReader(text).ReadAll()
	require.NoError(t, err)
	require.NoError(t, text.Close())
	at := func(name string) int { return slices.Index(rows[0], name) }
	times := map[string]float64{}
	for _, row := range rows[1:] {
		if row[at("in_place")] == "false" {
			times[row[at("bytes")]] = number(t, row[at("isolated_slowest_rank_time_s")]) - number(t, row[at("isolated_spread_s")])/2
		}
	}
	return times
}
