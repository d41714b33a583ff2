package peers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// timesOf is the median of every result by key.
func timesOf(rec *record.Record) map[string]float64 {
	times := map[string]float64{}
	for _, r := range rec.Results {
		times[r.Key] = r.Burst.MeanOfRanks.Median
	}
	return times
}

// message is a line of NCCL_DEBUG of a rank on a host.
func message(r *rand.Rand, host string) string {
	pid := 1 + r.IntN(1<<22)
	return fmt.Sprintf("%s:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] via P2P/IPC", host, pid, pid+r.IntN(99), r.IntN(8), r.IntN(64), r.IntN(16), r.IntN(8), r.IntN(16), r.IntN(8))
}

// rowEnds are the ends of a row's parts: what is printed at once.
func rowEnds(row string, first int) []int {
	ends := []int{first}
	return append(ends, first+(len(row)-first)/2)
}

// cutIn cuts a row where its parts end, or anywhere, and writes messages of NCCL_DEBUG behind the pieces.
func cutIn(r *rand.Rand, row string) string {
	head := len(fmt.Sprintf("%12d  %12d  %8s  %6s  %6s", 1, 1, "", "", ""))
	ends := rowEnds(row, head)
	at := ends[r.IntN(len(ends))]
	if r.IntN(2) == 0 {
		at = 1 + r.IntN(len(row)-1)
	}
	out := row[:at] + message(r, "host-0") + "\n"
	for range r.IntN(3) {
		out += message(r, "host-0") + "\n"
	}
	return out + row[at:]
}

// Rows that NCCL_DEBUG cut are left out and named, whatever the table; all others are read as they are
// printed. None is put together.
func TestRowsThatDebugOutputCut(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	kept, lost := 0, 0
	for i := range 200 {
		p := randomTable(r)
		want := timesOf(parseText(t, p.log, Hints{}))
		cut, lines, no := map[string]bool{}, map[int]bool{}, 0
		log := ""
		for l := range strings.Lines(p.log) {
			if aRowRE.MatchString(l) && r.IntN(3) == 0 {
				cut[strings.Fields(l)[0]] = true
				l = cutIn(r, strings.TrimSuffix(l, "\n")) + "\n"
				lines[no+1] = true
			}
			no += strings.Count(l, "\n")
			log += l
		}
		rec, err := Parse(strings.NewReader(log), Hints{Collective: p.coll.Name})
		if err != nil {
			require.ErrorIs(t, err, ErrNoRows, "table %d", i)
			continue
		}
		got := timesOf(rec)
		for key, v := range got {
			require.Equal(t, want[key], v, "table %d: %s\n%s", i, key, log)
		}
		for key := range want {
			if size := strings.Split(key, "/")[3]; !cut[size] {
				require.Contains(t, got, key, "table %d:\n%s", i, log)
				kept++
			} else if _, read := got[key]; !read {
				lost++
			}
		}
		named := 0
		for _, k := range rec.Source.Imports[0].Skipped {
			named += k.Count
		}
		require.GreaterOrEqual(t, named, len(cut)-1, "table %d:\n%s", i, log)
	}
	require.Greater(t, kept, 2000)
	require.Greater(t, lost, 500)
}

var aRowRE = regexp.MustCompile(`^ *\d+ +\d+ +float`)

// Labels of mpirun --tag-output within a line are those of one process, which wrote it in parts; those of
// others are other output.
func TestLabelsWithinLines(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	const label = "[1,0]<stdout>:"
	for i := range 50 {
		p := randomTable(r)
		want := timesOf(parseText(t, p.log, Hints{}))
		head := len(fmt.Sprintf("%12d  %12d  %8s  %6s  %6s", 1, 1, "", "", ""))
		own, others, cut := "", "", map[string]bool{}
		for l := range strings.Lines(p.log) {
			l = strings.TrimSuffix(l, "\n")
			if !aRowRE.MatchString(l) {
				own, others = own+label+l+"\n", others+label+l+"\n"
				continue
			}
			parts, from := label, 0
			for _, end := range rowEnds(l, head) {
				parts, from = parts+l[from:end]+label, end
			}
			own += parts + l[from:] + "\n"
			if r.IntN(2) == 0 {
				others += parts + l[from:] + "\n"
				continue
			}
			cut[strings.Fields(l)[0]] = true
			if r.IntN(2) == 0 {
				others += label + l[:head] + "[1,5]<stdout>:" + l[head:] + "\n" // the values of another process
				continue
			}
			others += label + l[:head] + "[1,5]<stdout>:" + message(r, "host-0") + "\n" + label + l[head:] + "\n"
		}
		require.Equal(t, want, timesOf(parseText(t, own, Hints{})), "table %d:\n%s", i, own)
		rec, err := Parse(strings.NewReader(others), Hints{})
		if err != nil {
			require.ErrorIs(t, err, ErrNoRows)
			continue
		}
		got := timesOf(rec)
		for key, v := range want {
			if cut[strings.Split(key, "/")[3]] {
				require.NotContains(t, got, key)
			} else {
				require.Equal(t, v, got[key])
			}
		}
	}
}

// Cut anywhere, and with pieces lost or exchanged, a row is read as it was printed or not at all.
func TestCutRowsAreNeverMisread(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	lines := strings.Split(text(t, "nccl219.log"), "\n")
	want := timesOf(parseText(t, strings.Join(lines, "\n"), Hints{}))
	first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "1024") })
	host := regexp.MustCompile(`on +(\S+) device`).FindStringSubmatch(strings.Join(lines, "\n"))[1]
	read, lost := 0, 0
	for range 800 {
		cut := slices.Clone(lines[:first])
		var rests []string
		for _, row := range lines[first : first+5] {
			if r.IntN(3) == 0 {
				cut = append(cut, row)
				continue
			}
			at := 1 + r.IntN(len(row)-1)
			if r.IntN(3) == 0 {
				at = []int{52, 85}[r.IntN(2)] // where the parts end
			}
			tail := ""
			if r.IntN(2) == 0 {
				tail = message(r, host)
			}
			cut = append(cut, row[:at]+tail)
			rests = append(rests, row[at:])
			if r.IntN(4) > 0 {
				cut = append(cut, rests[r.IntN(len(rests))])
			}
		}
		rec, err := Parse(strings.NewReader(strings.Join(append(cut, lines[first+5:]...), "\n")), Hints{})
		if err != nil {
			require.True(t, errors.Is(err, ErrNoRows) || errors.Is(err, ErrCollective), "%v", err)
			continue
		}
		for _, k := range rec.Source.Imports[0].Skipped {
			lost += k.Count
		}
		for key, v := range timesOf(rec) {
			read++
			// The slack on algbw is 1 %, so a lost last decimal may pass.
			require.InEpsilon(t, want[key], v, 0.01, "%s:\n%s", key, strings.Join(cut[first:], "\n"))
		}
	}
	require.Greater(t, read, 1000)
	require.Greater(t, lost, 1000)
}

// Of programs that write at once no row is read.
func TestNothingIsReadOfSeveralProgramsAtOnce(t *testing.T) {
	log := text(t, "copybw.log")
	list := log[strings.Index(log, "#  Rank  0"):strings.Index(log, "#  Rank  1 ")]
	require.Len(t, parseText(t, log, Hints{}).Results, 10)
	for name, both := range map[string]string{
		"two lists of devices": strings.Replace(log, list, list+strings.ReplaceAll(list, "Pid   4000", "Pid   9000"), 1),
		"two headers":          strings.Replace(log, "# nThread", "# nThread 1 nGpus 1 minBytes 1\n# nThread", 1),
		"singletons":           text(t, "singletons.log"),
	} {
		_, err := Parse(strings.NewReader(both), Hints{File: "all_reduce.log"})
		require.ErrorIs(t, err, ErrNoRows, name)
		require.ErrorContains(t, err, "several programs wrote into this table at once", name)
		require.ErrorContains(t, err, "rebuild the tests with MPI=1", name)
	}
}
