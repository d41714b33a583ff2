package peers

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

func TestRefusals(t *testing.T) {
	cut := func(log, line string) string {
		out := []string{}
		for l := range strings.SplitSeq(log, "\n") {
			if !strings.Contains(l, line) {
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	for _, c := range []struct {
		name, log string
		o         Hints
		is        error
		says      string
	}{
		{"empty", "", Hints{}, ErrNoTable, "column names (size, time, algbw, busbw)"},
		{"prose", "Dear all,\n8 GPUs were fine.\n", Hints{}, ErrNoTable, "looked in 2 lines"},
		{"launcher only", "srun: job 12 queued\n./all_reduce_perf: Test timeout (60s)\n", Hints{}, ErrNoTable, "the log says: line 2"},
		{"csv whose numbers contradict each other", "numCycle,name,size,type,time,algBw,busBw\n0,AllReduce,8,float,1,1,1\n", Hints{}, ErrNoRows, "size/time contradicts algbw"},
		{"long line", strings.Repeat("x", maxLine+1), Hints{}, ErrTooLarge, "line 1 is longer"},
		{"bare rows that nothing confirms", text(t, "bare_tiny_all_reduce.log"), Hints{File: "all_reduce"}, ErrNoRows, "does not confirm the columns"},
		{"bare rows of a log of another order", "1048576 262144 float sum -1 2.53 414.8 4.74 0 2.53 414.8 4.74 0\n", Hints{File: "all_reduce"}, ErrCollective, "on no number of ranks"},
		{"bare rows of another number of columns", "1048576 262144 float sum -1 2.53 414.8 4.74 0\n", Hints{File: "all_reduce"}, ErrNoTable, "1 rows skipped (from line 1): no line of column names precedes the row"},
		{"a list of devices that is cut", text(t, "list_cut.log"), Hints{}, ErrCollective, "is not that of all_reduce (from the log) on 8 ranks; check the list of devices"},
		{"rows that NCCL_DEBUG cut", text(t, "debug_inside.log"), Hints{}, ErrNoRows, "5 rows skipped (from line 25): other output is mixed into the row"},
		{"programs at once", text(t, "singletons.log"), Hints{File: "all_reduce"}, ErrNoRows, "10 rows skipped (from line 18): several programs wrote into this table at once"},
		{"unknown collective", cut(text(t, "copybw.log"), "starting"), Hints{Collective: "all_to_none"}, ErrCollective, "supported are all_reduce"},
		{"only an unsupported collective", strings.ReplaceAll(text(t, "hipevt.log"), "all_gather", "hypercube"), Hints{}, ErrCollective, `"hypercube" is not supported`},
		{"no name, and alltoall looks alike", strings.ReplaceAll(cut(text(t, "blank_cells.log"), "starting"), "     0", "   N/A"), Hints{}, ErrCollective, "pass --collective"},
		{"the option contradicts the numbers", cut(text(t, "copybw.log"), "starting"), Hints{Collective: "all_gather"}, ErrCollective, "but that of all_reduce"},
		{"the file name contradicts the numbers", cut(text(t, "copybw.log"), "starting"), Hints{File: "all_gather.log"}, ErrCollective, "from the file name"},
		{"the given ranks contradict the numbers", text(t, "bare_all_reduce.log"), Hints{File: "all_reduce", Ranks: 8}, ErrCollective, "is not that of all_reduce (from the file name) on 8 ranks; check the list of devices"},
		{"cpu time", strings.ReplaceAll(text(t, "copybw.log"), "    time", " cputime"), Hints{}, ErrNoRows, "launch time"},
		{"columns under wrong names", strings.ReplaceAll(text(t, "copybw.log"), "algbw   busbw", "busbw   algbw"), Hints{}, ErrNoRows, "the columns cannot be trusted"},
		{"header without rows", "# size count type redop root time algbw busbw #wrong\n", Hints{}, ErrNoRows, "no rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(c.log), c.o)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestReaderErrorIsReturned(t *testing.T) {
	boom := errors.New("disk on fire")
	_, err := Parse(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(boom)), Hints{File: "x.log"})
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, "x.log")
}

func TestWhoNamesTheCollective(t *testing.T) {
	log := text(t, "copybw.log")
	bare := strings.Replace(log, "# Collective test starting: all_reduce_perf\n", "", 1)
	for name, c := range map[string]struct {
		log   string
		o     Hints
		codes []string
	}{
		"the log":          {log, Hints{}, []string{}},
		"not the option":   {log, Hints{Collective: "all_gather"}, []string{"option_ignored"}},
		"a command":        {"srun ./build/all_reduce_perf -b 8\n" + bare, Hints{}, []string{}},
		"the last line":    {bare + "# Collective test concluded: all_reduce_perf\n", Hints{}, []string{}},
		"the option":       {bare, Hints{Collective: "AllReduce", File: "all_gather.log"}, []string{}},
		"the file name":    {bare, Hints{File: "job7-all-reduce.mi300x.log"}, []string{}},
		"the numbers":      {bare, Hints{File: "job7.log"}, []string{"collective_inferred"}},
		"not an ls of all": {"built all_gather_perf all_reduce_perf\n" + bare, Hints{}, []string{"collective_inferred"}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := parseText(t, c.log, c.o)
			require.Equal(t, "all_reduce", rec.Results[0].Collective)
			require.Equal(t, c.codes, codes(rec))
		})
	}
}

func TestFileCollective(t *testing.T) {
	for file, want := range map[string]string{
		"all_reduce.log": "all_reduce", "AllGather-2n.txt": "all_gather", "reduce-scatter.log": "reduce_scatter",
		"reduce.log": "reduce", "alltoallv.log": "alltoallv", "all_reduce_and_all_gather.log": "", "job.log": "", "": "",
	} {
		require.Equal(t, want, fileCollective(file), file)
	}
}

func TestOptionsFillTheWorld(t *testing.T) {
	rec := parseText(t, text(t, "bare_all_reduce.log"), Hints{File: "all_reduce", Ranks: 16, Nodes: 2})
	require.Equal(t, "16r 2n 8/node 0/proc ", worldBrief(rec.World))
	require.NotContains(t, codes(rec), "ranks_from_ratio")

	rec = parseText(t, text(t, "copybw.log"), Hints{Ranks: 8, Nodes: 4})
	require.Equal(t, mi300x, worldBrief(rec.World))
	require.Equal(t, []string{"option_ignored", "option_ignored"}, codes(rec))
}

// Without devices, and with a bus factor that several worlds share within the
// printed digits, busbw is the printed one and says so.
func TestUnknownRanks(t *testing.T) {
	log := `# Collective test starting: all_reduce_perf
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
    33554432       8388608     float     sum      -1    24101    1.39    2.78      0    24604    1.36    2.72      0
# Avg bus bandwidth    : 2.75
`
	rec := parseText(t, log, Hints{})
	require.Contains(t, codes(rec), "ranks_unknown")
	require.Equal(t, 0, rec.World.Ranks)
	require.Equal(t, 2.78e9, *rec.Results[0].BusBW)
	require.Equal(t, "printed_busbw", rec.Results[0].Warnings[0].Code)

	rec = parseText(t, log, Hints{Ranks: 512})
	require.NotContains(t, codes(rec), "ranks_unknown")
	require.InEpsilon(t, *rec.Results[0].AlgBW*2*511/512, *rec.Results[0].BusBW, 1e-12)
}

func TestVerification(t *testing.T) {
	rec := parseText(t, text(t, "wrong.log"), Hints{})
	by := map[string]record.Result{}
	for _, r := range rec.Results {
		by[strings.TrimPrefix(r.Key, "all_reduce/float/sum/")] = r
	}
	r := by["1048576/r16/g1/oop"]
	require.Equal(t, record.WrongData, r.Status)
	require.Equal(t, int64(37), *r.Verified.Wrong)
	require.Equal(t, "the log reports 37 wrong elements", r.Reason)
	require.Equal(t, int64(2), *by["1048576/r16/g1/ip"].Verified.Wrong)
	require.Equal(t, int64(1e6), *by["33554432/r16/g1/oop"].Verified.Wrong)
	require.Equal(t, record.Verified{State: record.NotVerified, Reason: "log says N/A"}, by["1073741824/r16/g1/ip"].Verified)
	require.Equal(t, record.OK, by["1073741824/r16/g1/ip"].Status)
	require.Equal(t, int64(0), *by["1024/r16/g1/ip"].Verified.Wrong)

	// The largest error of an old log is a verdict only with its footer.
	old := text(t, "error_column_reduce-scatter.log")
	o := Hints{Collective: "reduce_scatter"}
	require.Equal(t, record.VerifiedOK, parseText(t, old, o).Results[0].Verified.State)
	failed := strings.Replace(old, "values : 0 OK", "values : 4 FAILED", 1)
	require.Equal(t, record.WrongData, parseText(t, failed, o).Results[0].Status)
	marked := strings.Replace(failed, "2e-07", "2e-07*", 1)
	require.Equal(t, record.WrongData, parseText(t, marked, o).Results[0].Status)
}

// The worst of repeats is kept.
func TestVerificationOfRepeats(t *testing.T) {
	log := text(t, "cycles.log")
	before, row, found := strings.Cut(log, "# Testing 3 cycle.")
	require.True(t, found)
	row = strings.Replace(row, "     0    21", "     5    21", 1)
	rec := parseText(t, before+"# Testing 3 cycle."+row, Hints{})
	require.Equal(t, record.WrongData, rec.Results[0].Status)
	require.Equal(t, int64(5), *rec.Results[0].Verified.Wrong)
	require.Equal(t, 3, rec.Results[0].Burst.MeanOfRanks.N)
}

func TestAverageMismatchIsNoticed(t *testing.T) {
	log := text(t, "copybw.log")
	require.Contains(t, log, ": 135.119")
	require.Equal(t, []string{"average_mismatch"}, codes(parseText(t, strings.Replace(log, ": 135.119", ": 137.119", 1), Hints{})))
	require.Empty(t, codes(parseText(t, strings.Replace(log, ": 135.119", ": 135.519", 1), Hints{})))
}

// A log of two runs in the same world repeats; of two sets of hosts it does not.
func TestTwoRunsInOneFile(t *testing.T) {
	log := text(t, "copybw.log")
	rec := parseText(t, log+log, Hints{})
	require.Equal(t, []string{"repeated_table"}, codes(rec))
	require.Equal(t, 10, rec.Source.Imports[0].Rows)
	require.Equal(t, 2, rec.Results[0].Burst.MeanOfRanks.N)
	require.Nil(t, rec.Source.Imports[0].ReportedAverage, "two averages are none")

	other := strings.ReplaceAll(log, "node-b", "node-c")
	rec = parseText(t, log+other, Hints{})
	require.Equal(t, []string{"several_setups"}, codes(rec))
	require.Equal(t, 1, rec.Results[0].Burst.MeanOfRanks.N)
	require.Len(t, rec.Results, 20)
	require.Empty(t, rec.Source.Imports[0].Skipped)
}

// Two processes that write at once, the second starting within the first's
// table, are separate worlds in every order of their lines.
func TestInterleavedProcesses(t *testing.T) {
	one := strings.Split(strings.TrimSpace(text(t, "old_algbw.log")), "\n")
	two := strings.Split(strings.ReplaceAll(strings.Join(one, "\n"), "dgx", "igx"), "\n")
	last := slices.IndexFunc(one, func(l string) bool { return strings.Contains(l, "Avg bus") })
	for at := range one {
		log := strings.Join(one[:at], "\n") + "\n" + strings.Join(two[:15], "\n") + "\n"
		for i := range max(len(one)-at, len(two)-15) {
			if at+i < len(one) {
				log += one[at+i] + "\n"
			}
			if 15+i < len(two) {
				log += two[15+i] + "\n"
			}
		}
		rec, err := Parse(strings.NewReader(log), Hints{Collective: "all_gather"})
		if err != nil {
			require.ErrorIs(t, err, ErrNoRows)
			continue
		}
		if at > last {
			require.Contains(t, codes(rec), "several_setups", "one after the other")
		} else {
			require.Regexp(t, "several programs|no line of column names", fmt.Sprint(rec.Source.Imports[0].Skipped), "second process begins at line %d:\n%s", at, log)
		}
		for _, r := range rec.Results {
			require.Equal(t, 1, r.Burst.MeanOfRanks.N, log)
		}
	}
}

func TestSameHostNameTwice(t *testing.T) {
	log := strings.NewReplacer("node-a", "localhost", "node-b", "localhost").Replace(text(t, "copybw.log"))
	rec := parseText(t, log, Hints{})
	require.Equal(t, []string{"hosts_not_distinct"}, codes(rec))
	require.Equal(t, 0, rec.World.Nodes)
	require.Equal(t, 2, parseText(t, log, Hints{Nodes: 2}).World.Nodes)
}

func TestMerge(t *testing.T) {
	ar := parseText(t, text(t, "copybw.log"), Hints{File: "all_reduce.log"})
	ag := parseText(t, text(t, "hipevt.log"), Hints{File: "all_gather.log"})
	rec, err := Merge(ar, ag)
	require.NoError(t, err)
	require.Len(t, rec.Results, 20)
	require.Len(t, rec.Source.Imports, 2)
	require.Equal(t, ar.World, rec.World)
	require.Equal(t, ag.Source.Libraries, rec.Source.Libraries)
	require.Empty(t, rec.Warnings)

	_, err = Merge(ar, ag, parseText(t, text(t, "copybw.log"), Hints{File: "again.log"}))
	require.ErrorIs(t, err, ErrMerge)
	require.ErrorContains(t, err, "all_reduce.log and again.log both hold")
	require.ErrorContains(t, err, "import them separately")

	_, err = Merge()
	require.ErrorIs(t, err, ErrMerge)
	_, err = Merge(&record.Record{Source: record.Source{Kind: record.Measured}})
	require.ErrorIs(t, err, ErrMerge)

	small := parseText(t, text(t, "tag_output.log"), Hints{File: "small.log"})
	rec, err = Merge(small, ag)
	require.NoError(t, err)
	require.Equal(t, 16, rec.World.Ranks)
	require.Equal(t, []string{"several_worlds"}, codes(rec))
}

// nccl-tests -N repeats its table without a mark; so do two processes whose
// preambles were cut away. The samples are kept and the doubt is said.
func TestUnmarkedRepeats(t *testing.T) {
	lines := strings.Split(text(t, "old_algbw.log"), "\n")
	rows := lines[16:21]
	log := strings.Join(append(append(append([]string{}, lines[:21]...), rows...), lines[21:]...), "\n")
	rec := parseText(t, log, Hints{})
	require.Contains(t, codes(rec), "repeated_rows")
	require.Equal(t, 2, rec.Results[0].Burst.MeanOfRanks.N)
	require.NotContains(t, codes(parseText(t, strings.Replace(log, rows[4]+"\n", rows[4]+"\n# Testing 2 cycle.\n", 1), Hints{})), "repeated_rows")
}

// Rows after a footer belong to no table above them: here they are of 8 ranks.
func TestRowsAfterTheFooter(t *testing.T) {
	log := text(t, "copybw.log")
	loose := "  8589934592    2147483648     float     sum      -1    45224  189.94  332.40      0    45242  189.87  332.27      0\n"
	rec := parseText(t, log+"an older run:\n"+loose, Hints{})
	require.Len(t, rec.Results, 10)
	require.Equal(t, []string{"no line of column names precedes the row [34]"}, skipBrief(rec))
}

// A library's name may be printed with and without its build.
func TestLibraries(t *testing.T) {
	rec := parseText(t, text(t, "hipevt.log"), Hints{})
	require.Equal(t, []record.Library{
		{Name: "rccl", Version: "2.27.3-HEAD:0cbce2a", Path: "/opt/rocm/lib/librccl.so.1"},
		{Name: "hip", Version: "7.1.0-abc"},
		{Name: "rocm", Version: "7.1.0.0-1-x"},
	}, rec.Source.Libraries)
	require.Equal(t, "2.4.8", decodeVersion("2408"))
	require.Equal(t, "2.30.7", decodeVersion("23007"))
}
