package trainers

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/formats"
	"zbench/bench/files/trace"
	"zbench/test/project"
)

// stepped is what a trainer's run on the loopback came to: its own output, and the line at the end.
type stepped struct {
	out      string
	step     float64 // milliseconds
	exposed  float64
	checksum string
	trace    []byte
	calls    []call // of its last step
}

type call struct {
	Name  string `json:"Collective name"`
	Elems int64  `json:"In msg nelems"`
	Out   int64  `json:"Out msg nelems"`
}

var summary = regexp.MustCompile(`SIMULATED on \d+ ranks: ([\d.]+) ms a step \(median of \d+\), computation [\d.]+ ms, exposed (-?[\d.]+) ms`)

// inside is a folder of the chroot with zbench and the examples, behind what is to run before them.
type inside struct{ root, at, libraries, python3 string }

func enter(t *testing.T, first string) inside {
	t.Helper()
	root, zbench := chroot(t), os.Getenv("ZBENCH")
	require.NotEmpty(t, zbench, "make system-test-trainers sets it")
	at, err := os.MkdirTemp(filepath.Join(root, "tmp"), "torch") //nolint:usetesting // the chroot sees its own /tmp
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(at) })
	// The chroot has no compiler: the libraries are built here.
	env, err := exec.Command(zbench, "loopback", "--env", "--cache-dir", filepath.Join(root, "var/cache/zbench")).Output() //nolint:gosec // the built binary
	require.NoError(t, err)
	libraries := regexp.MustCompile(`LD_LIBRARY_PATH='([^':]+)`).FindSubmatch(env)
	require.NotNil(t, libraries)
	binary, err := os.ReadFile(zbench)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(at, "zbench"), binary, 0o755)) //nolint:gosec // it is to be run
	for _, name := range []string{"llama.py", "schedules.py", "gpus.py", "hangs.py"} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(first+"\n"+project.Read(t, "testdata/torch/"+name)), 0o644)) //nolint:gosec // Python reads it
	}
	inner := strings.TrimPrefix(string(libraries[1]), root)
	return inside{root, "/tmp/" + filepath.Base(at), inner, python(t, root, inner)}
}

// path makes python3 one that has imported PyTorch.
func (in inside) path() string { return "PATH=" + in.python3 + ":/usr/bin:/bin" }

// python is one of the examples as one process; set are variables.
func (in inside) python(set []string, args ...string) *exec.Cmd {
	file := args[0]
	if file != "-c" {
		file = in.at + "/" + file
	}
	words := slices.Concat([]string{in.root, "env", in.path(), "OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=lo"}, set, []string{"timeout", "300", "python3", "-W", "ignore", file}, args[1:])
	return buffered(exec.Command("chroot", words...)) //nolint:gosec // the test's own words
}

// zbench is one of the examples on the loopback. One that does not end tells where it stands.
func (in inside) zbench(flags string, args ...string) *exec.Cmd {
	words := slices.Concat(
		[]string{in.root, "env", in.path(), "OMP_NUM_THREADS=1", "timeout", "--foreground", "--signal=QUIT", "--kill-after=10", "600", in.at + "/zbench", "loopback", "--torch", "--cache-dir", in.at + "/cache", "--libraries", in.libraries},
		strings.Fields(flags), []string{"--", "python3", "-W", "ignore", in.at + "/" + args[0]}, args[1:],
	)
	return buffered(exec.Command("chroot", words...)) //nolint:gosec // the test's own words
}

// told runs an example that may not end until it has printed says, or for a minute. It returns what was printed.
func (in inside) told(t *testing.T, flags, says string, args ...string) string {
	t.Helper()
	cmd := in.zbench(flags, args...)
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	go func() {
		_ = cmd.Wait()
		_ = write.Close()
	}()
	var out strings.Builder
	pattern := regexp.MustCompile(says)
	for lines := bufio.NewScanner(read); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if pattern.MatchString(out.String()) {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	late.Stop()
	return out.String()
}

func buffered(cmd *exec.Cmd) *exec.Cmd {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd
}

// simulated runs a trainer of a Llama on the loopback. first is Python that runs before it.
func simulated(t *testing.T, flags, first string, args ...string) (s stepped) {
	t.Helper()
	in := enter(t, first)
	cmd := in.zbench(flags+" --trace "+in.at+"/trace.json", append([]string{"llama.py"}, args...)...)
	err := cmd.Run()
	s.out = fmt.Sprint(cmd.Stdout)
	require.NoError(t, err, s.out)
	s.checksum = checksum(s.out)
	s.read(t, filepath.Join(in.root, in.at, "trace.json"))
	return s
}

func checksum(out string) string {
	m := regexp.MustCompile(`checksum (\S+)`).FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1]
}

// read reads the line at the end, and the calls of the last step.
func (s *stepped) read(t *testing.T, trace string) {
	t.Helper()
	m := summary.FindStringSubmatch(s.out)
	require.NotNil(t, m, s.out)
	s.step, _ = strconv.ParseFloat(m[1], 64)
	s.exposed, _ = strconv.ParseFloat(m[2], 64)
	var err error
	s.trace, err = os.ReadFile(trace)
	require.NoError(t, err)
	var file struct {
		Events []struct {
			Name string  `json:"name"`
			TS   float64 `json:"ts"`
			Dur  float64 `json:"dur"`
			Args call    `json:"args"`
		} `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(s.trace, &file))
	begin, end := 0.0, 0.0
	for _, e := range file.Events {
		if strings.HasPrefix(e.Name, "ProfilerStep#") {
			begin, end = e.TS, e.TS+e.Dur
		}
	}
	for _, e := range file.Events {
		if e.Args.Name != "" && begin <= e.TS && e.TS < end {
			s.calls = append(s.calls, e.Args)
		}
	}
}

const quiet = "--nodes 1 --gpus-per-node 4 --fault noise:sigma=0"

// DistributedDataParallel on the loopback comes to the parameters that four real processes on gloo
// come to, to the last digit, and sends the buckets that its own reducer logs.
func TestDDPOnTheLoopbackIsGloo(t *testing.T) {
	for _, view := range []string{"1", "0"} {
		s := simulated(t, quiet, "import os; os.environ['VIEW']='"+view+"'", "ddp", "2", "128", "1", "3", "2")
		buckets := regexp.MustCompile(`buckets ([\d, ]+)`).FindStringSubmatch(s.out)
		require.NotNil(t, buckets, s.out)
		var sent []string
		for _, c := range s.calls {
			require.Equal(t, "allreduce", c.Name)
			sent = append(sent, strconv.FormatInt(4*c.Elems, 10))
		}
		require.Equal(t, strings.Split(buckets[1], ", "), sent, "one float32 message a bucket, in the reducer's order")

		require.NotEmpty(t, s.checksum)
		require.Equal(t, checksum(onGloo(t, 4, "VIEW="+view, "llama.py", "ddp", "2", "128", "1", "3", "2")), s.checksum)
	}
}

// fully_shard on the loopback, each rank a process of its own, comes to the share of the parameters that
// rank 0 of four on gloo comes to.
func TestFSDPOnTheLoopbackIsGloo(t *testing.T) {
	in := enter(t, "")
	if run := in.python(nil, "-c", "import torch.distributed as d; d.all_gather_single"); run.Run() != nil {
		t.Skip("before PyTorch 2.14 FSDP2 does not run over gloo: make system-test-trainers TORCH=torch-sid")
	}
	args := []string{"llama.py", "fsdp", "2", "256", "25", "2"}
	run := in.zbench(quiet+" --real 0,1,2,3", args...)
	require.NoError(t, run.Run(), "%s", run.Stdout)
	want := checksum(onGloo(t, 4, "X=", args...))
	require.NotEmpty(t, want)
	require.Equal(t, want, checksum(fmt.Sprint(run.Stdout)))
}

// onGloo runs an example as so many real processes, and returns what rank 0 prints.
func onGloo(t *testing.T, ranks int, variable string, args ...string) string {
	t.Helper()
	in := enter(t, "")
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	require.NoError(t, free.Close())
	var all []*exec.Cmd
	for r := range ranks {
		set := []string{
			"BACKEND=gloo", "USE_LIBUV=0", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, variable,
			fmt.Sprintf("RANK=%d", r), fmt.Sprintf("WORLD_SIZE=%d", ranks),
		}
		all = append(all, in.python(set, args...))
		require.NoError(t, all[r].Start())
	}
	for _, cmd := range all {
		require.NoError(t, cmd.Wait(), "%s", cmd.Stdout)
	}
	return fmt.Sprint(all[0].Stdout)
}

// No time is the host's: a trainer that sleeps between its operators takes the same virtual time.
func TestSlowHostChangesNoTime(t *testing.T) {
	slow := `
import time, torch
linear = torch.nn.functional.linear
def slept(*a, **k):
    time.sleep(0.01)
    return linear(*a, **k)
torch.nn.functional.linear = slept
`
	for _, trainer := range []string{"ddp", "fsdp"} {
		plain := simulated(t, quiet+" --sizes", "", trainer, "4", "1024", "4", "4")
		require.Equal(t, plain.step, simulated(t, quiet+" --sizes", slow, trainer, "4", "1024", "4", "4").step)
	}
}

// fully_shard gathers each block twice and the root once, and reduces each once, as it does on
// torch's own fake process group.
func TestFSDPOnTheLoopback(t *testing.T) {
	s := simulated(t, quiet+" --sizes", "", "fsdp", "3", "1024", "1", "3")
	count := map[string]int{}
	for _, c := range s.calls {
		count[c.Name]++
		require.Equal(t, int64(4), max(c.Elems, c.Out)/min(c.Elems, c.Out), "%+v", c)
	}
	require.Equal(t, map[string]int{"_allgather_base": 1 + 2*3, "_reduce_scatter_base": 1 + 3}, count, "the last block stays gathered: "+s.out)
}

// A slow rail and a late node make the step longer; the fault is the only difference.
func TestFaultsSlowTheStep(t *testing.T) {
	args := []string{"ddp", "4", "1024", "25", "4"}
	world := "--nodes 2 --sizes --fault noise:sigma=0"
	healthy := simulated(t, world, "", args...)
	rail := simulated(t, world+" --fault slow_rail:node=1,rail=2,left=0.25", "", args...)
	require.Greater(t, rail.exposed, 1.5*healthy.exposed)
	require.True(t, slices.Equal(healthy.calls, rail.calls))
}

// Ranks that are processes of their own send the same, take the same time and end with the same
// parameters as ranks that one process stands for; also with noise.
func TestRealRanksEqualSimulatedOnes(t *testing.T) {
	args := []string{"ddp", "2", "128", "1", "3", "1"}
	one := simulated(t, "--nodes 2 --gpus-per-node 4", "", args...)
	for _, real := range []string{"0,4", "0,2,4,6"} {
		several := simulated(t, "--nodes 2 --gpus-per-node 4 --real "+real, "", args...)
		require.Equal(t, one.step, several.step)
		require.Equal(t, one.exposed, several.exposed)
		require.Equal(t, one.calls, several.calls)
		require.Equal(t, one.checksum, several.checksum)
	}
}

// Groups of a mesh, and a pipeline whose halves make different calls: the data are those of gloo.
func TestSchedulesOfSeveralGroups(t *testing.T) {
	in := enter(t, "")
	mesh := in.zbench(quiet+" --real 0,2", "schedules.py", "mesh")
	require.NoError(t, mesh.Run(), "%s", mesh.Stdout)
	require.Contains(t, fmt.Sprint(mesh.Stdout), "rank 0: 56 272 56 216\n")
	require.Contains(t, fmt.Sprint(mesh.Stdout), "rank 2: 216 272 56 216\n")

	sum := regexp.MustCompile(`rank 0: (\S+)`)
	pipeline := in.zbench(quiet+" --real 0,2", "schedules.py", "pipeline")
	require.NoError(t, pipeline.Run(), "%s", pipeline.Stdout)
	gloo := sum.FindStringSubmatch(onGloo(t, 4, "X=", "schedules.py", "pipeline"))
	require.NotNil(t, gloo)
	require.Contains(t, fmt.Sprint(pipeline.Stdout), gloo[0]+"\n")

	alone := in.zbench(quiet, "schedules.py", "pipeline")
	require.Error(t, alone.Run())
	require.Contains(t, fmt.Sprint(alone.Stdout), "name a rank of each role in --real")
}

// What ranks send to each other in parts is what gloo brings; parts that differ need all ranks to be processes.
func TestPartsOnTheLoopbackAreGloos(t *testing.T) {
	in := enter(t, "")
	cmd := in.zbench(quiet+" --real 0,1,2,3 --trace "+in.at+"/parts.json", "schedules.py", "parts")
	require.NoError(t, cmd.Run(), "%s", cmd.Stdout)
	gloo := regexp.MustCompile(`rank 0: .*`).FindString(onGloo(t, 4, "X=", "schedules.py", "parts"))
	require.NotEmpty(t, gloo)
	require.Contains(t, fmt.Sprint(cmd.Stdout), gloo+"\n")

	// Of the unequal parts a rank's trace has what it sends and what it receives.
	for name, want := range map[string][2]int64{"parts.json": {8, 8}, "parts.rank1.json": {22, 20}, "parts.rank2.json": {32, 34}} {
		text, err := os.Open(filepath.Join(in.root, in.at, name))
		require.NoError(t, err)
		read, err := formats.Read(name, text)
		require.NoError(t, err)
		require.NoError(t, text.Close())
		i := slices.IndexFunc(read.Ranks[0].Calls, func(c trace.Call) bool { return c.Collective == "all_to_all" && c.In == want[0] && c.Out == want[1] })
		require.GreaterOrEqual(t, i, 0, "%s: %+v", name, read.Ranks[0].Calls)
		require.Equal(t, 4*max(want[0], want[1]), read.Ranks[0].Calls[i].Bytes)
	}

	alone := in.zbench(quiet+" --real 0,2", "schedules.py", "parts")
	require.Error(t, alone.Run())
	require.Contains(t, fmt.Sprint(alone.Stdout), "all_to_all of unequal parts: what ranks that are no process would send may differ. Name all ranks of the group in --real: 0,1,2,3")
}

// A rank that leaves out a call, makes two in another order or fails ends the run with an error that
// says so, and nothing is left.
func TestBrokenSchedulesAreNamed(t *testing.T) {
	in := enter(t, "import os; os.environ['SECONDS_TO_WAIT'] = '20'")
	for what, says := range map[string][]string{
		"absent": {"ranks make different calls", "call 2 of group 0: all_reduce SUM of 1,000 float32", "call 2 of group 0: all_reduce SUM of 2,000 float32"},
		"order":  {"ranks make different calls", "call 2 of group 0: all_reduce SUM of 1,000 float32", "call 2 of group 0: all_reduce SUM of 2,000 float32"},
		"raises": {"a node was lost", "not all ranks make", "rank 2 ended with exit status 1"},
	} {
		cmd := in.zbench(quiet+" --real 0,2", "schedules.py", what)
		require.Error(t, cmd.Run())
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		for _, s := range says {
			require.Contains(t, fmt.Sprint(cmd.Stdout), s, what)
		}
	}
	left, err := filepath.Glob(filepath.Join(in.root, in.at, "zbench-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// --what-if names the planted fault, and nothing where none was planted.
func TestWhatIfNamesTheCause(t *testing.T) {
	in := enter(t, "")
	run := func(flags string) string {
		cmd := in.zbench("--nodes 2 --gpus-per-node 4 --sizes "+flags, "llama.py", "ddp", "1", "1024", "400", "5")
		require.NoError(t, cmd.Run(), "%s", cmd.Stdout)
		return fmt.Sprint(cmd.Stdout)
	}
	rail := "slow_rail:node=1,rail=2,left=0.3"
	require.Contains(t, run("--what-if all --fault late_node:node=0,seconds=2e-6 --fault "+rail), "The largest cause: with 'no "+rail+"'")
	require.Contains(t, run("--what-if all"), "None of these makes the step 3 % shorter.")
}

// The step that recommend predicts from a trace of the loopback and a sweep of the same fabric is that
// of the loopback, at every bucket size: PyTorch decides what is sent and when, on one side.
func TestRecommendPredictsTheSimulatedStep(t *testing.T) {
	zbench, dir := os.Getenv("ZBENCH"), t.TempDir()
	world := "--nodes 2 --sizes --fault noise:sigma=0"
	first := simulated(t, world, "", "ddp", "8", "2048", "25", "4")
	require.NoError(t, os.WriteFile(dir+"/trace.json", first.trace, 0o600))
	sweep := exec.Command(zbench, strings.Fields("collectives all_reduce --backend loopback -q -d float -b 64K -e 2G --nodes 2 --fault noise:sigma=0 --out "+dir+"/sweep")...) //nolint:gosec // the built binary
	text, err := sweep.CombinedOutput()
	require.NoError(t, err, "%s", text)
	text, err = exec.Command(zbench, strings.Fields("recommend "+dir+"/sweep --framework ddp --format json --trace "+dir+"/trace.json")...).Output() //nolint:gosec // the built binary
	require.NoError(t, err)
	var doc struct {
		Answer struct {
			Table []struct {
				Elements int64   `json:"elements"`
				Exposed  float64 `json:"exposed_backward"`
			} `json:"table"`
		} `json:"answer"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	exposed := map[int64]float64{}
	for _, row := range doc.Answer.Table {
		exposed[row.Elements] = 1e3 * row.Exposed
	}
	for _, mib := range []int64{25, 100, 400} {
		elements := nearest(exposed, mib<<20/4)
		s := simulated(t, world, "", "ddp", "8", "2048", strconv.FormatFloat(float64(4*elements)/(1<<20), 'f', 6, 64), "4")
		require.InDelta(t, s.exposed, exposed[elements], 0.02*s.step, "%d MiB", mib)
	}
}

// nearest is the key that is nearest to n.
func nearest(all map[int64]float64, n int64) int64 {
	return slices.MinFunc(slices.Collect(maps.Keys(all)), func(a, b int64) int { return cmp.Compare(max(a-n, n-a), max(b-n, n-b)) })
}
