package trainers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// stepped is what a trainer's run on the loopback came to: its own output, and the line at the end.
type stepped struct {
	out      string
	step     float64 // milliseconds
	exposed  float64
	checksum string
	calls    []call // of the last step, from the trace
}

type call struct {
	Name  string `json:"Collective name"`
	Elems int64  `json:"In msg nelems"`
	Out   int64  `json:"Out msg nelems"`
}

var summary = regexp.MustCompile(`SIMULATED on \d+ ranks: ([\d.]+) ms a step \(median of \d+\), computation [\d.]+ ms, exposed (-?[\d.]+) ms`)

// simulated runs the example under zbench loopback --torch in the chroot. first is Python that runs before it.
func simulated(t *testing.T, flags, first string, args ...string) (s stepped) {
	t.Helper()
	root := chroot(t)
	zbench := os.Getenv("ZBENCH")
	require.NotEmpty(t, zbench, "make system-test-trainers sets it")
	cache := filepath.Join(root, "var/cache/zbench")
	at, err := os.MkdirTemp(filepath.Join(root, "tmp"), "torch") //nolint:usetesting // the chroot sees its own /tmp
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(at) })
	trace := filepath.Join(at, "trace.json")
	env, err := exec.Command(zbench, append(strings.Fields("loopback --torch --env --cache-dir "+cache+" --trace "+trace), strings.Fields(flags)...)...).Output() //nolint:gosec // the built binary
	require.NoError(t, err)
	words := []string{root, "env", "ZBENCH_LOOPBACK_SHARED=/tmp/" + filepath.Base(at) + "/world"}
	for line := range strings.Lines(string(env)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if name != "ZBENCH_LOOPBACK_SHARED" {
			words = append(words, name+"="+strings.ReplaceAll(strings.Trim(value, "'"), root+"/", "/"))
		}
	}
	return s.of(t, trace, first, append(words, append([]string{"python3", "-W", "ignore", "-"}, args...)...))
}

// trainer is the example in the chroot; words say where and how, first is Python that runs before it.
func trainer(t *testing.T, first string, words []string) *exec.Cmd {
	cmd := exec.Command("chroot", words...) //nolint:gosec // the test's own words
	cmd.Stdin = strings.NewReader(first + "\n" + project.Read(t, "testdata/torch/llama.py"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd
}

func checksum(out string) string {
	m := regexp.MustCompile(`checksum (\S+)`).FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1]
}

func (s stepped) of(t *testing.T, trace, first string, words []string) stepped {
	t.Helper()
	cmd := trainer(t, first, words)
	err := cmd.Run()
	s.out = fmt.Sprint(cmd.Stdout)
	require.NoError(t, err, s.out)
	s.checksum = checksum(s.out)
	m := summary.FindStringSubmatch(s.out)
	require.NotNil(t, m, s.out)
	s.step, _ = strconv.ParseFloat(m[1], 64)
	s.exposed, _ = strconv.ParseFloat(m[2], 64)
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	var file struct {
		Events []struct {
			Name string  `json:"name"`
			TS   float64 `json:"ts"`
			Dur  float64 `json:"dur"`
			Args call    `json:"args"`
		} `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
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
	return s
}

const quiet = "--nodes 1 --gpus-per-node 4 --fault noise:sigma=0"

// DistributedDataParallel on the loopback comes to the parameters that four real processes on gloo
// come to, to the last digit, and sends the buckets that its own reducer logs.
func TestDDPOnTheLoopbackIsGloo(t *testing.T) {
	for _, view := range []string{"1", "0"} {
		s := simulated(t, quiet, "import os; os.environ['VIEW']='"+view+"'", "ddp", "2", "128", "1", "4", "2")
		buckets := regexp.MustCompile(`buckets ([\d, ]+)`).FindStringSubmatch(s.out)
		require.NotNil(t, buckets, s.out)
		var sent []string
		for _, c := range s.calls {
			require.Equal(t, "allreduce", c.Name)
			sent = append(sent, strconv.FormatInt(4*c.Elems, 10))
		}
		require.Equal(t, strings.Split(buckets[1], ", "), sent, "one float32 message a bucket, in the reducer's order")

		free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(free.Addr().String())
		require.NoError(t, err)
		require.NoError(t, free.Close())
		var gloo []*exec.Cmd
		for r := range 4 {
			words := []string{
				chroot(t), "env", "BACKEND=gloo", "USE_LIBUV=0", "OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=lo", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, "VIEW=" + view,
				fmt.Sprintf("RANK=%d", r), "WORLD_SIZE=4", "python3", "-W", "ignore", "-", "ddp", "2", "128", "1", "4", "2",
			}
			gloo = append(gloo, trainer(t, "", words))
			require.NoError(t, gloo[r].Start())
		}
		for _, cmd := range gloo {
			require.NoError(t, cmd.Wait(), "%s", cmd.Stdout)
		}
		require.NotEmpty(t, s.checksum)
		require.Equal(t, checksum(fmt.Sprint(gloo[0].Stdout)), s.checksum)
	}
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
