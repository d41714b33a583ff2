package judge_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/hardware/flush"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// flushing is a record of a sweep with these NICs and nodes, this library and these variables.
func flushing(driver, gpu, library, version string, nodes int, vars map[string]string) *record.Record {
	rec := &record.Record{
		Source: record.Source{Kind: record.Measured, Libraries: []record.Library{{Name: library, Version: version}}, Environment: vars},
		World:  record.World{World: spec.World{Nodes: nodes, GPUsPerNode: 8}, Ranks: 8 * nodes, GPU: gpu},
	}
	if driver != "" {
		rec.World.NICs = []record.NICKind{{Driver: driver}}
	}
	return rec
}

// The warning stands where the NICs are Pollara, a network is used and the flush is off or not known; not beside that.
func TestCorruptionIsWarnedOf(t *testing.T) {
	transports := map[string]map[string]string{
		"automatic": {}, "IB-CAST": {"NCCL_NET": "IB-CAST"}, "ROCM-IB": {"RCCL_AINIC_ROCE": "1"}, "ANP": {"NCCL_NET_PLUGIN": "librccl-anp.so"},
		"IB": {"NCCL_NET": "IB"}, "sockets": {"NCCL_IB_DISABLE": "1"}, "other": {"NCCL_NET_PLUGIN": "librccl-net.so"},
	}
	// Whether a record is at risk, by transport and version: the variable is 1, not set, 0.
	atRisk := map[string][3]bool{
		"automatic 2.27.7": {true, false, false}, "automatic 2.28.3": {true, true, true}, "automatic 2.30.4": {true, true, false}, "automatic 2.31.2": {true, true, false},
		"IB-CAST 2.28.3": {true, true, true}, "IB-CAST 2.30.4": {true, true, false}, "IB-CAST 2.31.2": {true, true, false},
		"ROCM-IB 2.27.7": {true, true, true}, "ROCM-IB 2.28.3": {true, true, true}, "ROCM-IB 2.30.4": {true, true, false}, "ROCM-IB 2.31.2": {true, true, false},
		"ANP 2.27.7": {true, false, false}, "ANP 2.28.3": {true, false, false}, "ANP 2.30.4": {true, false, false}, "ANP 2.31.2": {true, false, false},
		"IB 2.27.7": {true, false, false}, "IB 2.28.3": {true, false, false}, "IB 2.30.4": {true, false, false}, "IB 2.31.2": {true, false, false},
		"other 2.27.7": {true, true, true}, "other 2.28.3": {true, true, true}, "other 2.30.4": {true, true, true}, "other 2.31.2": {true, true, true},
		"sockets 2.27.7": {}, "sockets 2.28.3": {}, "sockets 2.30.4": {}, "sockets 2.31.2": {},
	}
	atRisk["IB-CAST 2.27.7"] = [3]bool{true, true, true} // the library has no such transport: in any case not known to be safe
	walked := 0
	for _, driver := range []string{"ionic", "bnxt_en", "mlx5_core", ""} {
		for _, gpu := range []string{"AMD Instinct MI355X", "AMD Instinct MI300X", ""} {
			for _, nodes := range []int{1, 2, 128} {
				for net, vars := range transports {
					for _, version := range []string{"2.27.7", "2.28.3", "2.30.4", "2.31.2"} {
						for i, disable := range []string{"1", "", "0"} {
							all := map[string]string{flush.Variable: disable}
							maps.Copy(all, vars)
							rec := flushing(driver, gpu, "librccl.so.1", version, nodes, all)
							want := driver == "ionic" && nodes > 1 && atRisk[net+" "+version][i]
							what := fmt.Sprintf("%s, %s, %d nodes, %s, RCCL %s, disable %q", driver, gpu, nodes, net, version, disable)
							found := judge.Record(rec).Only(judge.CodeFlush)
							require.Equal(t, want, len(found) == 1, what)
							if want {
								require.NotEmpty(t, found[0].Hint, what)
								require.Contains(t, found[0].Text, "of MI300X nothing is published", what)
								require.Contains(t, found[0].Text, "the cause is not settled", what)
								require.Contains(t, found[0].Text, "(ROCm/aorta pull request 205", what)
							}
							walked++
						}
					}
				}
			}
		}
	}
	require.Equal(t, 4*3*3*7*4*3, walked)
}

// What to do follows from the row: lines to set stand only where they are honoured, and with their cost.
func TestAdviceFollowsFromTheRow(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range []struct {
		version, net, disable, what, next string
		lines                             bool
	}{
		{"2.30.4", "NCCL_NET=IB-CAST", "", "over IB-CAST (NCCL_GDR_FLUSH_DISABLE: not set; default 1, honoured: yes)", "export NCCL_GDR_FLUSH_DISABLE=0 and RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING=0", true},
		{"2.31.2", "NCCL_NET=IB-CAST", "1", "(NCCL_GDR_FLUSH_DISABLE: 1; default 1", "nobody has published which of the two is clean", true},
		{"2.28.3", "NCCL_NET=IB-CAST", "0", ": 0; default 1, honoured: no", "no variable turns the flush on", false},
		{"2.28.3", "RCCL_AINIC_ROCE=1", "0", "over ROCM-IB", "Update to RCCL 2.30.4", false},
		{"2.27.7", "NCCL_NET_PLUGIN=librccl-anp.so", "1", "over ANP (NCCL_GDR_FLUSH_DISABLE: 1; default 0", "unset NCCL_GDR_FLUSH_DISABLE", true},
		{"2.30.4", "NCCL_NET=IB", "1", "over IB", "the flush hangs MI350X and MI355X", true},
		{"2.28.3", "", "", "its network transport is not known", "docs/POLLARA.md", false},
	} {
		vars := map[string]string{flush.Variable: c.disable}
		if name, value, ok := strings.Cut(c.net, "="); ok {
			vars[name] = value
		}
		issues := judge.IssuesOf(judge.IssueFactsOf(flushing("ionic", "MI355X", "librccl.so.1", c.version, 2, vars)))
		k := issues[len(issues)-1]
		require.Equal(t, judge.CodeFlush, k.ID, c)
		require.Contains(t, k.What, c.what)
		require.Contains(t, k.Next, c.next)
		require.Equal(t, c.lines, strings.Contains(k.Next, flush.Cost()), c)
		require.Equal(t, c.lines, strings.Contains(k.Next, "all_reduce 270 instead of 330 GB/s"), c)
		if !c.lines {
			require.NotContains(t, k.Next, "export ", c)
		}
		tried[c.net] = true
	}
	require.Len(t, tried, 5)
}

// NCCL on the same NICs is another library; a record that was not measured here claims nothing of its NICs.
func TestCorruptionNeedsRCCLAndRealNICs(t *testing.T) {
	require.Empty(t, judge.Record(flushing("ionic", "H100", "libnccl.so.2", "2.27.7", 2, nil)).Only(judge.CodeFlush))
	simulated := flushing("", "MI300X", "loopback", "2.30.4", 128, nil)
	simulated.Simulated, simulated.Fabric = true, &record.Fabric{Name: "mi300x-pollara", Title: "MI300X, eight Pollara rails"}
	require.Empty(t, judge.Record(simulated).Only(judge.CodeFlush))
	rec := flushing("ionic", "MI355X", "librccl.so.1", "2.30.4", 2, nil)
	require.Empty(t, judge.Record(rec).Faults(), "a warning is no fault")
}
