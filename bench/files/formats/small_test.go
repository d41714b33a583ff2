package formats

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"zbench/bench/files/trace"
)

func read(t *testing.T, name, text string) *trace.Trace {
	t.Helper()
	got, err := Read(name, strings.NewReader(text))
	require.NoError(t, err)
	return got
}

// kinetoOf is a file of the profiler with these events.
func kinetoOf(rank, world int, events ...string) string {
	return fmt.Sprintf(`{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}],
  "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d, "pg_config": {"7": {"pg_desc": "dp", "ranks": [0, 1]}}},
  "traceEvents": [%s], "traceName": "x"}`, rank, world, strings.Join(events, ",\n"))
}

const (
	callOf   = `{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": %g, "dur": 5, "args": {"External id": %d, "Collective name": "%s", "In msg nelems": %d, "Out msg nelems": %d, "dtype": "BFloat16", "Process Group Name": "7", "Group size": 2, "Process Group Ranks": "[0, 1...]", "Seq": %d, "Is asynchronized op": true}}`
	kernelOf = `{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ts": %g, "dur": %g, "args": {"External id": %d, "Collective name": "%s", "In msg nelems": %d, "Out msg nelems": %d, "dtype": "BFloat16", "Process Group Name": "7", "Group size": 2, "stream": 4}}`
)

func TestKinetoTiesKernelsToCalls(t *testing.T) {
	got := read(t, "rank1.json", kinetoOf(
		1, 2,
		fmt.Sprintf(callOf, 10.0, 1, "_reduce_scatter_base", 4096, 2048, 11),
		fmt.Sprintf(callOf, 20.0, 2, "wait", 0, 0, 0),
		fmt.Sprintf(kernelOf, 30.0, 100.0, 1, "_reduce_scatter_base", 4096, 2048),
		`{"ph": "X", "cat": "kernel", "name": "gemm {not a \"collective\" ]", "ts": 40, "dur": 50, "args": {"stream": 0}}`,
		`{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ts": 1, "dur": 2, "args": {"stream": 4}}`,
		`{"ph": "X", "cat": "kernel", "name": "void deep_ep::internode::dispatch<false>()", "ts": 1, "dur": 2, "args": {"stream": 9}}`,
		`{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 0, "dur": 200}`,
	))
	require.Equal(t, 2, got.World)
	require.Equal(t, []trace.Group{{Name: "7", Description: "dp", Size: 2, Ranks: []int{0, 1}}}, got.Groups, "the file shortens the list, its table has it")
	require.Equal(t, []trace.Foreign{{Library: "DeepEP", Kernels: 1, Seconds: 2e-6}}, roundForeign(got.Foreign))
	r := got.Ranks[0]
	require.Equal(t, 1, r.Rank)
	require.Equal(t, 1, r.Unnamed)
	require.Len(t, r.Steps, 1)
	require.Len(t, r.Computing, 1)
	require.Len(t, r.Calls, 1)
	c := r.Calls[0]
	require.Equal(t, "reduce_scatter", c.Collective)
	require.Equal(t, int64(8192), c.Bytes, "all of what a rank reduces")
	require.Equal(t, int64(11), c.Sequence)
	require.InDelta(t, 100e-6, c.Kernel.Seconds(), 1e-12)
	require.InDelta(t, 20e-6, c.Kernel.Start-c.Enqueued.Start, 1e-12)
}

func roundForeign(all []trace.Foreign) []trace.Foreign {
	for i := range all {
		all[i].Seconds = float64(int64(all[i].Seconds*1e9+0.5)) / 1e9
	}
	return all
}

func TestExecutionTracesOfAllVersions(t *testing.T) {
	for name, node := range map[string]string{
		"1.0.1": `{"name": "record_param_comms", "id": 1, "inputs": [[718, 715, 0, 6144, 4, "cuda:0"], 147, 94594108284448, 3, "all_to_allv", [3072, 3072], [3072, 3072]], "input_types": ["Tensor(float)"], "outputs": [[723, 724, 0, 6144, 4, "cuda:0"]]}`,
		"1.0.2": `{"name": "record_param_comms", "id": 1, "inputs": {"values": [[[718, 715, 0, 6144, 4, "cuda:0"]], 147, 82149104, 3, "all_to_allv", [], [], 2], "types": ["GenericList[Tensor(float)]"]}, "outputs": {"values": [[723, 724, 0, 6144, 4, "cuda:0"]]}}`,
		"1.0.3": `{"name": "record_param_comms", "id": 1, "inputs": {"values": [[[718, 715, 0, 6144, 4, "cuda:0"]], 147, ["5", "ep"], 3, "all_to_allv", [], [], 0, 1, 2], "types": ["GenericList[Tensor(float)]"]}, "outputs": {"values": []}}`,
		"1.1.1": `{"name": "record_param_comms", "id": 1, "inputs": {"values": [[[718, 715, 0, 9, 9, "cuda:0"]], [147, false], ["5", "ep"], 3, "all_to_allv", [], [], 0, 1, 2], "types": ["GenericList[Tensor(c10::BFloat16)]"]}, "outputs": {"values": []}, "attrs": [{"name": "dtype", "type": "string", "value": "Float"}, {"name": "in_msg_nelems", "type": "uint64", "value": 6144}, {"name": "pg_size", "type": "uint64", "value": 2}]}`,
	} {
		text := `{"schema": "` + name + `", "pid": 7, "nodes": [{"name": "aten::add", "id": 9}, ` + node + `, {"name": "record_param_comms", "inputs": [141, 0, 3, "wait", [], []]}], "finish_ts": 3}`
		got := read(t, "et.json", text)
		require.Len(t, got.Ranks, 1, name)
		r := got.Ranks[0]
		require.Equal(t, 3, r.Rank, name)
		require.Zero(t, r.Damaged, name)
		require.Len(t, r.Calls, 1, name)
		require.Equal(t, "all_to_all", r.Calls[0].Collective, name)
		require.Equal(t, int64(4*6144), r.Calls[0].Bytes, name)
		require.Equal(t, int64(147), r.Calls[0].Sequence, name)
		require.Equal(t, 2, got.Groups[0].Size, name)
		require.False(t, got.Timed(), name)
	}
}

// message is a message of protobuf behind its length.
func message(fields ...[]byte) []byte {
	return protowire.AppendBytes(nil, bytes.Join(fields, nil))
}

func field(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func textField(n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), v)
}

func attribute(name string, value []byte) []byte {
	return textField(10, append(textField(1, []byte(name)), value...))
}

func chakraText() []byte {
	return bytes.Join([][]byte{
		message(textField(1, []byte("0.0.4"))),
		message(textField(2, []byte("gemm")), field(3, 4)),
		message(textField(2, []byte("c10d::allreduce_")), field(3, 7), attribute("is_cpu_op", field(27, 1))),
		message(textField(2, []byte("kernel")), field(3, 7), field(7, 30), attribute("comm_type", field(9, 2)), attribute("comm_size", field(9, 1<<20)), attribute("pg_name", textField(29, []byte("dp")))),
		message(textField(2, []byte("ncclDevKernel_Generic_4(…)")), field(3, 7), attribute("comm_size", field(9, 5))),
		message(textField(2, []byte("send")), field(3, 5), attribute("comm_size", field(9, 77))),
	}, nil)
}

func TestChakra(t *testing.T) {
	got := read(t, "trace.5.et", string(chakraText()))
	r := got.Ranks[0]
	require.Equal(t, 5, r.Rank)
	require.Equal(t, 1, r.Unnamed, "RCCL's generic kernel does not tell its collective")
	require.Len(t, r.Calls, 2)
	require.Equal(t, "all_gather", r.Calls[0].Collective)
	require.Equal(t, int64(trace.Unknown), r.Calls[0].Bytes, "the file tells no ranks")
	require.Equal(t, int64(1<<20), r.Calls[0].Part)
	require.Equal(t, 30e-6, r.Calls[0].Took)
	require.Equal(t, "dp", got.Groups[r.Calls[0].Group].Name)
	require.Equal(t, "send_recv", r.Calls[1].Collective)
	_, err := Read("cut.et", bytes.NewReader(chakraText()[:60]))
	require.ErrorIs(t, err, ErrDamaged)
}

func TestCollLog(t *testing.T) {
	const rccl = "h1:100:100 [1] NCCL INFO AllGather: opCount a sendbuff 0x1 recvbuff 0x2 acc (nil) count 1024 datatype 9 op 0 root 0 comm 0xabc [nranks=4] stream 0x5 task 0 globalrank 1\n"
	const nccl = "h2:200:201 [0] NCCL INFO ncclCommInitRank comm 0xdef rank 2 nranks 4 cudaDev 0 - Init COMPLETE\nh2:200:200 [0] NCCL INFO AllReduce: opCount b sendbuff 0x1 recvbuff 0x2 count 1024 datatype 7 op 3 root 0 comm 0xdef [nranks=4] stream 0x5\n"
	glued := strings.TrimSuffix(rccl, "\n")[:60] + nccl
	got := read(t, "job.log", rccl+glued+"noise\n")
	require.Equal(t, 4, got.World)
	require.Equal(t, []int{0, 3}, got.Missing())
	require.Len(t, got.Ranks, 2)
	c := got.Ranks[0].Calls[0]
	require.Equal(t, "all_gather", c.Collective)
	require.Equal(t, int64(2*1024*4), c.Bytes, "the count is a rank's part")
	require.Equal(t, int64(10), c.Sequence, "opCount is hexadecimal")
	require.Empty(t, c.Op)
	c = got.Ranks[1].Calls[0]
	require.Equal(t, "min", c.Op)
	require.Equal(t, int64(4*1024), c.Bytes)
	require.Contains(t, strings.Join(got.Notes, "\n"), "1 calls cannot be read")
}

func TestInspectorCountsARanksPart(t *testing.T) {
	line := func(rank int, perf string) string {
		return fmt.Sprintf(`{"header": {"id": "0x7f", "rank": %d, "n_ranks": 8, "nnodes": 1}, "metadata": {"hostname": "h"}, %s}`+"\n", rank, perf)
	}
	got := read(t, "inspector.jsonl", line(0, `"coll_perf": {"coll": "ReduceScatter", "coll_sn": 5, "coll_msg_size_bytes": 1000, "coll_exec_time_us": 88, "coll_busbw_gbs": 99999, "graphCaptured": true}`)+
		line(0, `"coll_perf": {"coll": "AllReduce", "coll_sn": 9, "coll_msg_size_bytes": 1000, "coll_exec_time_us": 0}`)+
		line(1, `"p2p_perf": {"p2p": "Send", "p2p_sn": 1, "p2p_peer": 0, "p2p_msg_size_bytes": 64, "p2p_exec_time_us": 3}`)+
		"no record\n"+`{"summary": {"dropped_collectives": 3, "leaked_collectives": 0, "pool_size": 10, "complete": false}}`+"\n")
	require.Len(t, got.Ranks, 2)
	require.Equal(t, int64(8000), got.Ranks[0].Calls[0].Bytes)
	require.Equal(t, 88e-6, got.Ranks[0].Calls[0].Took)
	require.Equal(t, int64(1000), got.Ranks[0].Calls[1].Bytes)
	require.Equal(t, "send_recv", got.Ranks[1].Calls[0].Collective)
	notes := strings.Join(got.Notes, "\n")
	for _, want := range []string{"dropped or lost 3", "1 lines are no records", "3 calls are not in the file", "1 calls have no time"} {
		require.Contains(t, notes, want)
	}
}

func TestArchivesAreFoldersOfRanks(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := range 2 {
		text := kinetoOf(i, 2, fmt.Sprintf(callOf, 10.0, 1, "allreduce", 10, 10, 1))
		for name, body := range map[string]string{fmt.Sprintf("d/rank%d.json", i): text, fmt.Sprintf("d/._rank%d.json", i): "attributes"} {
			require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Typeflag: tar.TypeReg, Mode: 0o600}))
			_, err := w.Write([]byte(body))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	got := read(t, "job.tar.gz", b.String())
	require.Len(t, got.Ranks, 2)
	require.Len(t, got.Groups, 1, "both ranks call in one group")
}

func TestWhatHoldsNoCallsIsNamed(t *testing.T) {
	for text, use := range map[string]string{
		"# nThread 1\n# Using devices\n#       size         count\n": "zbench import",
		"<system version=\"1\"></system>":                            "zbench topo",
		"allgather,0,1,ring,simple,1\ncolltype,minbytes,maxbytes\n":  "no command",
	} {
		_, err := Read("f", strings.NewReader(text))
		require.ErrorIs(t, err, ErrHolds)
		require.ErrorContains(t, err, use)
	}
	_, err := Read("f", strings.NewReader("hello"))
	require.ErrorIs(t, err, ErrUnknown)
}

// What is damaged is counted, and what is hostile ends with an error.
func TestDamage(t *testing.T) {
	got := read(t, "a.json", kinetoOf(0, 2, `{"cat": "kernel", "name": 5, "ts": {}, "dur": [1], "args": "record_param_comms"}`, fmt.Sprintf(callOf, 1.0, 1, "allreduce", 3, 3, 1)))
	require.Equal(t, 1, got.Ranks[0].Damaged)
	require.Len(t, got.Ranks[0].Calls, 1)
	for _, text := range []string{
		`{"traceEvents": [{"cat": "kernel"`, `{"traceEvents": [}`, `{"traceEvents": [1 2]}`, `{"traceEvents": [`, `{"traceEvents"`, `{"traceEvents": [{]}`,
		`{"traceEvents": [], "x" 5}`,
	} {
		_, err := Read("a.json", strings.NewReader(text))
		require.ErrorIs(t, err, ErrDamaged, text)
	}
}
