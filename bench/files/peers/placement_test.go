package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/envelope"
)

// firstSide cuts the rows of a table behind their first placement.
func firstSide(rows string) string {
	out := ""
	for l := range strings.Lines(rows) {
		out += strings.TrimRight(l[:84], " ") + "\n"
	}
	return out
}

// A header of two placements over rows of one: the rows are out of place, if none
// has more.
func TestRowsOfOnePlacement(t *testing.T) {
	rows := rowsOf("all_reduce", 8, 1, largeSizes...)
	whole := parseText(t, bothPlaces+rows, Hints{})
	for _, end := range []string{"", "# Avg bus bandwidth    : nan\n", "\n\n# Avg bus bandwidth    : nan\n"} {
		rec := parseText(t, bothPlaces+firstSide(rows)+end, Hints{Collective: "all_reduce"})
		require.Contains(t, codes(rec), "one_placement")
		require.Len(t, rec.Results, len(largeSizes))
		for i, r := range rec.Results {
			require.Equal(t, brief(whole.Results[2*i]), brief(r))
		}
	}
	mixed := strings.SplitAfter(rows, "\n")
	mixed[1] = firstSide(mixed[1])
	rec := parseText(t, bothPlaces+strings.Join(mixed, ""), Hints{})
	require.Equal(t, []string{"the row ends before its second group of values [5]"}, skipBrief(rec))
	require.Len(t, rec.Results, 6)
}

// What is left of the next row is not the end of a row that lost its last cell.
func TestCutRowTakesNothingOfTheNextLine(t *testing.T) {
	log := `# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 validation: 0
#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
hostname:3442:3442 [0] NCCL INFO Launch mode Parallel
     4194304       1048576     float     sum    112.0   37.45   65.53    N/A    111.7   37.55   65.71    N/A
     8388608       2097152     float     sum    171.1   49.03   85.80    N/A    170.4   49.23   86.15
    16777216
    33554432       8388608     float     sum    393.2   85.34  149.34    N/A    391.9   85.62  149.84    N/A
`
	rec := parseText(t, log, Hints{File: "all_reduce.log"})
	require.Equal(t, []string{"the cells do not fit the column names [7 8]"}, skipBrief(rec))
	require.Len(t, rec.Results, 4)
}

// A published log of a header of two placements over rows of one, each row in a table of
// its own.
func TestDataLogOfOnePlacement(t *testing.T) {
	log := sharedCase(t, "one_placement.log")
	rec := parseText(t, log, Hints{File: "one_placement.log"})
	rows := plainRows(log)
	require.Len(t, rec.Results, 4)
	for i, r := range rec.Results {
		require.Equal(t, int64(64)<<i, r.Bytes)
		require.False(t, r.InPlace)
		require.Equal(t, "all_reduce", r.Collective)
		require.Equal(t, 2, r.Ranks)
		require.True(t, printedAs(rows, r, r.Burst.MeanOfRanks.Median))
		require.Equal(t, "log says N/A", r.Verified.Reason)
	}
}

// Whatever stands before a header, the clean rows below it are read; so are rows with
// the same in front.
func TestPrefixBeforeAHeader(t *testing.T) {
	rows := rowsOf("all_reduce", 8, 1, largeSizes...)
	for _, prefix := range prefixes {
		for _, with := range []string{"^#.*busbw", "^#", ""} {
			if with != "" && (&envelope.Cleaner{Names: beforeNames}).Clean(prefix+"# x").Stream != "" {
				continue // a launcher puts its label before all lines of a process
			}
			log := eachLine("# Collective test starting: all_reduce_perf\n"+bothPlaces+rows+"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : nan\n", with, before(prefix))
			rec, err := Parse(strings.NewReader(log), Hints{})
			require.NoError(t, err, log)
			require.Len(t, rec.Results, 2*len(largeSizes), "%q before %q: %v", prefix, with, skipBrief(rec))
			require.Empty(t, rec.Source.Imports[0].Skipped)
			require.NotContains(t, codes(rec), "columns_inferred", "%q before %q", prefix, with)
		}
	}
	// Rows with a launcher's label are not those of a header without.
	rec, err := Parse(strings.NewReader(bothPlaces+eachLine(rowsOf("all_reduce", 8, 1, 8, 16), "", before(" 3: "))), Hints{File: "all_reduce.log"})
	require.ErrorIs(t, err, ErrNoRows, rec)
}
