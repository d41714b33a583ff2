package formats

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/trace"
)

// decoded is a message by the numbers of et_def.proto's fields, read without the package's code: a
// varint is a number, what has a length is bytes.
type decoded map[uint64][]any

func decode(t *testing.T, b []byte) decoded {
	t.Helper()
	m := decoded{}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[n:]
		v, n := binary.Uvarint(b)
		b = b[n:]
		switch tag & 7 {
		case 0:
			m[tag>>3] = append(m[tag>>3], v)
		case 2:
			require.LessOrEqual(t, v, uint64(len(b)))
			m[tag>>3], b = append(m[tag>>3], b[:v:v]), b[v:]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	return m
}

// chakraNodes are the nodes of a file behind its metadata, and the attributes of each: a number, or a text.
func chakraNodes(t *testing.T, b []byte) (nodes []decoded, attributes []map[string]any) {
	t.Helper()
	for first := true; len(b) > 0; first = false {
		size, n := binary.Uvarint(b)
		b = b[n:]
		m := decode(t, b[:size])
		b = b[size:]
		if first {
			require.Equal(t, []any{[]byte("0.0.4")}, m[1])
			continue
		}
		all := map[string]any{}
		for _, a := range m[10] {
			one := decode(t, a.([]byte))
			name := string(one[1][0].([]byte))
			for field, of := range map[uint64]string{9: "int64", 27: "bool", 29: "text"} {
				if v := one[field]; v != nil {
					all[name+" "+of] = v[0]
				}
			}
		}
		nodes, attributes = append(nodes, m), append(attributes, all)
	}
	return nodes, attributes
}

func wroteChakra(t *testing.T, tr *trace.Trace, nodes []trace.Node) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := WriteChakra(&b, tr, nodes)
	require.NoError(t, err)
	return b.Bytes()
}

// soundGraph requires ids that are unique, and dependencies on earlier nodes alone: then there is no cycle.
func soundGraph(t *testing.T, text []byte) {
	t.Helper()
	met := map[any]bool{}
	nodes, _ := chakraNodes(t, text)
	for _, n := range nodes {
		require.Len(t, n[1], 1)
		require.False(t, met[n[1][0]], "id %v", n[1][0])
		for _, packed := range n[5] {
			for b := packed.([]byte); len(b) > 0; {
				id, used := binary.Uvarint(b)
				require.True(t, met[id], "node %v waits for %d", n[1][0], id)
				b = b[used:]
			}
		}
		met[n[1][0]] = true
	}
}

// One collective has the attributes of ASTRA-sim's own example, in its types.
func TestDataAsChakraHasAstrasAttributes(t *testing.T) {
	tr := &trace.Trace{World: 8, Groups: []trace.Group{{Name: "dp", Size: 8}}}
	call := trace.Call{Collective: "reduce_scatter", Bytes: 1 << 20}
	nodes, attributes := chakraNodes(t, wroteChakra(t, tr, []trace.Node{{Call: &call}}))
	require.Len(t, nodes, 2)
	require.Equal(t, []any{uint64(1)}, nodes[0][3], "METADATA_NODE")
	require.Equal(t, "## process_group:init ##", string(nodes[0][2][0].([]byte)))
	// ASTRA-sim cuts two characters from both ends and reads the rest as JSON.
	values := string(decode(t, nodes[0][8][0].([]byte))[1][0].([]byte))
	require.Equal(t, []string{"['", "']"}, []string{values[:2], values[len(values)-2:]})
	var groups []map[string]any
	require.NoError(t, json.Unmarshal([]byte(values[2:len(values)-2]), &groups))
	require.Equal(t, []map[string]any{{"pg_name": "1", "pg_desc": "dp", "group_size": 8.0, "ranks": []any{}}}, groups)
	require.Equal(t, []any{uint64(7)}, nodes[1][3], "COMM_COLL_NODE")
	require.Equal(t, map[string]any{"is_cpu_op bool": uint64(0), "comm_type int64": uint64(7), "comm_size int64": uint64(1 << 20), "pg_name text": []byte("1")}, attributes[1])

	theirs, has := chakraNodes(t, whole(t, "traces/et/astra_reduce_scatter_8npus.0.et"))
	require.Equal(t, theirs[0][3], nodes[1][3])
	delete(attributes[1], "pg_name text")
	require.Equal(t, has[0], attributes[1])
}

// Sizes are those of a rank's send buffer: of an all_gather its part.
func TestChakraCountsWhatARankSends(t *testing.T) {
	tr := &trace.Trace{World: 8, Groups: []trace.Group{{Name: "tp", Size: 4, Ranks: []int{0, 1, 2, 3}}, {Name: "?"}}}
	calls := []trace.Call{
		{Collective: "all_gather", Bytes: 4 << 20, Dtype: "bfloat16"},
		{Collective: "barrier", Bytes: 4},
		{Collective: "all_gather", Bytes: trace.Unknown, Group: 1},
		{Collective: "send_recv", Bytes: 9, Group: 1},
		{Collective: "all_reduce_per_tensor_hash"},
		{Collective: "all_reduce", Bytes: 8},
	}
	var nodes []trace.Node
	for i := range calls {
		n := trace.Node{Call: &calls[i]}
		if i > 0 {
			n.After = []int{i - 1}
		}
		nodes = append(nodes, n)
	}
	var b bytes.Buffer
	left, err := WriteChakra(&b, tr, nodes)
	require.NoError(t, err)
	require.Equal(t, 1, left, "Chakra has no such collective")
	soundGraph(t, b.Bytes())
	got, attributes := chakraNodes(t, b.Bytes())
	require.Equal(t, uint64(1<<20), attributes[2]["comm_size int64"])
	require.Equal(t, uint64(9), attributes[3]["comm_type int64"], "BARRIER")
	require.NotContains(t, attributes[4], "comm_size int64")
	require.Equal(t, []any{[]byte{5}}, got[len(got)-1][5], "the last call waits for what the one left out waited for")
	require.NotContains(t, string(decode(t, got[1][8][0].([]byte))[1][0].([]byte)), "ranks", "a group of unknown ranks has no list")

	back := read(t, "x.3.et", b.String())
	require.Equal(t, 3, back.Ranks[0].Rank)
	require.Equal(t, []int{0, 1, 2, 3}, back.Groups[0].Ranks)
	require.Equal(t, "tp", back.Groups[0].Description)
	require.Len(t, back.Ranks[0].Calls, 5)
	for i, want := range []int{0, 1, 2, 3, 5} {
		c := back.Ranks[0].Calls[i]
		require.Equal(t, []any{calls[want].Collective, calls[want].Bytes, calls[want].Dtype}, []any{c.Collective, c.Bytes, c.Dtype})
	}
}

// Files of all ranks that tell no group are those of a group of all.
func TestChakraWithoutGroupsIsOfAllRanks(t *testing.T) {
	all := &trace.Trace{}
	for _, name := range []string{"x.0.et", "x.1.et"} {
		all.Add(read(t, name, string(bytes.Join([][]byte{message(textField(1, []byte("0.0.4"))), message(field(3, 7), attribute("comm_type", field(9, 2)), attribute("comm_size", field(9, 1<<20)))}, nil))))
	}
	d := trace.Answer(all, nil)
	require.Equal(t, int64(2<<20), *d.Sent[0].Bytes)
	require.Equal(t, 2, d.World)
}

// Made-up ranks: what is written is a graph without cycles, with every call, and reads back as it was.
func TestChakraReadsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	names := []string{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv", "barrier"}
	for range 300 {
		tr := &trace.Trace{World: 8, Groups: []trace.Group{{Name: "all", Size: 8}, {Name: "a", Size: 2, Ranks: []int{0, 1}}, {Name: "b", Size: 4}}}
		r := &trace.Rank{Rank: 0, Whole: true}
		clock := 0.0
		for range 1 + rng.IntN(40) {
			g := rng.IntN(3)
			clock += rng.Float64() * 1e-3
			c := trace.Call{Group: g, Collective: names[rng.IntN(len(names))], Dtype: "half", Bytes: 16 * rng.Int64N(1<<20), Stream: string('a' + rune(g)), Kernel: &trace.Span{Start: clock, End: clock + rng.Float64()*2e-3}}
			r.Calls = append(r.Calls, c)
		}
		busy := 0.0
		for at := 0.0; at < clock; {
			at += rng.Float64() * 1e-4
			s := trace.Span{Start: at, End: at + rng.Float64()*1e-3}
			r.Computing, at = append(r.Computing, s), s.End
			busy += s.Seconds()
		}
		nodes := r.Graph()
		text := wroteChakra(t, tr, nodes)
		soundGraph(t, text)
		back := read(t, "x.0.et", string(text))
		require.Len(t, back.Ranks[0].Calls, len(r.Calls))
		for i, c := range back.Ranks[0].Calls {
			want := r.Calls[i]
			require.Equal(t, []any{want.Collective, want.Bytes, want.Dtype, tr.Groups[want.Group].Size}, []any{c.Collective, c.Bytes, c.Dtype, back.Groups[c.Group].Size})
			require.InDelta(t, want.Kernel.Seconds(), c.Took, 1e-6)
		}
		computed := 0.0
		for _, n := range nodes {
			if n.Call == nil {
				computed += n.Seconds
			}
		}
		require.InDelta(t, busy, computed, 1e-9, "all of the computation is there")
	}
}

// The real files, exported and read back.
func TestDataFilesAsChakra(t *testing.T) {
	for _, name := range []string{
		"kineto/a100_2rank_nccl_meta.json.gz", "kineto/mi300x_8gpu_ddp_resnet_rank0.json.gz", "kineto/v100_2020_nccl_kernels.json.gz", "kineto/b200_8gpu_eager.json.gz",
		"et/resnet50_ddp_2gpu_et_1.1.0.json.gz", "et/dlrm_8rank_et.tar.gz", "et/chakra_1.0.2.tgz", "et/chakra_feeder_trace.tar.gz", "et/chakra_json_trace.tar.gz",
		"inspector/cvs_inspector_v4_sample.jsonl", "coll/mi355x_2n16g_rccl2.26.6_nccl_debug.log.gz", "et/astra_reduce_scatter_8npus.0.et",
	} {
		tr := published(t, "traces/"+name)
		for _, r := range tr.Ranks {
			nodes := r.Graph()
			text := wroteChakra(t, tr, nodes)
			soundGraph(t, text)
			if len(r.Calls) == 0 {
				continue
			}
			back := read(t, "x.0.et", string(text))
			kinds := func(of *trace.Trace, calls []trace.Call) (list []string) {
				for _, c := range calls {
					list = append(list, strings.Join([]string{c.Collective, c.Dtype, trace.Number(int(c.Bytes)), trace.Number(of.Groups[c.Group].Size)}, " "))
				}
				return list
			}
			var want []trace.Call
			for _, n := range nodes {
				if n.Call != nil {
					want = append(want, *n.Call)
				}
			}
			require.Equal(t, kinds(tr, want), kinds(back, back.Ranks[0].Calls), name)
		}
	}
}

// Computation waits for a collective that ended while nothing ran, and for no other.
func TestGraphWaits(t *testing.T) {
	r := &trace.Rank{
		Whole: true,
		Calls: []trace.Call{{Stream: "1", Kernel: &trace.Span{Start: 1, End: 2}}, {Stream: "1", Kernel: &trace.Span{Start: 4, End: 7}}, {Stream: "2", Kernel: &trace.Span{Start: 5, End: 6}}},
		// The first call ends beside computation. The gap from 4.5 to 8 has the ends of the others.
		Computing: []trace.Span{{Start: 0, End: 3}, {Start: 3.5, End: 4.5}, {Start: 8, End: 9}, {Start: 9.5, End: 10}},
	}
	var after [][]int
	var seconds []float64
	for _, n := range r.Graph() {
		after, seconds = append(after, n.After), append(seconds, n.Seconds)
	}
	// Computation 0–1, call 1, computation 1–4 less its gap, calls 2 and 3, computation 8–10.
	require.Equal(t, []float64{1, 1, 2.5, 3, 0.5, 1, 1.5}, seconds)
	require.Equal(t, [][]int{nil, {0}, {0}, {2, 1}, {2}, {4}, {4, 5, 3}}, after)
}
