package formats

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/trace"
)

// callsOf are a trace's calls of a rank as text: collective, type, bytes, group's name and size.
func callsOf(t *trace.Trace, rank int) (list []string) {
	for _, c := range t.Ranks[rank].Calls {
		list = append(list, fmt.Sprintf("%s %s %d %s/%d", c.Collective, c.Dtype, c.Bytes, t.Groups[c.Group].Name, t.Groups[c.Group].Size))
	}
	return list
}

// Forms of the profiler's events that differ by version and by who wrote the file again.
func TestKinetoVariants(t *testing.T) {
	const host, kernel = `{"cat": "cpu_op", "name": "record_param_comms", "ts": %d, "dur": 5, "args": {%s}}`, `{"cat": "kernel", "name": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "ts": %d, "dur": 9, "args": {%s}}`
	const dp = `"Process Group Name": "3", "Group size": 4, "dtype": "BFloat16"`
	args := func(name string, in, out int) string {
		return fmt.Sprintf(`"Collective name": %q, "In msg nelems": %d, "Out msg nelems": %d, `, name, in, out)
	}
	for name, one := range map[string]struct {
		events []string
		want   []string
	}{
		"no identifier ties them":        {[]string{fmt.Sprintf(host, 1, args("_all_gather_base", 8, 32)+dp+`, "External id": 5`), fmt.Sprintf(kernel, 9, args("_all_gather_base", 8, 32)+dp+`, "External id": 99`)}, []string{"all_gather bfloat16 64 3/4"}},
		"the kernel stands first":        {[]string{fmt.Sprintf(kernel, 9, args("allreduce", 8, 8)+dp+`, "External id": 5`), fmt.Sprintf(host, 1, args("allreduce", 8, 8)+dp+`, "External id": 5`)}, []string{"all_reduce bfloat16 16 3/4"}},
		"a kernel before its window":     {[]string{fmt.Sprintf(kernel, 1, args("allreduce", 8, 8)+dp), fmt.Sprintf(host, 2, args("allreduce", 8, 8)+dp)}, []string{"all_reduce bfloat16 16 3/4", "all_reduce bfloat16 16 3/4"}},
		"numbers as text":                {[]string{`{"cat": "kernel", "name": "k", "ts": "1", "dur": "2", "args": {"Collective name": "reduce_scatter_tensor_coalesced", "In msg nelems": "32", "Out msg nelems": "8", "dtype": "Half", "Group size": "4", "Process Group Name": 3}}`}, []string{"reduce_scatter half 64 3/4"}},
		"a backend's name in front":      {[]string{fmt.Sprintf(kernel, 1, args("nccl:_all_gather_base", 8, 32)+dp)}, []string{"all_gather bfloat16 64 3/4"}},
		"ranks without a size":           {[]string{fmt.Sprintf(kernel, 1, args("_allgather_base", 8, 0)+`"dtype": "Float", "Process Group Name": "3", "Process Group Ranks": "[4, 5, 6, 7]"`)}, []string{"all_gather float 128 3/4"}},
		"ranks that are cut":             {[]string{fmt.Sprintf(kernel, 1, args("allreduce", 8, 8)+dp+`, "Process Group Ranks": "[0, 1, ..., 3]"`)}, []string{"all_reduce bfloat16 16 3/4"}},
		"splits":                         {[]string{fmt.Sprintf(kernel, 1, args("all_to_allv", 10, 14)+dp+`, "In split size": "[1, 2, 3, 4]", "Out split size": "[5, 4, 3, 2]"`)}, []string{"all_to_all bfloat16 28 3/4"}},
		"sends, receives, and a barrier": {[]string{fmt.Sprintf(kernel, 1, args("send", 8, 8)+dp), fmt.Sprintf(kernel, 2, args("recv", 4, 4)+dp), fmt.Sprintf(kernel, 3, args("barrier", 1, 1)+dp)}, []string{"send_recv bfloat16 16 3/4", "send_recv bfloat16 8 3/4", "barrier bfloat16 2 3/4"}},
		"other types":                    {[]string{fmt.Sprintf(kernel, 1, args("allreduce", 8, 8)+`"Group size": 4, "Process Group Name": "3", "dtype": "Float8_e4m3fn"`), fmt.Sprintf(kernel, 2, args("broadcast", 8, 8)+`"Group size": 4, "Process Group Name": "3", "dtype": "Long"`), fmt.Sprintf(kernel, 3, args("broadcast", 8, 8)+`"Group size": 4, "Process Group Name": "3", "dtype": "ComplexFloat"`)}, []string{"all_reduce f8e4m3 8 3/4", "broadcast int64 64 3/4", "broadcast  -1 3/4"}},
		"counts of no buffer":            {[]string{fmt.Sprintf(kernel, 1, args("allreduce", -8, -8)+dp), fmt.Sprintf(kernel, 2, `"Collective name": "allreduce", "In msg nelems": 9223372036854775807, "Out msg nelems": 1e300, `+dp)}, []string{"all_reduce bfloat16 -1 3/4", "all_reduce bfloat16 -1 3/4"}},
		"before 2024":                    {[]string{`{"cat": "Kernel", "name": "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", "ts": 1, "dur": 2, "args": {"stream": 7}}`, `{"cat": "cpu_op", "name": "record_param_comms", "ts": 0, "dur": 1}`}, []string{"all_gather  -1 ?/4"}},
	} {
		got := read(t, "x.json", `{"distributedInfo": {"rank": "2", "world_size": "4"}, "traceEvents": [`+strings.Join(one.events, ",")+`]}`)
		require.Equal(t, one.want, callsOf(got, 0), name)
		require.Equal(t, []int{2, 4}, []int{got.Ranks[0].Rank, got.World}, name)
	}
	// Kernels of RCCL that tell no collective are counted, MSCCL's among them; MSCCL++ is another library.
	got := read(t, "x.json", `{"traceEvents": [{"cat": "kernel", "name": "rcclGenericKernel<1>", "ts": 1, "dur": 1}, {"cat": "kernel", "name": "void mscclKernel_Sum_float_LL()", "ts": 2, "dur": 1}, {"cat": "kernel", "name": "mscclpp::allreduce", "ts": 3, "dur": 1}]}`)
	require.Equal(t, 2, got.Ranks[0].Unnamed)
	require.Equal(t, "MSCCL++", got.Foreign[0].Library)
	// A rank's number in a group is not its number in the job.
	got = read(t, "x.json", `{"traceEvents": [`+fmt.Sprintf(host, 1, args("allreduce", 8, 8)+`"dtype": "Float", "Process Group Name": "9", "Group size": 2, "Process Group Ranks": "[3, 7]", "Rank": 1`)+`]}`)
	require.Equal(t, 7, got.Ranks[0].Rank)
}

// The groups' table may stand behind the calls.
func TestGroupsBehindTheirCalls(t *testing.T) {
	got := read(t, "x.json", `{"schemaVersion": 1, "traceEvents": [{"cat": "kernel", "name": "ncclDevKernel", "ts": 1, "dur": 2, "args": {"Collective name": "_allgather_base", "In msg nelems": 8, "dtype": "Float", "Process Group Name": "5"}}], "distributedInfo": {"rank": 1, "world_size": 8, "pg_config": [{"pg_name": "5", "pg_desc": "tp", "pg_size": 2, "ranks": [0, 1]}]}}`)
	require.Equal(t, []string{"all_gather float 64 5/2"}, callsOf(got, 0))
	require.Equal(t, []int{0, 1}, got.Groups[0].Ranks)
}

// Logs of one process with several communicators: its rank is that in the largest, whatever order the lines
// have, and hosts may be named as containers and Slurm name them.
func TestCollLogVariants(t *testing.T) {
	line := func(host string, pid, dev int, name, comm string, ranks int, more string) string {
		return fmt.Sprintf("%s:%d:%d [%d] NCCL INFO %s: opCount 0 sendbuff 0x1 recvbuff 0x2 count 8 datatype 9 op 0 root 0 comm %s [nranks=%d] stream 0x5%s\n", host, pid, pid, dev, name, comm, ranks, more)
	}
	named := func(host string, pid, dev int, comm string, rank, ranks int, word string) string {
		return fmt.Sprintf("%s:%d:%d [%d] NCCL INFO ncclCommInitRankConfig comm %s rank %d %s %d cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE\n", host, pid, pid+1, dev, comm, rank, word, ranks)
	}
	text := named("node_01", 10, 0, "0xa0", 0, 2, "nranks") + named("node_01", 10, 0, "0xb0", 5, 8, "nRanks") +
		line("node_01", 10, 0, "AllReduce", "0xa0", 2, "") + "[2026-11-24 10:00:00] " + line("node_01", 10, 0, "AllGather", "0xb0", 8, "") +
		// The same process number on another host, a container named by a number.
		line("9f3c", 10, 0, "AllReduce", "0xb0", 8, " task 0 globalrank 6") + "[1,3]<stdout>:" + line("9f3c", 10, 0, "Broadcast", "0xa0", 2, " task 0 globalrank 0") +
		// Two devices of one process, interleaved; a cut line runs into one.
		line("9f3c", 11, 1, "AllReduce", "0xc1", 8, " task 0 globalrank 1") + "9f3c:11:11 [1] NCCL INFO AllRedu" + line("9f3c", 11, 2, "AllReduce", "0xc2", 8, " task 0 globalrank 2") +
		line("9f3c", 11, 1, "AllToAll", "0xc1", 8, " task 0 globalrank 1") + line("9f3c", 11, 2, "Send", "0xc2", 8, " task 0 globalrank 2")
	got := read(t, "x.log", text)
	var ranks []int
	for _, r := range got.Ranks {
		ranks = append(ranks, r.Rank)
	}
	require.Equal(t, []int{1, 2, 5, 6}, ranks)
	require.Equal(t, []string{"all_reduce bfloat16 16 #0/8", "all_to_all bfloat16 128 #0/8"}, callsOf(got, 0))
	require.Equal(t, []string{"all_reduce bfloat16 16 #0/8", "send_recv bfloat16 16 #0/8"}, callsOf(got, 1))
	require.Equal(t, []string{"all_reduce bfloat16 16 #0/2", "all_gather bfloat16 128 #1/8"}, callsOf(got, 2))
	require.Equal(t, []string{"node_01", "9f3c"}, []string{got.Ranks[2].Host, got.Ranks[3].Host})
}

// Inspector's rank is that in a communicator; header and metadata may stand once for several lines.
func TestInspectorVariants(t *testing.T) {
	header := func(id string, rank, ranks int, host string, pid int) string {
		return fmt.Sprintf(`{"header": {"id": %q, "rank": %d, "n_ranks": %d}, "metadata": {"hostname": %q, "pid": %d}`, id, rank, ranks, host, pid)
	}
	const perf = `"coll_perf": {"coll": "AllReduce", "coll_sn": %d, "coll_msg_size_bytes": %d, "coll_exec_time_us": 5}}`
	text := header("tp", 1, 2, "a", 7) + ", " + fmt.Sprintf(perf, 0, 64) + "\n" + header("dp", 3, 8, "a", 7) + ", " + fmt.Sprintf(perf, 0, 128) + "\n" +
		header("dp", 1, 8, "b", 7) + ", " + fmt.Sprintf(perf, 0, 128) + "\n" +
		// Two ranks of one process.
		header("dp", 4, 8, "c", 9) + ", " + fmt.Sprintf(perf, 0, 128) + "\n" + header("dp", 5, 8, "c", 9) + ", " + fmt.Sprintf(perf, 0, 128) + "\n" +
		// A marker with the header, and records without.
		header("dp", 6, 8, "d", 1) + `, "dump_stats": {"colls": 2}}` + "\n{" + fmt.Sprintf(perf, 4, 128) + "\n{" + fmt.Sprintf(perf, 5, 256) + "\n"
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got := read(t, "x.jsonl.gz", z.String())
	all := map[int][]string{}
	for i, r := range got.Ranks {
		all[r.Rank] = callsOf(got, i)
	}
	require.Equal(t, map[int][]string{
		3: {"all_reduce  64 tp/2", "all_reduce  128 dp/8"}, 1: {"all_reduce  128 dp/8"}, 4: {"all_reduce  128 dp/8"}, 5: {"all_reduce  128 dp/8"},
		6: {"all_reduce  128 dp/8", "all_reduce  256 dp/8"},
	}, all)
	require.Empty(t, got.Notes)
}

// The rank of an execution trace is that in the largest group, or what the groups' table tells.
func TestExecutionTraceRanks(t *testing.T) {
	call := func(group string, rank, ranks int) string {
		return fmt.Sprintf(`{"name": "record_param_comms", "id": 1, "inputs": {"values": [[[7, 7, 0, 8, 4, "cuda:0"]], [1, false], [%q, ""], %d, "allreduce", [], [], 0, 1, %d], "types": ["GenericList[Tensor(float)]"]}, "outputs": {"values": []}}`, group, rank, ranks)
	}
	got := read(t, "et.json", `{"schema": "1.1.0", "pid": 1, "nodes": [`+call("2", 0, 2)+","+call("0", 3, 8)+","+call("2", 0, 2)+`]}`)
	require.Equal(t, 3, got.Ranks[0].Rank)
	table := `{"name": "## process_group:init ##", "id": 2, "inputs": {"values": ["[{\"pg_name\": \"2\", \"ranks\": [6, 7], \"group_size\": 2}, {\"pg_name\": \"x\", \"ranks\": [-1, 99999999999]}]"], "types": ["String"]}}`
	got = read(t, "et.json", `{"schema": "1.1.0", "pid": 1, "nodes": [`+table+","+call("2", 1, 2)+`]}`)
	require.Equal(t, 7, got.Ranks[0].Rank)
}

// A negative size is none.
func TestChakraOfNoSize(t *testing.T) {
	got := read(t, "x.1.et", string(bytes.Join([][]byte{
		message(textField(1, []byte("0.0.4"))),
		message(field(3, 7), attribute("comm_type", field(9, 0)), attribute("comm_size", field(9, 1<<64-5))),
		message(field(3, 7), attribute("comm_type", field(9, 1<<64-5)), attribute("comm_size", field(9, 4))),
	}, nil)))
	require.Equal(t, []string{"all_reduce  -1 ?/0"}, callsOf(got, 0))
	require.Equal(t, 1, got.Ranks[0].Unnamed)
}

// Names are cut and on one line.
func TestNamesAreMadeSafe(t *testing.T) {
	long := strings.Repeat("n", 100000)
	got := read(t, "x.json", fmt.Sprintf(`{"traceEvents": [{"cat": "kernel", "name": "ncclKernel_AllReduce", "ts": 1, "dur": 2, "args": {"stream": %q}},
		{"cat": "kernel", "name": "k", "ts": 1, "dur": 2, "args": {"Collective name": "a\u001b[31m\n%s", "Process Group Name": "\u202eb\u0007%s", "Group size": 2, "stream": "\u001b]0;x\u0007"}}]}`, long, long, long))
	for _, c := range got.Ranks[0].Calls {
		for _, name := range []string{c.Collective, c.Stream, got.Groups[c.Group].Name} {
			require.LessOrEqual(t, len(name), 210)
			require.NotRegexp(t, `[\x00-\x1f\x7f\x{202e}]`, name)
		}
	}
}

// A job of many ranks with 64 groups is read and its calls are matched; more groups than any job has are refused; deep
// brackets are a damaged record or refused, and take no stack.
func TestLargeAndDeep(t *testing.T) {
	const ranks = 128
	all := &trace.Trace{}
	for r := range ranks {
		var b strings.Builder
		for g := range 64 {
			fmt.Fprintf(&b, `{"cat": "kernel", "name": "n", "ts": %d, "dur": 5, "args": {"Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 8, "dtype": "Float", "Process Group Name": "%d", "Group size": %d}},`, g*10, g, ranks)
		}
		all.Add(read(t, "x", fmt.Sprintf(`{"distributedInfo": {"rank": %d, "world_size": %d}, "traceEvents": [%s{}]}`, r, ranks, b.String())))
	}
	d := trace.Answer(all, nil)
	require.Equal(t, &trace.Matched{Ranks: ranks, Calls: 64, Alike: 64, OnAll: 64, Differ: []trace.Difference{}, Pending: []trace.Pending{}}, d.Matched)
	var b strings.Builder
	b.WriteString(`{"traceEvents": [`)
	for g := range 16400 {
		fmt.Fprintf(&b, `{"cat": "kernel", "name": "n", "ts": 1, "dur": 5, "args": {"Collective name": "allreduce", "Process Group Name": "%d"}},`, g)
	}
	_, err := Read("groups", strings.NewReader(b.String()+"{}]}"))
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "over 16384 groups")
	defer debug.SetMaxStack(debug.SetMaxStack(8 << 20)) // a frame for each bracket does not fit
	deep := strings.Repeat("[", 1<<20)
	for _, text := range []string{`{"traceEvents": [{"cat": "kernel", "args": ` + deep, `{"traceEvents": ` + deep, `{"schema": "1", "pid": 1, "nodes": [{"name": "record_param_comms", "inputs": ` + deep + strings.Repeat("]", 1<<20) + `}]}`} {
		got, err := Read("deep", strings.NewReader(text))
		if err == nil {
			require.Equal(t, 1, got.Ranks[0].Damaged)
		}
	}
}
