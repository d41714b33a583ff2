package rails

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// Columns are found by their names, in any order; what does not name its ends and its bandwidth
// is refused, and the error says what is needed.
func TestColumnsOfPairs(t *testing.T) {
	for _, text := range []string{
		"src,dst,GB/s\na,b,46\n",
		"a,b,bandwidth\na,b,46\n",
		"machine1,machine2,throughput\na,b,46\n",
		"one,two,three\na,b,46\n",
		"GB/s,src_node,dst_node\n46,a,b\n",
		"test,size,node_a,node_b,algbw_GBs,date\nx,8,a,b,46,today\n",
		"hostA;hostB;latency_us;busbw (GB/s)\na;b;3;46\n",
		"Source Host\tDestination Host\tsize\tGb/s\na\tb\t8\t368\n",
		"a b 46 GB/s\n",
		"a,b,368,Gb/s\n",
		"rank_i,rank_j,iterations,bw\na,b,20,46\n",
	} {
		m, notes := read(t, text)
		require.Equal(t, []string{"a", "b"}, m.Names, "%q", text)
		require.InDelta(t, 46e9, m.Values[0].Rate, 1, "%q", text)
		require.Empty(t, notes, "%q", text)
	}
	_, notes := read(t, "src,dst,rack,GB/s\na,b,7,46\n")
	require.Equal(t, []string{"columns that were not read: rack"}, notes)
	for _, text := range []string{
		"file,test,N,G,nodes,minBytes,maxBytes,avg_bus_bw_GBs,peak_busbw_GBs\nx_a_b.log,alltoall_perf,2,1,\"a,b\",1,2,13.4,13.6\n",
		"x_a_b.log,alltoall_perf,2,1,\"a,b\",1,2,13.4,13.6\n", // the same without its header
		"file,nodes,GB/s\nx,a,46\n",
		"src,dst,size,value\na,b,8,46\n",
		"src_node,src_gpu,dst_node,dst_gpu,GB/s\na,0,b,0,46\n",
		"pair,result,GB/s,remark\na-b,ok,46,\n",
		"a,b,46,1048576\n",
	} {
		_, _, err := ReadMatrix(strings.NewReader(text))
		require.ErrorIs(t, err, ErrFormat, "%q", text)
		require.ErrorContains(t, err, "two columns of ends", "%q", text)
	}
}

// Names that no host has are refused where files are read.
func TestNamesThatAreTooLongAreRefused(t *testing.T) {
	long := strings.Repeat("n", 20_000)
	const want = "a name has 20000 characters, at most 255"
	for _, text := range []string{long + ",b,46\n", "a," + long + ",46\n", ",a,b," + long + "\na,,1,1\nb,1,,1\n" + long + ",1,1,\n"} {
		_, _, err := ReadMatrix(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
	_, _, err := FromLogs([]Log{log("1.log", []string{"a", long}, 46e9, false)})
	require.ErrorContains(t, err, want)
	for _, text := range []string{"0,all_reduce,8,0,1," + long + "\n", "0," + long + ",8,0,1\n"} {
		_, err := ReadTimes(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
	_, err = ReadLeaves(strings.NewReader("a,0,"+long+"\n"), []string{"a"}, 1)
	require.ErrorContains(t, err, want)
	_, err = ReadProfile(strings.NewReader("network,45 GB/s,"+long+"\n"), 8)
	require.ErrorContains(t, err, "the source has 20000 characters")
}

// The lists for srun hold names that it takes literally, and the others as comments without
// control characters.
func TestListsThatSrunReads(t *testing.T) {
	require.Empty(t, Lines(nil))
	require.Equal(t, "gpu-7.cluster\n0\n# no name for srun: \"n[0-7]\"\n# no name for srun: \"a b,c\"\n# no name for srun: \"\\x1b[31mn\\u202e\\n\"\n# no name for srun: \"n*4\"\n# no name for srun: \"-n\"\n",
		Lines([]string{"gpu-7.cluster", "0", "n[0-7]", "a b,c", "\x1b[31mn\u202e\n", "n*4", "-n"}))
	d := &Document{}
	d.sort([]string{"a", "n[0-7]"}, &Verdict{State: finding.Healthy})
	require.Len(t, d.Notes, 1)
	require.Contains(t, d.Notes[0], "the first is n[0-7]")
}
