package rails

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/run/record"
	"zbench/test/rendertest"
)

func read(t *testing.T, text string) (*Matrix, []string) {
	t.Helper()
	m, notes, err := ReadMatrix(strings.NewReader(text))
	require.NoError(t, err)
	return m, notes
}

func TestFormsOfAMatrix(t *testing.T) {
	for name, one := range map[string]struct {
		text  string
		names []string
		rate  float64 // of the first value, in bytes per second
		n     int
		notes int
	}{
		"long":              {"a,b,46.5\nb,c,45\na,c,\n", []string{"a", "b", "c"}, 46.5e9, 2, 1},
		"header":            {"\ufeff# a comment\nnode,node,GB/s\r\na,b,46\r\n", []string{"a", "b"}, 46e9, 1, 0},
		"gigabits":          {"src;dst;bw (Gbps)\na;b;400\n", []string{"a", "b"}, 50e9, 1, 0},
		"megabytes":         {"size\tnode_a\tnode_b\tMB/s\n8\ta\tb\t46000\n", []string{"a", "b"}, 46e9, 1, 0},
		"spaces":            {"a b 46\na c 0\n", []string{"a", "b", "c"}, 46e9, 1, 1},
		"square":            {"x,n1,n2,n3\nn1,,1,2\nn2,3,,4\nn3,5,6,-\n", []string{"n1", "n2", "n3"}, 1e9, 6, 0},
		"square of words":   {"src,dst0,dst1,dst2,sum\n0,,1,2,3\n1,3,,4,7\n2,5,6,,11\n", []string{"0", "1", "2"}, 1e9, 6, 1},
		"square, no corner": {"GPU0 GPU1 GPU2\nGPU0 x 1 2\nGPU1 3 x 4\nGPU2 5 6 x\n", []string{"GPU0", "GPU1", "GPU2"}, 1e9, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, notes := read(t, one.text)
			require.Equal(t, one.names, m.Names)
			require.Len(t, m.Values, one.n)
			require.InDelta(t, one.rate, m.Values[0].Rate, 1)
			require.Len(t, notes, one.notes, "%q", notes)
		})
	}
}

func TestNamesOfEnds(t *testing.T) {
	m, _ := read(t, "n1:0,n1:gpu1,46\nn1:0,n2/3,40\n")
	require.Equal(t, []string{"n1", "n2"}, m.Nodes)
	require.Equal(t, []Place{{Node: 0, GPU: 0}, {Node: 0, GPU: 1}, {Node: 1, GPU: 3}}, m.At)
	m, _ = read(t, "gpu0,gpu1,46\n")
	require.Equal(t, []Place{{Node: 0, GPU: 0}, {Node: 0, GPU: 1}}, m.At)
	m, _ = read(t, "7,8,46\n")
	require.Equal(t, []Place{{Node: 0, GPU: -1}, {Node: 1, GPU: -1}}, m.At)
}

func TestMatricesThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "there are no lines with values",
		"# nothing\n":                "there are no lines with values",
		"a,b\n":                      "no pair has a value",
		"a,b,1\na\n":                 "line 2 has 1 cell; a line is name, name, GB/s",
		"node,node,GB/s\na,b,fast\n": `line 2: "fast" is not a number`,
		"a,b,1\n\n#x\na,c,-4\n":      "line 4: a bandwidth is at least 0, not -4",
		"a,b,1\n,c,4\n":              "line 2: a name is empty",
		"a,b,1e400\n":                "no pair has a value",
		"a,b,\n":                     "no pair has a value",
		"a,b,1\na,\x00,4\n":          "line 2 is not text in UTF-8",
		"x,a,b,c\na,,1,1\nb,1,,1\nc,1,1,\nd,1,1,1\n": `line 5: row "d" has no column of its name`,
		"x,a,b,c\na,,1,1\nb,1,,1\nc,1,1,\nb,1,,1\n":  `line 5: row "b" is in line 3, too`,
	} {
		_, _, err := ReadMatrix(strings.NewReader(text))
		require.ErrorIs(t, err, ErrFormat, "%q", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestFormsOfTimes(t *testing.T) {
	for _, text := range []string{
		"3,all_reduce,1M,0.5,0.001,n0\n",
		"host,dur_us,ts [ms],size,rank,op\nn0,1000,500,1M,3,all_reduce\n",
	} {
		got, err := ReadTimes(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, []string{"n0"}, got.Hosts)
		require.Equal(t, map[int]int{3: 0}, got.Node)
		require.Len(t, got.Calls, 1)
		c := got.Calls[0]
		require.InDelta(t, 0.001, c.Duration, 1e-12)
		require.InDelta(t, 0.5, c.Start, 1e-12)
		c.Start, c.Duration = 0, 0
		require.Equal(t, Call{Rank: 3, Collective: "all_reduce", Bytes: 1 << 20}, c)
	}
	for text, want := range map[string]string{
		"rank,collective\n":                              "line 1: 2 cells; a line is rank, collective, bytes, start, duration",
		"rank,collective,bytes,start,speed\n":            "line 1: the header has no column duration",
		"0,all_reduce,8,0,1\n-1,all_reduce,8,0,1\n":      `line 2: rank "-1" is not a whole number from 0`,
		"0,all_reduce,8,0,1\n1,,8,0,1\n":                 "line 2: the collective is empty",
		"0,all_reduce,eight,0,1\n":                       "line 1: bytes: ",
		"0,all_reduce,8,0,\n":                            `line 1: duration "" is not a number`,
		"0,all_reduce,8,0,-1\n":                          "line 1: duration is at least 0, not -1",
		"0,all_reduce,8,0,1,n0\n0,all_reduce,8,0,1,n1\n": "line 2: rank 0 is on host n1, and on n0 before",
		"rank,collective,bytes,start,duration\n":         "there are no calls after the header",
	} {
		_, err := ReadTimes(strings.NewReader(text))
		require.ErrorIs(t, err, ErrFormat, "%q", text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestPairsOfNames(t *testing.T) {
	for file, want := range map[string][2]string{
		"gpu-53__gpu-56.log": {"gpu-53", "gpu-56"}, "n1_n2.txt": {"n1", "n2"}, "sendrecv_perf_0_1.log.txt": {"0", "1"},
		"n-1--n-2.out": {"n-1", "n-2"}, "node_a_to_node_b.log": {"node_a", "node_b"}, "n1-n2": {"n1", "n2"}, "a.b__c.d": {"a.b", "c.d"},
	} {
		got, ok := pairOfName(file)
		require.True(t, ok, file)
		require.Equal(t, want, got, file)
	}
	for _, file := range []string{"n1.log", "a_b_c.log", "gpu-53_gpu", "a__a.log", "", "__"} {
		got, ok := pairOfName(file)
		require.False(t, ok && file != "gpu-53_gpu", "%s: %q", file, got)
	}
}

// log is a record with one size more than the others have, where more is true.
func log(file string, hosts []string, rate float64, more bool) Log {
	rec := &record.Record{World: record.World{Hosts: hosts}}
	for _, size := range []int64{1 << 20, 1 << 30} {
		r := rate
		rec.Results = append(rec.Results, record.Result{Collective: "all_reduce", Bytes: size, Case: record.Case{Status: record.OK}, BusBW: &r})
	}
	if more {
		r := 2 * rate
		rec.Results = append(rec.Results, record.Result{Collective: "all_reduce", Bytes: 1 << 34, Case: record.Case{Status: record.OK}, BusBW: &r})
	}
	return Log{file, rec}
}

// The hosts of a log are its pair before its name, and the size is one that most have.
func TestFoldersOfLogs(t *testing.T) {
	m, notes, err := FromLogs([]Log{
		log("1.log", []string{"a", "b"}, 46e9, false), log("b__c.log", nil, 45e9, true), log("a_c.log", []string{"a"}, 44e9, false), log("what.log", nil, 1, false),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, m.Names)
	require.Equal(t, []Value{{From: 0, To: 1, Rate: 46e9}, {From: 1, To: 2, Rate: 45e9}, {From: 0, To: 2, Rate: 44e9}}, m.Values)
	require.Equal(t, []string{
		"what.log: neither its list of devices nor its name has a pair; name it NODE__NODE.log",
		"compared: bus bandwidth of all_reduce at 1073741824 bytes",
	}, notes)
	_, _, err = FromLogs([]Log{log("what.log", nil, 1, false)})
	require.ErrorIs(t, err, ErrFormat)
}

// Four nodes with a value a pair are enough to name one; a square of a healthy node is.
func TestSmallMatrices(t *testing.T) {
	m, _ := read(t, "node,node,GB/s\na,b,350\na,c,280\na,d,351\nb,c,281\nb,d,349\nc,d,279\n")
	v := Judge(m.Data())
	require.True(t, v.Exactly(Component{Part: Node, Node: 2}), "%+v %+v", v.Findings, v.Questions)
	require.InDelta(t, 0.2, v.Findings[0].Lost, 0.01)
	m, _ = read(t, ",0,1,2,3\n0,,47,46.9,47.1\n1,47,,47,46.8\n2,46.9,47.2,,47\n3,47,47,47.1,\n")
	require.Equal(t, finding.Healthy, Judge(m.Data()).State)
}

// Nodes with a finding fail, ends of a slow path and candidates are unclear, the rest pass.
func TestNodesForTheNextJob(t *testing.T) {
	var csv strings.Builder
	for i := range 12 {
		for k := i + 1; k < 12; k++ {
			rate := "46"
			switch {
			case i == 2 || k == 2:
				rate = "30"
			case i == 5 && k == 9:
				rate = "20"
			}
			csv.WriteString("n" + string(rune('a'+i)) + ",n" + string(rune('a'+k)) + "," + rate + "\n")
		}
	}
	m, notes := read(t, csv.String())
	d := OfVerdict(OfMatrix, "pairs.csv", m, Judge(m.Data()), notes)
	require.Equal(t, finding.Faulty, d.State)
	require.Equal(t, []string{"nc"}, d.Fail)
	require.ElementsMatch(t, []string{"nf", "nj"}, d.Unclear)
	require.Len(t, d.Pass, 9)
	require.Equal(t, "nc", strings.TrimPrefix(d.Ranking[0].Name, "node "))
	text := rendertest.Text(t, d.Shown("v1"), 120, false)
	require.True(t, strings.HasPrefix(text, "Bandwidths of pairs: pairs.csv\nFAULT"), text)
	require.Contains(t, text, "path between nf and nj has lost 57 % of its bandwidth (confidence medium)")
	rendertest.Markdown(t, d.Shown("v1"))
	require.NoError(t, d.WriteJSON(&bytes.Buffer{}))
}
