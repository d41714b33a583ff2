package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/test/project"
)

// asCSV writes the rows of a table between commas under nccl-tests' names.
func asCSV(rows string) string {
	out := "size,count,type,redop,root,time,algbw,busbw,#wrong,time,algbw,busbw,#wrong\n"
	for l := range strings.Lines(rows) {
		out += strings.Join(strings.Fields(l), ",") + "\n"
	}
	return out
}

// A table reads the same between commas and between spaces.
func TestCSVReadsAsTheTable(t *testing.T) {
	for name := range shownAs {
		rows := rowsOf(name, 8, 1, largeSizes...)
		o := Hints{Collective: name, Ranks: 8, Nodes: 1}
		want := parseText(t, bothPlaces+rows, o)
		csv := asCSV(rows)
		for form, text := range map[string]string{
			"plain": csv, "crlf": strings.ReplaceAll(csv, "\n", "\r\n"), "spaces": strings.ReplaceAll(csv, ",", ", "),
			"quotes": strings.ReplaceAll(csv, "float", `"float"`), "a fence": "# Results\n```\n" + csv + "```\n", "labels": "[1,0]<stdout>:" + strings.ReplaceAll(strings.TrimSpace(csv), "\n", "\n[1,0]<stdout>:") + "\n",
			"no line end": strings.TrimSpace(csv),
			"names of places": strings.Replace(csv, "time,algbw,busbw,#wrong,time,algbw,busbw,#wrong",
				"oop_time_us,oop-algbw,out-of-place busbw (GB/s),wrong oop,time_ip_us,algbw_ip,busbw_ip,errors_ip", 1),
			"more columns": strings.ReplaceAll(strings.Replace(csv, "size,", "host,size,", 1), "\n ", "\n"),
		} {
			if form == "more columns" {
				text = "host," + strings.ReplaceAll(strings.TrimSpace(csv), "\n", "\nnode-a,") + "\n"
			}
			rec, err := Parse(strings.NewReader(text), o)
			require.NoError(t, err, "%s, %s:\n%s", name, form, text)
			require.Equal(t, timesOf(want), timesOf(rec), "%s, %s", name, form)
			require.Empty(t, rec.Source.Imports[0].Skipped, form)
			require.False(t, rec.Source.Imports[0].Truncated)
		}
	}
}

// rccl-tests -Z csv writes a row for each placement, and a value more than names.
func TestCSVOfRCCLTests(t *testing.T) {
	const names = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong\n"
	log, times := names, map[string]float64{}
	for cycle := range 2 {
		for _, c := range []struct {
			printed, name string
			factor        float64
		}{{"AllReduce", "all_reduce", 1.875}, {"ReduceScatter", "reduce_scatter", .9375}} {
			for _, size := range largeSizes {
				for place, key := range []string{"oop", "ip"} {
					us := float64(size)/2e5 + float64(place+cycle)
					alg := float64(size) / us / 1e3
					log += fmt.Sprintf("%d,%q,1,16,16,1,%d,\"float\",\"sum\",%d,%f,%f,%f,\"0\"\n", cycle, c.printed, size, place, us, alg, alg*c.factor)
					times[fmt.Sprintf("%s/float/sum/%d/r16/g0/%s", c.name, size, key)] += us / 2e6
				}
			}
		}
	}
	rec := parseText(t, log, Hints{})
	require.InDeltaMapValues(t, times, timesOf(rec), 1e-9)
	require.Equal(t, 2, rec.Results[0].Burst.MeanOfRanks.N, "cycles are repeats")
	require.Equal(t, 16, rec.World.Ranks)
	require.Equal(t, 0, rec.World.Nodes, "what rccl-tests prints of nodes is not used")
	require.Equal(t, "ok", rec.Results[0].Verified.State)

	// Ranks that busbw denies are not used, and rows that size/time denies are left out.
	rec = parseText(t, strings.ReplaceAll(log, ",1,16,16,1,", ",1,24,24,1,"), Hints{})
	require.Contains(t, codes(rec), "ranks_contradicted")
	require.Equal(t, 16, rec.World.Ranks)
	wrong := strings.Replace(log, ",0,5.242880,", ",0,9.242880,", 1)
	require.NotEqual(t, log, wrong)
	rec = parseText(t, wrong, Hints{})
	require.Equal(t, []string{"size/time contradicts algbw [2]"}, skipBrief(rec))
}

// What is wrong with a row of a CSV is said.
func TestDamagedCSV(t *testing.T) {
	csv := asCSV(rowsOf("all_reduce", 8, 1, largeSizes...))
	lines := strings.Split(strings.TrimSpace(csv), "\n")
	for name, c := range map[string]struct{ log, reason string }{
		"a value missing": {strings.Join(lines[:4], "\n") + "\n" + strings.Replace(lines[4], ",float", "", 1) + "\n", "the row has 12 values, the header 13 names [5]"},
		"a value more":    {strings.Join(lines[:4], "\n") + "\n" + lines[4] + ",7\n", "the row has 14 values, the header 13 names [5]"},
		"a word":          {strings.Join(lines[:4], "\n") + "\n" + strings.Replace(lines[4], "4294967296", "4GiB", 1) + "\n", "the cells do not fit the column names [5]"},
		"a point lost":    {strings.Replace(csv, lines[3], strings.Replace(lines[3], ".", "", 2), 1), "size/time contradicts algbw [4]"},
		"cut":             {strings.TrimSuffix(strings.TrimSpace(csv), ",0"), "the row has 12 values, the header 13 names [5]"},
		"cut in a number": {strings.TrimSuffix(strings.TrimSpace(csv), "0") + "1", "last line of a file that ends without a line end [5]"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := parseText(t, c.log, Hints{})
			require.Equal(t, []string{c.reason}, skipBrief(rec))
			require.Len(t, rec.Results, 6)
		})
	}
	_, err := Parse(strings.NewReader(lines[0]+"\n"), Hints{})
	require.ErrorIs(t, err, ErrNoRows)
	require.ErrorContains(t, err, "no row follows")
}

// Ranks and nodes are taken from a file's name as srun writes them, said so, and only
// if busbw agrees.
func TestWorldOfAFileName(t *testing.T) {
	for file, want := range map[string]claim{
		"alps_gh200_00256-N-0064.csv": {ranks: 256, nodes: 64}, "job-n-00008-N-0002.txt": {ranks: 8, nodes: 2}, "8-N-2": {ranks: 8, nodes: 2},
		"2n_all_reduce__REF_rep1.csv": {}, "00256_0064.csv": {}, "16-nodes-2.log": {}, "x-N-2.log": {}, "16-N-x": {},
	} {
		got := fileWorld(file)
		require.Equal(t, want, claim{ranks: got.ranks, nodes: got.nodes}, file)
	}
	csv := asCSV(rowsOf("all_reduce", 8, 1, largeSizes...))
	rec := parseText(t, csv, Hints{File: "job-n-00008-N-0002.csv"})
	require.Equal(t, "8r 2n 4/node 0/proc ", worldBrief(rec.World))
	require.Contains(t, codes(rec), "ranks_from_name")
	rec = parseText(t, csv, Hints{File: "job-n-00016-N-0002.csv"})
	require.Equal(t, "8r 0n 0/node 0/proc ", worldBrief(rec.World))
	require.Contains(t, codes(rec), "ranks_contradicted")
	require.Equal(t, "8r 4n 2/node 0/proc ", worldBrief(parseText(t, csv, Hints{File: "job-n-00008-N-0002.csv", Nodes: 4}).World))
}

// Published CSVs, each checked row by row against a plain reader.
func TestDataCSVs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(project.Published(t, "scaling"), "*.csv"))
	require.NoError(t, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		file, text := filepath.Base(path), string(data)
		rec, err := Parse(strings.NewReader(text), Hints{File: file})
		if strings.HasPrefix(file, "mi355x") {
			require.ErrorIs(t, err, ErrNoTable, "a summary without times")
			continue
		}
		require.NoError(t, err, file)
		rows, lines := plainRows(text), strings.Count(text, "\n")-1
		require.Equal(t, lines, rec.Source.Imports[0].Rows, file)
		for _, r := range rec.Results {
			require.True(t, printedAs(rows, r, r.Burst.MeanOfRanks.Median), "%s: %s", file, r.Key)
		}
		last := rec.Results[len(rec.Results)-1]
		c, err := collective.ByName(last.Collective)
		require.NoError(t, err)
		require.InEpsilon(t, c.BusFactor(last.Ranks), *last.BusBW / *last.AlgBW, 1e-9)
		if strings.HasPrefix(file, "alps") {
			require.Equal(t, "all_reduce", last.Collective)
			require.Len(t, rec.Results, 2*lines)
			require.Equal(t, fileWorld(file).ranks, last.Ranks)
			require.Equal(t, fileWorld(file).nodes, rec.World.Nodes)
		} else {
			require.Len(t, rec.Results, lines)
			require.Equal(t, 16, last.Ranks)
		}
	}
}
