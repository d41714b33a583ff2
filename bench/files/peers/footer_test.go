package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// The footer's count of failed checks is honoured however it is dressed, and with
// it the end of the table.
func TestFailedChecksAnywhere(t *testing.T) {
	log := text(t, "copybw.log")
	footer := "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 135.119 \n"
	require.Contains(t, log, footer)
	for name, dressed := range map[string]string{
		"as it is":          "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 135.119 \n",
		"no number sign":    " Out of bounds values : 2 FAILED\n Avg bus bandwidth    : 135.119 \n",
		"nothing before it": "Out of bounds values : 2 FAILED\nAvg bus bandwidth    : 135.119\n",
		"a prefix":          "launcher-x7: Out of bounds values : 2 FAILED\nlauncher-x7: Avg bus bandwidth    : 135.119\n",
		"a prefix and sign": "2026-03-04T05:06:07Z stdout F # Out of bounds values : 2 FAILED\n2026-03-04T05:06:07Z stdout F # Avg bus bandwidth    : 135.119 \n",
		"a quote":           "> # Out of bounds values : 2 FAILED\n> # Avg bus bandwidth    : 135.119 \n",
		"another process":   "[1,3]<stdout>:# Out of bounds values : 2 FAILED\n[1,3]<stdout>:# Avg bus bandwidth    : 135.119 \n",
		"no average":        "# Out of bounds values : 2 FAILED\n",
	} {
		t.Run(name, func(t *testing.T) {
			rec := parseText(t, strings.Replace(log, footer, dressed, 1), Hints{})
			require.Equal(t, []string{"out_of_bounds"}, codes(rec))
			require.False(t, rec.Source.Imports[0].Truncated)
			for _, r := range rec.Results {
				require.Equal(t, record.WrongData, r.Status, r.Key)
				require.Equal(t, "the log counts 2 failed checks and does not say in which rows", r.Reason)
				require.Nil(t, r.Verified.Wrong)
			}
			// The same without a failure is a log like any other.
			good := parseText(t, strings.Replace(log, footer, strings.ReplaceAll(dressed, "2 FAILED", "0 OK"), 1), Hints{})
			require.Empty(t, codes(good))
			require.False(t, good.Source.Imports[0].Truncated)
			require.Equal(t, record.OK, good.Results[0].Status)
		})
	}
}

// Where the rows say which data were wrong, the others stay what they are.
func TestFailedChecksThatRowsShow(t *testing.T) {
	rec := parseText(t, text(t, "wrong.log"), Hints{})
	count := map[record.Status]int{}
	for _, r := range rec.Results {
		count[r.Status]++
	}
	require.Equal(t, map[record.Status]int{record.OK: 7, record.WrongData: 3}, count)

	// One of them is damaged: which rows the footer means is not known any more.
	lost := edit(t, text(t, "wrong.log"), "33554432", func(l string) string { return strings.Replace(l, "218.7", "2?8.7", 1) })
	for _, r := range parseText(t, lost, Hints{}).Results {
		require.Equal(t, record.WrongData, r.Status, r.Key)
	}
}

// A failed run leaves the other runs of the file alone.
func TestFailedRunAmongOthers(t *testing.T) {
	good, bad := text(t, "hipevt.log"), strings.Replace(text(t, "copybw.log"), "0 OK", "1 FAILED", 1)
	for _, r := range parseText(t, good+bad, Hints{}).Results {
		want := record.OK
		if r.Collective == "all_reduce" {
			want = record.WrongData
		}
		require.Equal(t, want, r.Status, r.Key)
	}
}

// What a person writes about another run counts for no table that is to come, and
// a second average in prose is no second program.
func TestFootersInProse(t *testing.T) {
	log := text(t, "copybw.log")
	rec := parseText(t, "Yesterday: Out of bounds values : 24 FAILED, Avg bus bandwidth : 3.1\n"+log+"So Avg bus bandwidth    : 135.119 it is.\n", Hints{})
	require.Empty(t, codes(rec))
	require.Len(t, rec.Results, 10)
	for _, r := range rec.Results {
		require.Equal(t, record.OK, r.Status)
	}
}
