package peers

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
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

// eachRow gives every row of a log to change, and its other lines unchanged.
func eachRow(log string, change func(row string) string) string {
	row := regexp.MustCompile(`^ *\d+ +\d+ +float`)
	var b strings.Builder
	for l := range strings.Lines(log) {
		if row.MatchString(l) {
			l = change(strings.TrimSuffix(l, "\n")) + "\n"
		}
		b.WriteString(l)
	}
	return b.String()
}

// Whatever NCCL_DEBUG writes between the parts of rows, they read back as printed.
func TestRowsThatDebugOutputCut(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for i := range 200 {
		p := randomTable(r)
		want := parseText(t, p.log, Hints{})
		head := len(fmt.Sprintf("%12d  %12d  %8s  %6s  %6s", 1, 1, "", "", ""))
		hosts := []string{"host-0"}
		if p.n > 8 {
			hosts = append(hosts, "host-1")
		}
		log := eachRow(p.log, func(row string) string {
			if r.IntN(3) == 0 {
				return row
			}
			out, from := "", 0
			for _, end := range rowEnds(row, head) {
				if r.IntN(2) == 0 {
					continue
				}
				out += row[from:end] + message(r, hosts[r.IntN(len(hosts))]) + "\n"
				for range r.IntN(3) {
					out += message(r, hosts[r.IntN(len(hosts))]) + "\n"
				}
				from = end
			}
			return out + row[from:]
		})
		got := parseText(t, log, Hints{})
		require.Equal(t, timesOf(want), timesOf(got), "table %d:\n%s", i, log)
		require.Empty(t, got.Source.Imports[0].Skipped)
	}
}

// Labels of mpirun --tag-output between and within the parts.
func TestRowsThatLabelsCut(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	const label = "[1,0]<stdout>:"
	for i := range 50 {
		p := randomTable(r)
		want := parseText(t, p.log, Hints{})
		head := len(fmt.Sprintf("%12d  %12d  %8s  %6s  %6s", 1, 1, "", "", ""))
		labelled := ""
		for l := range strings.Lines(p.log) {
			labelled += label + l
		}
		log := ""
		row := regexp.MustCompile(`^(\[1,0\]<stdout>:)( *\d+ +\d+ +float.*)\n$`)
		for l := range strings.Lines(labelled) {
			m := row.FindStringSubmatch(l)
			if m == nil {
				log += l
				continue
			}
			from := 0
			for _, end := range rowEnds(m[2], head) {
				if log += label + m[2][from:end]; r.IntN(2) == 0 {
					log += "[1,5]<stdout>:" + message(r, "host-0") + "\n"
				}
				from = end
			}
			log += label + m[2][from:] + "\n"
		}
		got := parseText(t, log, Hints{})
		require.Equal(t, timesOf(want), timesOf(got), "table %d:\n%s", i, log)
		require.Empty(t, got.Source.Imports[0].Skipped)
	}
}

// Cut anywhere, and with pieces lost or exchanged, a row is read as it was printed
// or not at all.
func TestCutRowsAreNeverMisread(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	lines := strings.Split(text(t, "nccl219.log"), "\n")
	want := timesOf(parseText(t, strings.Join(lines, "\n"), Hints{}))
	first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "1024") })
	host := regexp.MustCompile(`on +(\S+) device`).FindStringSubmatch(strings.Join(lines, "\n"))[1]
	joined := 0
	for range 800 {
		cut := slices.Clone(lines[:first])
		var rests []string
		for _, row := range lines[first : first+5] {
			at := 1 + r.IntN(len(row)-1)
			if r.IntN(3) == 0 {
				at = []int{52, 85}[r.IntN(2)] // where the parts end
			}
			cut = append(cut, row[:at]+message(r, host))
			rests = append(rests, row[at:])
			if r.IntN(4) > 0 {
				cut = append(cut, rests[r.IntN(len(rests))])
			}
		}
		rec, err := Parse(strings.NewReader(strings.Join(append(cut, lines[first+5:]...), "\n")), Hints{})
		if err != nil {
			require.ErrorIs(t, err, ErrNoRows)
			continue
		}
		for key, v := range timesOf(rec) {
			joined++
			// The slack on algbw is 1 %, so a lost last decimal may pass.
			require.InEpsilon(t, want[key], v, 0.01, "%s:\n%s", key, strings.Join(cut[first:], "\n"))
		}
	}
	require.Greater(t, joined, 500)
}

// Planted faults, each beside the log without it.
func TestPiecesThatDoNotFit(t *testing.T) {
	log := text(t, "debug_inside.log")
	require.Len(t, parseText(t, log, Hints{}).Results, 10)
	line := func(at int) string { return strings.Split(log, "\n")[at-1] }
	for name, c := range map[string]struct {
		log    string
		lost   int
		reason string
	}{
		"a rest is lost":             {strings.Replace(log, line(31)+"\n", "", 1), 1, debugInTable},
		"a beginning is lost":        {strings.Replace(log, line(25)+"\n", "", 1), 1, debugInTable},
		"two rests are exchanged":    {strings.NewReplacer(line(31), line(35), line(35), line(31)).Replace(log), 2, debugInTable},
		"a digit is lost":            {strings.Replace(log, "27.54   38.07", "7.54   38.07", 1), 1, debugInTable},
		"a bandwidth is another":     {strings.Replace(log, "27.54   38.07   71.39", "27.54   38.07   51.39", 1), 1, debugInTable},
		"the columns are shifted":    {strings.Replace(log, "    27.54   38.07   71.39       0", "27.54 38.07 71.39 0", 1), 1, debugInTable},
		"other text, and tiny sizes": {strings.Replace(log, line(27)+"\n", "a progress bar\n", 1), 1, debugInTable},
		"a host of another name":     {strings.Replace(log, "-1node-a:776", "-1elsewhere:776", 1), 1, debugInTable},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, log, c.log)
			rec := parseText(t, c.log, Hints{})
			require.Len(t, rec.Results, 10-2*c.lost)
			reasons := []string{}
			for _, k := range rec.Source.Imports[0].Skipped {
				reasons = append(reasons, k.Reason)
			}
			require.Equal(t, []string{c.reason}, reasons)
		})
	}
}

// A host's name can begin with digits, as a container's: only the device list
// tells where the row ends.
func TestHostsThatBeginWithDigits(t *testing.T) {
	log := strings.ReplaceAll(text(t, "debug_inside.log"), "node-a", "51e6e7896958")
	rec := parseText(t, log, Hints{})
	require.Len(t, rec.Results, 10)
	for _, r := range rec.Results {
		require.Equal(t, record.OK, r.Status)
	}
	// Either of two names could be meant.
	ambiguous := strings.Replace(log, "node-b", "1e6e7896958", 1)
	_, err := Parse(strings.NewReader(ambiguous), Hints{})
	require.ErrorIs(t, err, ErrNoRows)
}

// Of programs that write at once no row is put together.
func TestNothingIsJoinedAmongSeveralPrograms(t *testing.T) {
	log := text(t, "debug_inside.log")
	list := log[strings.Index(log, "#  Rank  0"):strings.Index(log, "#  Rank  1 ")]
	two := strings.Replace(log, list, list+strings.ReplaceAll(list, "4000", "9000"), 1)
	rec, err := Parse(strings.NewReader(two), Hints{})
	if err == nil {
		require.NotContains(t, timesOf(rec), "all_reduce/float/sum/1024/r16/g1/oop")
		require.Contains(t, rec.Source.Imports[0].Skipped[0].Reason, "NCCL_DEBUG_FILE")
		return
	}
	require.ErrorIs(t, err, ErrNoRows)
}

// What no later piece finishes is counted.
func TestLabelledLineWithoutItsEnd(t *testing.T) {
	log := text(t, "tag_inside.log")
	before, _, found := strings.Cut(log, "[1,0]<stdout>:    21.56")
	require.True(t, found)
	rec, err := Parse(strings.NewReader(before), Hints{})
	require.NoError(t, err)
	require.Len(t, rec.Results, 2)
	require.Equal(t, 1, rec.Source.Imports[0].Skipped[0].Count)
	require.Contains(t, rec.Source.Imports[0].Skipped[0].Reason, "mixed into")
}

// Launchers' prefixes do not keep rows from being put together.
func TestDebugOutputBehindPrefixes(t *testing.T) {
	log := text(t, "debug_inside.log")
	want := timesOf(parseText(t, log, Hints{}))
	for _, prefix := range []string{"[1,0]<stdout>:", " 0: ", "0: ", "worker-0: ", "[pod/launcher/mpi] ", "[0] ", "2026-03-04T05:06:07.123Z "} {
		prefixed := ""
		for l := range strings.Lines(log) {
			prefixed += prefix + l
		}
		rec := parseText(t, prefixed, Hints{})
		require.Equal(t, want, timesOf(rec), prefix)
		require.Empty(t, rec.Source.Imports[0].Skipped, prefix)
	}
}
