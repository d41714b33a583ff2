package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/trace"
	"zbench/test/longtest"
)

// Files of others: what each must come to. $D is their folder, $O one for the output, $E an empty one; the text is unfolded. A pattern
// that begins with ! must not match; one with a colon in front of it is of a file in $O.
func TestFilesOfOthers(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, x := range []struct {
		args string
		code int
		says []string
	}{
		{"trace $D/accl_fraction_us.jsonl", 0, []string{`all_reduce +– +4 MiB +4,194,304 +2`, `0 +302 µs +200 µs +\S+ % +102 µs +0 `, `1 +102 µs +0 ns +0 % +102 µs +2\n`, `!have no time`}},
		{"trace $D/coll_mismatch_no_init.log", 0, []string{
			`MISMATCH: Call 652 .*process 45010 \[2\] of h03 calls all_gather of 236,820,480 B, int8, process 45006 \[0\].* all_reduce of 39,938,048 B`, `4 of 4 processes are in the input: h03 \[0–3\]`, `!rank \?`,
		}},
		{"trace $D/coll_ray_missing_call.log", 0, []string{`Call 5022 .*process 605 \[5\] of wfq1 has no call from there on`, `16 of 128 processes are in the input: wfq0 \[0–7\], wfq1 \[0–7\]`, `process 605 \[5\] of wfq1: 1 call; others`, `!rank \?`}},
		{"trace $D/kineto_2023_all_to_all.json", 0, []string{`all_to_all +– .* 6 `, `all_reduce +– .* 3 `, `!send_recv`}},
		{"rails --matrix $D/ras_pairs.csv --ras $D/ras_missing_rank6_on_node4.txt --out $O", 6, []string{`UNCLEAR: ras: rank 6 .* on 10.0.0.4\) missing; its times are not slow; candidates: GPU 10.0.0.4:6`, `pass.txt:10.0.0.1\n10.0.0.2\n10.0.0.3\n$`}},
		{"rails --matrix $D/ras_pairs_slow_node1.csv --ras $D/ras_missing_rank6_on_node4.txt --out $O", 3, []string{`FAULT: GPU 10.0.0.1:6 has lost 38 %[^;]*\n`, `UNCLEAR: ras: rank 6 .* on 10.0.0.4\) missing.*candidates: GPU 10.0.0.4:6`, `pass.txt:10.0.0.2\n10.0.0.3\n$`}},
		{"rails --matrix $D/pairs5_common_node.csv --out $O", 6, []string{`slow in 2 of 2 transfers, 44 % lost; candidates: node n644\n|slow in 2 of 2 transfers, 44 % lost; candidates: node n644 `, `candidates: node n284, node n678`, `pass.txt:n699\nn632\nn641\nn404\n$`}},
		{"import $D/one_rank_stall.log --out $O", 0, []string{`One rank sends nothing .*bus bandwidth is 0 by definition`, `!STALL`}},
		{"import $D/socket_fallback.log --out $O", 0, []string{`LOG: No RDMA NIC was found.*line 7 \(hosta, hostb\)`, `LOG: .*TCP sockets, not RDMA: line 9 \(hosta, hostb\)`}},
		{"topo --root $E --xml $D/topo_socket_net.xml", 0, []string{`0 RDMA NICs: .*eth0`, `!1 RDMA NIC`, `!^OK`}},
		{"trace $D/tuning_lines.log", 6, []string{`tuning_lines.log has 3 lines of NCCL_DEBUG_SUBSYS=TUNING.* set NCCL_DEBUG_SUBSYS=INIT,COLL`, `!No collective of NCCL or RCCL`}},
	} {
		t.Run(x.args, func(t *testing.T) {
			dir := t.TempDir()
			args := strings.Fields(strings.NewReplacer("$D", filepath.Join("testdata", "others"), "$O", filepath.Join(dir, "out"), "$E", dir).Replace(x.args))
			s, out := testState(t, args...)
			var err bytes.Buffer
			s.Stderr = Stream{Writer: &err}
			require.Equal(t, x.code, Main(context.Background(), s), "%s%s", out, &err)
			text := regexp.MustCompile(`\n  +`).ReplaceAllString(out.String()+err.String(), " ")
			for _, want := range x.says {
				in := text
				if name, rest, ok := strings.Cut(want, ".txt:"); ok {
					data, err := os.ReadFile(filepath.Join(dir, "out", name+".txt"))
					require.NoError(t, err)
					in, want = string(data), "^"+rest
				}
				if pattern, not := strings.CutPrefix(want, "!"); not {
					require.NotRegexp(t, pattern, in)
					continue
				}
				require.Regexp(t, want, in)
			}
		})
	}
}

// A clean call of 27 MiB on 1,024 MI300X takes 650 to 671 µs in the loopback: its model says the same.
func TestReachOfManyRanks(t *testing.T) {
	seconds, by := reachOf("SIMULATED AMD Instinct MI300X")("all_reduce", 27<<20, 1024)
	require.InEpsilon(t, 657.6e-6, seconds, 0.03)
	require.Contains(t, by, "fabric")
	seconds, _ = reachOf("NVIDIA GB10")("all_reduce", 27<<20, 2)
	require.Zero(t, seconds)
}

// No number of nodes is made up: the fabric of the GPUs tells it.
func TestNodesOfATrace(t *testing.T) {
	line := func(device string, ranks int) string {
		d := &trace.Document{Device: device, Measure: []trace.Measure{{Collectives: []string{"all_reduce"}, Dtype: "float", Ranks: ranks, Sizes: []int64{4096}}}}
		lines, _ := toMeasure(d, "")
		return lines[0].Line
	}
	require.Contains(t, line("AMD Instinct MI300X", 32), "--nodes 4 --gpus-per-node 8")
	require.Contains(t, line("NVIDIA GH200", 4), "--nodes 1 --gpus-per-node 4")
	require.NotContains(t, line("NVIDIA GH200", 32), "--nodes")
}
