package peers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is a whole log of an all_reduce of 8 ranks, with its list of devices.
func listed(rows string) string {
	log := "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
	for i := range 8 {
		log += fmt.Sprintf("#  Rank %2d Group  0 Pid %6d on     node-a device %2d [0000:%d5:00] AMD Instinct MI300X\n", i, 100+i, i, i)
	}
	return log + "#\n" + bothPlaces + rows + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : nan\n#\n"
}

// samples counts the samples of each setup's results: "1" for a run, "2" for two
// runs that are repeats of each other.
func samples(t *testing.T, log string) map[string][]int {
	t.Helper()
	out := map[string][]int{}
	for _, r := range parseText(t, log, Hints{File: "all_reduce.log"}).Results {
		if n := r.Burst.MeanOfRanks.N; !slices.Contains(out[r.Setup], n) {
			out[r.Setup] = append(out[r.Setup], n)
		}
	}
	return out
}

// Tables are repeats if a list of devices says that they are of the same devices,
// and the times are about the same.
func TestTablesThatDifferAreRuns(t *testing.T) {
	one, two := map[string][]int{"": {2}}, map[string][]int{"run 1": {1}, "run 2": {1}}
	sizes := slices.Clone(largeSizes)
	for size := int64(1 << 20); len(sizes) < 24; size += 4 << 20 {
		sizes = append(sizes, size+8)
	}
	rows := func(slow float64) string { return rowsOf("all_reduce", 8, slow, sizes...) }
	some := func(n int, slow float64) string {
		last := len(sizes) - n
		return rowsOf("all_reduce", 8, 1, sizes[:last]...) + rowsOf("all_reduce", 8, slow, sizes[last:]...)
	}
	small := ""
	for i := range int64(20) {
		small += rowsOf("all_reduce", 8, 1, 1<<20+8*i)
	}
	for name, c := range map[string]struct {
		log  string
		want map[string][]int
	}{
		"5 %":                      {listed(rows(1)) + listed(rows(1.05)), one},
		"25 %":                     {listed(rows(1)) + listed(rows(1.25)), one},
		"35 % slower":              {listed(rows(1)) + listed(rows(1.35)), two},
		"35 % faster":              {listed(rows(1.35)) + listed(rows(1)), two},
		"20 times":                 {listed(rows(1)) + listed(rows(20)), two},
		"one size in 24":           {listed(rows(1)) + listed(some(1, 1.5)), one},
		"four sizes in 24":         {listed(rows(1)) + listed(some(4, 1.5)), two},
		"the best alone":           {listed(small+rowsOf("all_reduce", 8, 1, 4<<30)) + listed(small+rowsOf("all_reduce", 8, 1.7, 4<<30)), two},
		"in turn":                  {listed(rows(1)) + listed(rows(3)) + listed(rows(1.1)) + listed(rows(3.1)), map[string][]int{"run 1": {2}, "run 2": {2}}},
		"no list":                  {bothPlaces + rows(1) + bothPlaces + rows(1), two},
		"no list, with footers":    {bothPlaces + rows(1) + "# Avg bus bandwidth    : nan\n" + bothPlaces + rows(1) + "# Avg bus bandwidth    : nan\n", two},
		"no header":                {rows(1) + rows(1), two},
		"no header, with footers":  {rows(1) + "# Avg bus bandwidth    : nan\n" + rows(1) + "# Avg bus bandwidth    : nan\n", two},
		"a list, the rows go on":   {listed(rows(1) + rows(1.1)), one},
		"a list, and other times":  {listed(rows(1) + rows(2)), two},
		"cycles":                   {listed(rows(1) + "# Testing 2 cycle.\n" + rows(2)), one},
		"parts, of other sizes":    {listed(rowsOf("all_reduce", 8, 1, 1<<20)) + listed(rowsOf("all_reduce", 8, 9, 2<<20)), map[string][]int{"": {1}}},
		"no list, of other sizes":  {bothPlaces + rowsOf("all_reduce", 8, 1, 1<<20) + bothPlaces + rowsOf("all_reduce", 8, 9, 2<<20), map[string][]int{"": {1}}},
		"no list, in three tables": {bothPlaces + rows(1) + bothPlaces + rows(1) + bothPlaces + rows(1), map[string][]int{"run 1": {1}, "run 2": {1}, "run 3": {1}}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, samples(t, c.log)) })
	}
}

// Published tables of one job under two networks.
func TestDataEnvironmentsInOneFile(t *testing.T) {
	rec := parseText(t, sharedCase(t, "two_environments_one_file.md"), Hints{})
	best, lines := map[string]float64{}, ""
	for _, r := range rec.Results {
		require.Equal(t, 1, r.Burst.MeanOfRanks.N)
		best[r.Setup] = max(best[r.Setup], *r.BusBW/1e9)
	}
	require.InDelta(t, 123.11, best["run 1"], 0.03)
	require.InDelta(t, 6.07, best["run 2"], 0.01)
	require.Len(t, best, 2)
	for _, w := range rec.Warnings {
		lines += w.Message
	}
	require.Contains(t, lines, "2 runs (from lines 22, 70)")
}
