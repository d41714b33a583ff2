package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/files/trace"
)

// accl is a file of RCCL's profiler: calls of a rank with times in microseconds.
func accl(rank, ranks int, us ...float64) string {
	var b strings.Builder
	for i, v := range us {
		fmt.Fprintf(&b, `{"header":{"rank":%d,"n_ranks":%d},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":4194304,"coll_exec_time_us":%.2f}}`+"\n", rank, ranks, i, v)
	}
	return b.String()
}

func joined(t *testing.T, files ...[2]string) *trace.Document {
	t.Helper()
	all := &trace.Trace{}
	for _, f := range files {
		all.Add(read(t, f[0], f[1]))
	}
	return trace.Answer(all, nil)
}

func codes(d *trace.Document) (out []string) {
	for _, f := range d.Findings {
		out = append(out, f.Code)
	}
	return out
}

// The name of ACCL's file has the communicator and the process: two communicators in which a process has different
// ranks stay apart, and the process has its number in the larger one.
func TestTheNameOfACCLsFile(t *testing.T) {
	var files [][2]string
	name := func(rank, process int, hash string) string {
		return fmt.Sprintf("accl_profiler_rank%d_n%d_pid%d_0x%s.jsonl", rank, process/2, 100+process, hash)
	}
	for p := range 4 { // pairs are (0, 2) and (1, 3); process 1 is the first of its pair, and every other rank comes last to none
		late := 90.25
		if p == 3 {
			late = 10.25
		}
		files = append(files, [2]string{name(p, p, "aa"), accl(p, 4, slices.Repeat([]float64{late}, 20)...)})
		files = append(files, [2]string{name(p/2, p, []string{"b0", "b1"}[p%2]), accl(p/2, 2, 20.5, 20.5)})
	}
	d := joined(t, files...)
	require.Len(t, d.Ranks, 4)
	require.Contains(t, codes(d), trace.CodeLate)
	for _, f := range d.Findings {
		if f.Code == trace.CodeLate {
			require.Equal(t, "rank 3", f.Subject.Name)
		}
	}
	require.InDelta(t, (20*90.25+2*20.5)/1e6, d.Waiting.Ranks[0].Kernel, 1e-12, "decimals count")
	// Without the names nothing is joined: whose calls they are is not known.
	for i := range files {
		files[i][0] = fmt.Sprintf("%d.jsonl", i)
	}
	d = joined(t, files...)
	require.NotContains(t, codes(d), trace.CodeLate)
	require.Nil(t, d.Waiting)
	require.Nil(t, d.Matched)
	// Nor is a file that somebody made of several.
	_, err := Read("all.jsonl", strings.NewReader(accl(0, 4, 1.5, 1.5)+accl(0, 4, 1.5, 1.5)))
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "accl_profiler_rank")
	require.NotErrorIs(t, err, ErrUnknown)
}

// Two communicators of all ranks in a log that begins behind their first calls: which is which is not known, and no
// call differs by that.
func TestGroupsThatOnlyTheirOrderTellsApart(t *testing.T) {
	line := func(process int, call string, count int, comm string, op int) string {
		return fmt.Sprintf("h:%d:%d [%d] NCCL INFO %s: opCount %x sendbuff 0x1 recvbuff 0x1 count %d datatype 7 op 0 root 0 comm 0x%s%d [nranks=2] stream 0x1\n", process, process, process, call, op, count, comm, process)
	}
	log := func(first int) string {
		return line(1, "AllReduce", 64, "a", first) + line(1, "AllGather", 32, "b", first) + // the other way round in the other process
			line(2, "AllGather", 32, "b", first) + line(2, "AllReduce", 64, "a", first)
	}
	d := joined(t, [2]string{"cut.log", log(700)})
	require.Nil(t, d.Matched, "%+v", d.Findings)
	d = joined(t, [2]string{"whole.log", line(1, "AllReduce", 64, "a", 0) + line(1, "AllReduce", 64, "a", 1) + line(2, "AllReduce", 64, "a", 0) + line(2, "AllReduce", 64, "a", 1) + line(1, "AllGather", 32, "b", 0) + line(2, "AllGather", 32, "b", 0)})
	require.Equal(t, 3, d.Matched.Alike)
}

// ranAt and launchedAt are a kernel without metadata and its launch.
const (
	ranAt       = `{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)", "ts": %d, "dur": 50, "args": {"stream": 4, "correlation": %d}}`
	launchedAt  = `{"ph": "X", "cat": "cuda_runtime", "name": "hipExtLaunchKernel", "tid": %d, "ts": %d, "dur": 2, "args": {"correlation": %d}}`
	annotatedAt = `{"ph": "X", "cat": "user_annotation", "name": "nccl:%s", "tid": %d, "ts": %d, "dur": 20, "args": {}}`
)

// A kernel without metadata is named by the annotation around its launch, of the same thread, and two kernels of an
// annotation are one call. RCCL's generic kernel without one stays unnamed, and is a kernel of RCCL.
func TestAnnotationsNameKernels(t *testing.T) {
	at := fmt.Sprintf
	got := read(t, "a.json", kinetoOf(
		0, 2,
		at(annotatedAt, "all_to_all", 1, 100), at(launchedAt, 1, 105, 7), at(launchedAt, 1, 110, 8), at(ranAt, "Generic_1", 130, 7), at(ranAt, "Generic_1", 180, 8),
		at(annotatedAt, "reduce_scatter", 2, 100), at(launchedAt, 2, 103, 9), at(ranAt, "Generic", 300, 9),
		at(annotatedAt, "send 0->1", 1, 400), at(launchedAt, 1, 405, 10), at(ranAt, "SendRecv", 430, 10),
		at(ranAt, "Generic_2", 500, 11), // launched in a graph
	))
	var names []string
	for _, c := range got.Ranks[0].Calls {
		names = append(names, c.Collective)
	}
	require.Equal(t, []string{"all_to_all", "reduce_scatter", "send_recv"}, names)
	require.InDelta(t, 100e-6, got.Ranks[0].Calls[0].Kernel.Seconds(), 1e-12, "from the first kernel to the last")
	require.Equal(t, 1, got.Ranks[0].Unnamed)

	d := joined(t, [2]string{"b.json", kinetoOf(0, 2, at(ranAt, "Generic_2", 500, 11))})
	require.Regexp(t, `1 kernel of NCCL or RCCL ran, and b.json does not name`, d.Findings[0].Text)
}

// An Inspector's file that somebody printed on several lines is read as it was on one.
func TestPrettyPrintedInspector(t *testing.T) {
	var b strings.Builder
	for line := range strings.Lines(accl(0, 2, 7.5, 8.5)) {
		require.NoError(t, func() error {
			var x bytes.Buffer
			err := json.Indent(&x, []byte(line), "", "  ")
			b.WriteString(strings.TrimSpace(x.String()) + "\n")
			return err
		}())
	}
	got := read(t, "pretty.json", b.String())
	require.Len(t, got.Ranks[0].Calls, 2)
	require.InDelta(t, 8.5e-6, got.Ranks[0].Calls[1].Took, 1e-12)
}

// A log of calls that says what is wrong is believed, beside its calls.
func TestSignsOfALogOfCalls(t *testing.T) {
	d := joined(t, [2]string{"a.log", "h:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 64 datatype 7 op 0 root 0 comm 0xa [nranks=2] stream 0x1\n" +
		"h:1:9 [0] transport/net_ib.cc:80 NCCL WARN NET/IB : Got async event : local catastrophic error\n"})
	require.Equal(t, "nic_event", d.Findings[0].Code)
	require.Equal(t, "h", d.Findings[0].Subject.Name)
	require.Contains(t, d.Findings[0].Text, "line 2 (h) of a.log")
	require.Equal(t, finding.Fault, d.Findings[0].Severity)
}
