package peers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// Three pairs of GPUs ran one after the other, and the third is slow: it must not
// vanish among the repeats of the others.
func TestOtherDevicesAreOtherResults(t *testing.T) {
	rec := parseText(t, text(t, "pairs.log"), Hints{})
	times := map[string]float64{}
	for _, r := range rec.Results {
		require.Equal(t, 1, r.Burst.MeanOfRanks.N, r.Key)
		if r.Bytes == 1073741824 && !r.InPlace {
			times[r.Setup] = r.Burst.MeanOfRanks.Median * 1e6
		}
	}
	require.Equal(t, map[string]float64{"node-a:0 node-b:0": 6337.5, "node-a:0 node-c:0": 6400.88, "node-c:0 node-d:0": 126750}, times)
	require.Contains(t, rec.Warnings[0].Message, "3 different sets of devices")
	require.Empty(t, rec.World.Hosts, "those of one pair are not all")
}

// Whatever the number of pairs, every printed time is a result of its own.
func TestAllPairs(t *testing.T) {
	log, want := "", map[string]float64{}
	one := text(t, "pairs.log")
	one = one[:strings.Index(one[10:], "# Collective test starting")+10]
	row := one[strings.Index(one, "  1073741824"):strings.Index(one, "# Out of bounds")]
	for a := range 8 {
		for b := a + 1; b < 8; b++ {
			alg := 100 + float64(8*a+b)
			us := 1073741824 / alg / 1e3
			other := fmt.Sprintf("  %7.2f  %6.2f  %6.2f  %6d", us, alg, alg, 0)
			changed := strings.Replace(one, row, row[:52]+other+other+"\n", 1)
			changed, _, _ = strings.Cut(changed, "# Avg")
			changed += "# Avg bus bandwidth    : nan\n"
			changed = strings.NewReplacer("node-a", fmt.Sprint("gpu-", a), "node-b", fmt.Sprint("gpu-", b)).Replace(changed)
			log += changed
			want[fmt.Sprintf("gpu-%d:0 gpu-%d:0", a, b)] = us
		}
	}
	rec := parseText(t, log, Hints{})
	keys := map[string]bool{}
	for _, r := range rec.Results {
		require.False(t, keys[r.Key], r.Key)
		keys[r.Key] = true
		if r.Bytes == 1073741824 && !r.InPlace {
			require.InDelta(t, want[r.Setup], r.Burst.MeanOfRanks.Median*1e6, 0.0051, r.Setup)
			delete(want, r.Setup)
		}
	}
	require.Empty(t, want)
	require.Len(t, rec.Results, 28*10)
}

// The header's settings and the devices of the ranks tell runs apart; process
// numbers and what only decides the sizes do not.
func TestWhatMakesARepeat(t *testing.T) {
	log := text(t, "copybw.log")
	swap := func(from, to string) func(string) string {
		return func(l string) string { require.Contains(t, l, from); return strings.ReplaceAll(l, from, to) }
	}
	for name, c := range map[string]struct {
		change func(string) string
		setup  string // of the second run; empty for a repeat
	}{
		"process numbers": {swap("Pid   40", "Pid   77"), ""},
		"largest size":    {swap("maxBytes 1073741824", "maxBytes 2147483648"), ""},
		"a library line":  {func(l string) string { return "NCCL version 2.27.3\n" + l }, ""},
		"iters":           {swap(" iters: 20", " iters: 100"), "iters 100"},
		"warmup iters":    {swap("warmup iters: 5", "warmup iters: 1"), "warmup iters 1"},
		"agg iters":       {swap("agg iters: 1", "agg iters: 8"), "agg iters 8"},
		"graph":           {swap("graph: 0", "graph: 2"), "graph 2"},
		"unalign":         {swap("graph: 0", "graph: 0 unalign: 1"), "unalign 1"},
		"blocking":        {swap("graph: 0\n", "graph: 0\n# Blocking Enabled: wait after each step\n"), "blocking"},
		"the statistic":   {func(l string) string { return "mpirun ./all_reduce_perf -a 3\n" + l }, "-a 3"},
		"a host":          {swap("node-b", "node-c"), "16 devices"},
		"a device":        {swap("device  7 [0000:75:00]", "device  7 [0000:85:00]"), "16 devices"},
		"the ranks' order": {func(l string) string {
			return strings.NewReplacer("node-a", "node-b", "node-b", "node-a").Replace(l)
		}, "16 devices"},
		"no device list": {func(l string) string {
			out := ""
			for line := range strings.Lines(l) {
				if !strings.HasPrefix(line, "#  Rank") {
					out += line
				}
			}
			return out
		}, "devices not in the log"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := parseText(t, log+c.change(log), Hints{Ranks: 16, Nodes: 2})
			if c.setup == "" {
				require.Len(t, rec.Results, 10)
				require.Equal(t, 2, rec.Results[0].Burst.MeanOfRanks.N)
				require.Empty(t, rec.Results[0].Setup)
				require.Contains(t, codes(rec), "repeated_table")
				return
			}
			results := map[string]int{}
			for _, r := range rec.Results {
				require.Equal(t, 1, r.Burst.MeanOfRanks.N)
				results[r.Setup]++
			}
			last := rec.Results[len(rec.Results)-1].Setup
			if c.setup == "16 devices" {
				require.Len(t, results, 2)
				require.Contains(t, last, "node-")
			} else {
				require.Equal(t, c.setup, last)
			}
			require.Equal(t, 10, results[last])
			require.Len(t, rec.Results, 20)
		})
	}
}

// A sweep that is continued with other sizes on other devices is no one curve.
func TestOtherSizesOnOtherDevices(t *testing.T) {
	one := text(t, "copybw.log")
	two := strings.ReplaceAll(one, "node-b", "node-c")
	for size, other := range map[string]string{"        1024           256": "        2048           512"} {
		two = strings.Replace(strings.Replace(two, size, other, 1), "21.38    0.05    0.09    0.05     0    21.49    0.05    0.09", "21.38    0.10    0.18    0.05     0    21.49    0.10    0.18", 1)
	}
	rec := parseText(t, one+two, Hints{})
	for _, r := range rec.Results {
		require.NotEmpty(t, r.Setup, r.Key)
	}
}

// The setup is of the record's own results alone: a log of one setup has none.
func TestOneSetupHasNoName(t *testing.T) {
	for _, file := range []string{"several.log", "cycles.log", "hipevt.log"} {
		for _, r := range parseText(t, text(t, file), Hints{}).Results {
			require.Empty(t, r.Setup)
			require.Equal(t, record.Key(r.Collective, r.Dtype, r.Op, r.BytesRequested, r.Ranks, r.GPUsPerProcess, r.InPlace), r.Key)
		}
	}
}

// Where each process sees one GPU, all are device 0: their addresses tell them
// apart, and where those are hidden too, the names of hosts.
func TestOneVisibleGPU(t *testing.T) {
	for _, file := range []string{"srun_one_gpu.log", "one_gpu_no_bus.log"} {
		rec := parseText(t, text(t, file), Hints{})
		require.Equal(t, 2, rec.World.Nodes, file)
		require.Empty(t, codes(rec), file)
	}
	// One name for all, and nothing else: the number of nodes is not known.
	log := strings.ReplaceAll(text(t, "one_gpu_no_bus.log"), "node-b", "node-a")
	rec := parseText(t, log, Hints{})
	require.Equal(t, 0, rec.World.Nodes)
	require.Equal(t, []string{"hosts_not_distinct"}, codes(rec))
}

// The key of a result has no number of nodes: runs that differ in it differ in
// their devices, too.
func TestSameRanksOnOtherNumbersOfNodes(t *testing.T) {
	two := text(t, "srun_one_gpu.log")
	one := strings.ReplaceAll(strings.ReplaceAll(two, "node-b", "node-a"), ":00]", ":01]")
	for r := range 8 {
		one = strings.Replace(one, fmt.Sprintf(" %d:01]", r), fmt.Sprintf(" %d:02]", r), 1)
	}
	rec := parseText(t, two+one, Hints{Nodes: 1})
	keys := map[string]bool{}
	for _, r := range rec.Results {
		require.False(t, keys[r.Key], r.Key)
		keys[r.Key] = true
	}
	require.Len(t, keys, 20)
}
