package formats

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/files/trace"
	"zbench/test/project"
)

// dumps reads files as the dumps of one job's ranks.
func dumps(t *testing.T, files ...string) *trace.Document {
	t.Helper()
	all := &trace.Trace{}
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		one, err := Read(filepath.Base(file), f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		all.Add(one)
	}
	return trace.Answer(all, nil)
}

func found(d *trace.Document, code string) (list []string) {
	for _, f := range d.Findings {
		if f.Code == code && f.Severity != finding.Note {
			list = append(list, f.Text)
		}
	}
	return list
}

// Jobs of PyTorch 2.14 over gloo, four ranks, dumped when they hung: the rank is named that skipped a call, called
// another, stopped, or was killed.
func TestFlightRecorder(t *testing.T) {
	of := func(job string) *trace.Document {
		files, err := filepath.Glob(filepath.Join(project.File(t, "testdata/flight"), job, "*rank*"))
		require.NoError(t, err)
		return dumps(t, files...)
	}
	healthy := of("healthy")
	require.Equal(t, &trace.Matched{Ranks: 4, Calls: 25, Alike: 25, OnAll: 25, Differ: []trace.Difference{}, Pending: []trace.Pending{}}, exported(healthy.Matched))
	skip := of("skip").Matched.Differ
	require.Len(t, skip, 1)
	require.EqualExportedValues(t, trace.Difference{
		Group: "group 0 (default_pg), 4 ranks", Number: 10, Ranks: []int{1}, Call: "all_gather of 2,097,152 B, double", Others: []int{0, 2, 3}, OthersCall: "all_reduce of 1,048,576 B, float",
	}, skip[0])
	require.Equal(t, skip, of("json").Matched.Differ, "the same as JSON")
	other := of("other").Matched.Differ
	require.Equal(t, []int{3}, other[0].Ranks)
	require.Equal(t, int64(11), other[0].Number)
	require.Contains(t, other[0].Call, "broadcast")
	stop := of("stop").Matched.Differ
	require.Equal(t, []int{2}, stop[0].Ranks)
	require.Empty(t, stop[0].Call)
	kill := of("kill")
	require.Equal(t, []int{2}, kill.Missing)
	require.Empty(t, kill.Matched.Differ)
	require.Contains(t, found(kill, trace.CodePending)[0], "Call 10 of group 0 (default_pg), 4 ranks")
}

// exported is a result with only what its JSON has.
func exported(m *trace.Matched) *trace.Matched {
	text, _ := json.Marshal(m)
	out := &trace.Matched{}
	_ = json.Unmarshal(text, out)
	return out
}

// ncclDump is a rank's dump in NCCL's form, with the calls from one number to another.
func ncclDump(t *testing.T, rank int, from, to int64, last string) string {
	t.Helper()
	var entries []string
	for n := from; n <= to; n++ {
		state := "completed"
		if n == to {
			state = last
		}
		entries = append(entries, fmt.Sprintf(`{"frames":[{"name":"f","filename":"a.py","line":3}],"record_id":%d,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":%d,"p2p_seq_id":0,"op_id":%d,"profiling_name":"nccl:all_reduce","time_created_ns":1,"duration_ms":0.5,"input_sizes":[[1024]],"input_dtypes":["Float"],"output_sizes":[[1024]],"output_dtypes":["Float"],"state":"%s","retired":%t,"timeout_ms":600000,"is_p2p":false}`, n-1, n, n, state, state == "completed"))
	}
	file := filepath.Join(t.TempDir(), fmt.Sprintf("rank_%d.json", rank))
	require.NoError(t, os.WriteFile(file, []byte(`{"version":"2.10","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2]"}},"entries":[`+strings.Join(entries, ",")+`]}`), 0o600))
	return file
}

// What a full ring has lost is not compared, and is no first difference.
func TestFullRings(t *testing.T) {
	full := dumps(t, ncclDump(t, 0, 101, 200, "completed"), ncclDump(t, 1, 91, 200, "completed"), ncclDump(t, 2, 101, 200, "completed"))
	require.Empty(t, full.Matched.Differ)
	require.Empty(t, found(full, trace.CodeMismatch))
	gone := dumps(t, ncclDump(t, 0, 101, 200, "started"), ncclDump(t, 1, 1, 50, "completed"), ncclDump(t, 2, 101, 200, "started"))
	require.Empty(t, gone.Matched.Differ)
	text := found(gone, trace.CodeNotCompared)
	require.Len(t, text, 1)
	require.Contains(t, text[0], "Rank 1's last call")
	require.Contains(t, text[0], "at call 101")
	// One call behind is a difference: the others' rings have the call that is missing.
	stopped := dumps(t, ncclDump(t, 0, 41, 51, "started"), ncclDump(t, 1, 31, 50, "completed"), ncclDump(t, 2, 41, 51, "started"))
	require.Equal(t, []int{1}, stopped.Matched.Differ[0].Ranks)
}

// A call that runs on some ranks and waits on another names that one.
func TestScheduledCall(t *testing.T) {
	d := dumps(t, ncclDump(t, 0, 1, 7, "started"), ncclDump(t, 1, 1, 7, "scheduled"), ncclDump(t, 2, 1, 7, "started"))
	require.Equal(t, []trace.Pending{{Group: "group 0 (default_pg), 3 ranks", Number: 7, Call: "all_reduce", Scheduled: []int{1}, Started: []int{0, 2}, Completed: []int{}}}, d.Matched.Pending)
	require.Len(t, found(d, trace.CodePending), 1)
	require.Empty(t, found(d, trace.CodeMismatch))
}

// The published case: three calls, of which the last has started.
func TestDataFlightRecorder(t *testing.T) {
	d := dumps(t, filepath.Join(project.Published(t, "cases/files"), "flight_recorder.json"))
	require.Len(t, d.Sent, 3)
	require.Equal(t, int64(4<<20), *d.Sent[0].Bytes)
	require.Equal(t, "bfloat16", d.Sent[1].Dtype)
	require.Equal(t, int64(2<<20), *d.Sent[1].Bytes)
	require.Equal(t, int64(3), d.Matched.Pending[0].Number)
}

// crafted are pickles that would run code, take memory or never end.
var crafted = map[string]string{
	"os.system":     "\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R.",
	"stack global":  "\x80\x04\x8c\x02os\x8c\x06system\x93.",
	"build":         "\x80\x02}}b.",
	"instance":      "(iposix\nsystem\n.",
	"persistent":    "\x80\x02X\x01\x00\x00\x00aQ.",
	"newobj":        "\x80\x02))\x81.",
	"extension":     "\x80\x02\x82\x01.",
	"huge string":   "\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa.",
	"huge number":   "\x80\x02\x8a\xff" + strings.Repeat("a", 255) + ".",
	"a list itself": "\x80\x02]q\x00h\x00a.",
	"no end":        "\x80\x02",
	"nothing":       "\x80\x02.",
	"below a mark":  "\x80\x02](h\x00a.",
	"odd dict":      "\x80\x02}(Nu.",
	"many":          "\x80\x02" + strings.Repeat("N", 3<<20),
	"many boxes":    "\x80\x02(" + strings.Repeat("]", 3<<20),
	"many marks":    "\x80\x02" + strings.Repeat("(", 3<<20),
	"memo":          "\x80\x04" + strings.Repeat("N\x94", 3<<20),
	"laughs":        laughs(),
}

// laughs is a dump whose entries are lists of lists of the same: a billion when written out.
func laughs() string {
	text := "\x80\x04}X\x07\x00\x00\x00entries]\x94(" // memo 0
	text += "]\x94(" + strings.Repeat("K\x01", 10) + "e"
	for i := range 20 {
		text += "]\x94(" + strings.Repeat("h"+string(rune(i+1)), 10) + "e"
	}
	return text + "es."
}

func TestCraftedPickles(t *testing.T) {
	for name, text := range crafted {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all := &trace.Trace{}
		err := readRecorder(&Input{"rank_0", strings.NewReader(text)}, all)
		runtime.ReadMemStats(&after)
		if name == "laughs" {
			require.NoError(t, err)
			require.Equal(t, 21, all.Ranks[0].Damaged)
		} else {
			require.ErrorIs(t, err, ErrDamaged, name)
		}
		require.Less(t, after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc), uint64(200<<20), name)
	}
	for opcode, text := range map[string]string{"GLOBAL": crafted["os.system"], "STACK_GLOBAL": crafted["stack global"], "BUILD": crafted["build"], "NEWOBJ": crafted["newobj"]} {
		_, err := unpickle(text, "")
		require.ErrorContains(t, err, opcode)
	}
}

// A dump with changed bytes is read or refused, and ends.
func TestMutatedPickles(t *testing.T) {
	whole := project.Read(t, "testdata/flight/skip/nccl_trace_rank_1")
	r := rand.New(rand.NewPCG(57, 2))
	read := 0
	for range 1000 {
		text := []byte(whole)
		for range 1 + r.IntN(4) {
			text[r.IntN(len(text))] = byte(r.IntN(256))
		}
		err := readRecorder(&Input{"rank_1", strings.NewReader(string(text[:len(text)-r.IntN(2)*r.IntN(len(text))]))}, &trace.Trace{})
		if err == nil {
			read++
		} else {
			require.ErrorIs(t, err, ErrDamaged)
		}
	}
	require.Greater(t, read, 100)
}
