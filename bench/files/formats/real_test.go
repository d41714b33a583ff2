package formats

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/trace"
	"zbench/test/project"
)

// published reads a file of another tool; the test is skipped where they are not.
func published(t *testing.T, name string) *trace.Trace {
	t.Helper()
	got, err := Read(filepath.Base(name), open(t, name))
	require.NoError(t, err)
	return got
}

// open opens a file of another tool.
func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(project.Published(t, filepath.Dir(name)), filepath.Base(name)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// whole is a file's text, decompressed.
func whole(t *testing.T, name string) []byte {
	t.Helper()
	r, err := decompressed(bufio.NewReader(open(t, name)))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return text
}

// sizes are the elements of a rank's calls of a collective, in order.
func sizes(r *trace.Rank, collective string) (list []int64) {
	for i := range r.Calls {
		if r.Calls[i].Collective == collective {
			list = append(list, r.Calls[i].In)
		}
	}
	return list
}

// The profiler's files, read again as one value in memory: every kernel with a collective's name
// is a call with its elements, and no other is.
func TestDataKineto(t *testing.T) {
	for name, want := range map[string]struct{ ranks, world, calls, unnamed, steps int }{
		"a100_2rank_nccl_meta":         {1, 2, 21, 0, 3},
		"b200_8gpu_eager":              {1, 8, 1, 0, 0},
		"mi300x_8gpu_ddp_resnet_rank0": {1, 8, 12, 5, 3},
		"h800_ep64_train":              {1, 64, 0, 0, 1},
		"mi250_minitoy":                {1, 0, 0, 0, 2},
		"v100_2020_nccl_kernels":       {1, 2, 2020, 0, 5},
	} {
		got := published(t, "traces/kineto/"+name+".json.gz")
		require.Len(t, got.Ranks, want.ranks, name)
		r := got.Ranks[0]
		require.Equal(t, []int{want.world, want.calls, want.unnamed, want.steps, 0}, []int{got.World, len(r.Calls), r.Unnamed, len(r.Steps), r.Damaged}, name)
		var all struct {
			Events []map[string]any `json:"traceEvents"`
		}
		require.NoError(t, json.Unmarshal(whole(t, "traces/kineto/"+name+".json.gz"), &all))
		var elements, found []string
		for _, e := range all.Events {
			args, _ := e["args"].(map[string]any)
			if n := args["Collective name"]; e["cat"] == "kernel" && n != nil {
				elements = append(elements, strconv.FormatFloat(args["In msg nelems"].(float64), 'f', -1, 64)+" "+strconv.FormatFloat(e["dur"].(float64), 'f', 3, 64))
			}
		}
		for _, c := range r.Calls {
			if c.In >= 0 {
				found = append(found, strconv.FormatInt(c.In, 10)+" "+strconv.FormatFloat(c.Kernel.Seconds()*1e6, 'f', 3, 64))
			}
		}
		slices.Sort(elements)
		slices.Sort(found)
		require.Equal(t, elements, found, name)
	}
	got := published(t, "traces/kineto/h800_ep64_train.json.gz")
	require.Equal(t, "DeepEP", got.Foreign[0].Library)
	d := trace.Answer(got, nil)
	require.Contains(t, d.Findings[0].Text, "No collective of NCCL or RCCL here; DeepEP's kernels communicate")
}

func TestDataBucketsOfMI300X(t *testing.T) {
	got := published(t, "traces/kineto/mi300x_8gpu_ddp_resnet_rank0.json.gz")
	d := trace.Answer(got, func(_ string, bytes int64, _ int) (float64, string) {
		return 20e-6 + float64(bytes)/448e9, "a model"
	})
	require.Len(t, d.Buckets, 1)
	require.Equal(t, []int64{2873320 * 2, 8816192 * 2}, d.Buckets[0].Bytes)
	require.Equal(t, 3, d.Buckets[0].Steps)
	require.Len(t, d.Buckets[0].Tensors, 62, "ResNet-18's parameters")
	require.Less(t, *d.Buckets[0].Over, int64(25<<20))
	require.Nil(t, d.Waiting)
	require.Greater(t, d.Alone.Share, 0.99)
	text := ""
	for _, f := range d.Findings {
		text += f.Text + "\n"
	}
	require.Contains(t, text, "is not transfer")
	require.Contains(t, text, "Waiting for peers is likely; one rank cannot prove it.")
}

func TestDataExecutionTraces(t *testing.T) {
	got := published(t, "traces/et/resnet50_ddp_2gpu_et_1.1.0.json.gz")
	d := trace.Answer(got, nil)
	require.Equal(t, []int64{8196000, 31502336, 26255360, 26550272, 9724160}, d.Buckets[0].Bytes)
	require.GreaterOrEqual(t, *d.Buckets[0].Most, int64(25<<20))
	require.GreaterOrEqual(t, *d.Buckets[0].FirstMost, int64(1<<20))
	require.Less(t, *d.Buckets[0].Over, int64(25<<20))
	require.Len(t, d.Buckets[0].Tensors, 161, "ResNet-50's parameters")
	require.Equal(t, 3, d.Steps)

	for name, want := range map[string]int{"resnet50_ddp_2gpu_et_1.1.0": 21, "resnet50_1gpu_et_1.0.3": 21} {
		got := published(t, "traces/et/"+name+".json.gz")
		require.Len(t, got.Ranks[0].Calls, want)
		require.Equal(t, tensorsOf(t, whole(t, "traces/et/"+name+".json.gz")), elementsOf(got.Ranks[0]), name)
	}

	got = published(t, "traces/et/dlrm_8rank_et.tar.gz")
	require.Len(t, got.Ranks, 8)
	require.False(t, got.Timed())
	require.Equal(t, 8, got.Groups[0].Size)
	z, err := gzip.NewReader(open(t, "traces/et/dlrm_8rank_et.tar.gz"))
	require.NoError(t, err)
	members := tar.NewReader(z)
	for range 9 {
		h, err := members.Next()
		require.NoError(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(members)
		require.NoError(t, err)
		n, err := strconv.Atoi(regexp.MustCompile(`_(\d)\.json`).FindStringSubmatch(h.Name)[1])
		require.NoError(t, err)
		i := slices.IndexFunc(got.Ranks, func(r *trace.Rank) bool { return r.Rank == n })
		require.Equal(t, tensorsOf(t, text), elementsOf(got.Ranks[i]), h.Name)
		require.Equal(t, []int64{6144, 24, 384, 3392}, sizes(got.Ranks[i], "all_to_all")[:4])
	}
	d = trace.Answer(got, nil)
	require.Equal(t, &trace.Matched{Ranks: 8, Calls: 8, Alike: 8, OnAll: 8, Differ: []trace.Difference{}, Pending: []trace.Pending{}}, d.Matched)
	require.Contains(t, d.Findings[1].Text, "Calls matched over 8 ranks: all 8 that two ranks have are alike; 8 are on all")
	require.Contains(t, d.Findings[2].Text, "No times here")
	got.Ranks[5].Calls[3].Collective = "all_reduce"
	require.Contains(t, trace.Answer(got, nil).Findings[1].Text, "rank 5 calls all_reduce of 13,568 B, int32, rank 0–4, 6–7 all_to_all, int32")
	got = published(t, "traces/et/chakra_1.0.2.tgz")
	require.Len(t, got.Ranks[0].Calls, 10)
}

func elementsOf(r *trace.Rank) (list []int64) {
	for i := range r.Calls {
		list = append(list, r.Calls[i].In)
	}
	return list
}

// tensorsOf finds the elements of the input tensors of every collective in an execution trace, by
// text: a tensor is six values, the last a device.
func tensorsOf(t *testing.T, text []byte) (list []int64) {
	t.Helper()
	var all struct {
		Nodes []struct {
			Name   string          `json:"name"`
			Inputs json.RawMessage `json:"inputs"`
		} `json:"nodes"`
	}
	require.NoError(t, json.Unmarshal(text, &all))
	tensor := regexp.MustCompile(`\[\d+, ?\d+, ?\d+, ?(\d+), ?\d+, ?"[a-z]+:?\d*"\]`)
	for _, n := range all.Nodes {
		if n.Name != "record_param_comms" || strings.Contains(string(n.Inputs), `"wait"`) {
			continue
		}
		sum := int64(0)
		for _, m := range tensor.FindAllStringSubmatch(string(n.Inputs), -1) {
			v, err := strconv.ParseInt(m[1], 10, 64)
			require.NoError(t, err)
			sum += v
		}
		list = append(list, sum)
	}
	return list
}

func TestDataChakra(t *testing.T) {
	got := published(t, "traces/et/chakra_feeder_trace.tar.gz")
	var bytes []int64
	for _, c := range got.Ranks[0].Calls {
		bytes = append(bytes, c.Bytes)
	}
	// The same job as resnet50_1gpu: one step.
	require.Equal(t, []int64{212480, 424, 8196000, 31502336, 26255360, 26550272, 9724160}, bytes)
	for i := range 2 {
		got = published(t, "traces/et/astra_reduce_scatter_8npus."+strconv.Itoa(i)+".et")
		require.Equal(t, i, got.Ranks[0].Rank)
		require.Equal(t, "reduce_scatter", got.Ranks[0].Calls[0].Collective)
		require.Equal(t, int64(1<<20), got.Ranks[0].Calls[0].Bytes)
	}
	got = published(t, "traces/et/chakra_json_trace.tar.gz")
	require.Len(t, got.Ranks[0].Calls, 7)
	require.Equal(t, int64(trace.Unknown), got.Ranks[0].Calls[0].Bytes, "the JSON has no sizes")
}

// One node's log of 2 × 8 ranks, damaged.
func TestDataCollLog(t *testing.T) {
	got := published(t, "traces/coll/mi355x_2n16g_rccl2.26.6_nccl_debug.log.gz")
	of := map[int]*trace.Rank{}
	for _, r := range got.Ranks {
		of[r.Rank] = r
	}
	require.Len(t, got.Ranks, 7)
	require.Equal(t, []int{3, 8, 9, 10, 11, 12, 13, 14, 15}, got.Missing())
	require.Len(t, of[1].Calls, 1418)
	require.Len(t, of[0].Calls, 344)
	require.Equal(t, int64(1074), of[0].Calls[0].Sequence)
	for _, rank := range []int{2, 4, 5, 6, 7} {
		require.LessOrEqual(t, len(of[rank].Calls), 8)
	}
	notes := strings.Join(got.Notes, "\n")
	require.Contains(t, notes, "rank 1: all 1,418 calls")
	require.Contains(t, notes, "rank 0: 344 calls, from opCount 1074")
	// Rank 1's sizes, by another reading of its lines.
	line := regexp.MustCompile(`(?m)^\S+ \[1\] NCCL INFO AllReduce: opCount ([0-9a-f]+) .* count (\d+) datatype 7 .* globalrank 1$`)
	all := line.FindAllStringSubmatch(string(whole(t, "traces/coll/mi355x_2n16g_rccl2.26.6_nccl_debug.log.gz")), -1)
	require.Len(t, all, 1418)
	for i, m := range all {
		n, err := strconv.ParseInt(m[2], 10, 64)
		require.NoError(t, err)
		require.Equal(t, 4*n, of[1].Calls[i].Bytes)
	}
}

// The fixtures' bandwidths are wrong by 38 times; none is read.
func TestDataInspector(t *testing.T) {
	got := published(t, "traces/inspector/cvs_inspector_v4_sample.jsonl")
	require.Equal(t, 6, got.Calls())
	require.Equal(t, int64(4194304), got.Ranks[0].Calls[1].Bytes, "8 ranks of 524,288 B")
	got = published(t, "traces/inspector/cvs_inspector_v5_sample.jsonl")
	require.Equal(t, 4, got.Calls())
}

// Every other file is refused with what it is.
func TestDataFilesWithoutCalls(t *testing.T) {
	for name, title := range map[string]string{
		"traces/inspector/rcclras_2.28.9_degraded.json": "RAS", "traces/coll/mi355x_topo.xml": "topology", "traces/coll/mi355x_graph.xml": "rings and trees",
		"tuner/gfx950_tuned_1to9nodes.conf": "tuner", "tuner/nccl_tuner_example.conf": "tuner", "tuner/mi355x_pollara_allreduce_grid.csv": "tuner", "tuner/nccl_sample_performance_data.csv": "tuner",
		"scaling/2n_all_reduce__REF_rep1.csv": "CSV", "scaling/alps_gh200_00256-N-0064.csv": "CSV", "scaling/mi355x_pollara_1to3nodes_default.csv": "CSV",
		"logs/synthetic_rccl-tests_mpi.json": "JSON", "logs/synthetic_nccl-tests-2.19.6_v3.json": "JSON", "traces/coll/mi355x_2n16g_rccl-tests.log": "a log of nccl-tests",
	} {
		_, err := Read(name, open(t, name))
		require.ErrorIs(t, err, ErrHolds, name)
		require.ErrorContains(t, err, title, name)
	}
}
