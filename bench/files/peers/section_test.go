package peers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a line of settings says, and what is none.
func TestParseSection(t *testing.T) {
	for text, want := range map[string]struct {
		pairs           string
		marked, heading bool
	}{
		"### ALGO=Ring size=268435456":        {"ALGO=Ring size=268435456", true, false},
		"===== NCCL_PROTO=LL128 =====":        {"NCCL_PROTO=LL128", true, false},
		"** NCCL_ALGO=Tree NCCL_PROTO=LL **:": {"NCCL_ALGO=Tree NCCL_PROTO=LL", true, false},
		"# NCCL_ALGO=Tree":                    {"NCCL_ALGO=Tree", false, false},
		"export NCCL_ALGO=Tree":               {"NCCL_ALGO=Tree", false, false},
		"### ALGO=":                           {"ALGO=", true, false},
		"## Results":                          {"", false, true},
		"======== hypercube_perf ========":    {"", false, true},
		"nodes=2, time=3.1 s":                 {"", false, false},
		"> Blk<0> totalCtxSaveCnt=0":          {"", false, false},
		"# nThread 1 nGpus 1 minBytes 8":      {"", false, false},
		"":                                    {"", false, false},
		"#":                                   {"", false, false},
		"-------------------------":           {"", false, false},
		"   8   2  float  sum":                {"", false, false},
	} {
		pairs, marked, heading := parseSection(text)
		require.Equal(t, want.pairs, strings.Join(pairs, " "), text)
		require.Equal(t, want.marked, marked && pairs != nil, text)
		require.Equal(t, want.heading, heading, text)
	}
}

// A setting between tables makes a run of what follows, the empty one is named.
func TestSettingsBetweenTables(t *testing.T) {
	for _, table := range []string{"", bothPlaces} {
		for _, end := range []string{"", "# Avg bus bandwidth    : 7\n", "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 7\n#\n"} {
			log, want := "", map[string][]int64{}
			for i, algo := range []string{"Ring", "Tree", "NVLS"} {
				for _, size := range largeSizes {
					rows := rowsOf("all_reduce", 8, float64(i+1), size)
					log += "### ALGO=" + algo + " size=" + strings.Fields(rows)[0] + "\n" + table + rows + end
					want["ALGO="+algo] = append(want["ALGO="+algo], size)
				}
			}
			log += "### ALGO=CollnetChain size=8\n### ALGO=PAT size=8\n"
			rec := parseText(t, log, Hints{Ranks: 8, Nodes: 1})
			got := map[string][]int64{}
			for _, r := range rec.Results {
				require.Equal(t, 1, r.Burst.MeanOfRanks.N)
				if !r.InPlace {
					got[r.Setup] = append(got[r.Setup], r.Bytes)
				}
			}
			require.Equal(t, want, got, log)
			empty := ""
			for _, w := range rec.Warnings {
				if w.Code == "empty_setting" {
					empty += w.Message
				}
			}
			require.Contains(t, empty, "no row follows the setting ALGO=CollnetChain size=8")
			require.Contains(t, empty, "no row follows the setting ALGO=PAT size=8")
		}
	}
}

// A setting holds for every table until the next one, and no longer than the next
// heading; a list of the environment is none.
func TestHowLongASettingHolds(t *testing.T) {
	tables := bothPlaces + rowsOf("all_reduce", 8, 1, largeSizes...) + bothPlaces + rowsOf("reduce_scatter", 8, 1, largeSizes...)
	env := ""
	for i := range maxPairs + 1 {
		env += fmt.Sprintf("SLURM_%d=7\n", i)
	}
	log := "## A=1\n" + tables + "## A=2\n" + tables + "## Baseline\n" + tables + env + tables + "## A=3\n" + env + tables
	setups := map[string]int{}
	for _, r := range parseText(t, log, Hints{}).Results {
		setups[r.Setup]++
	}
	n := 2 * len(largeSizes)
	require.Equal(t, map[string]int{"A=1": 2 * n, "A=2": 2 * n, "run 3": 2 * n, "run 4": 2 * n, "A=3": 2 * n}, setups)
}

// A published sweep over three algorithms.
func TestDataAlgoLines(t *testing.T) {
	rec := parseText(t, sharedCase(t, "algo_lines.txt"), Hints{File: "algo_lines.txt"})
	rows := map[string]int{}
	for _, r := range rec.Results {
		require.Equal(t, "all_reduce", r.Collective)
		require.Equal(t, 4, r.Ranks)
		rows[r.Setup]++
	}
	require.Equal(t, map[string]int{"ALGO=Ring": 6, "ALGO=Tree": 6, "ALGO=NVLS": 2}, rows)
	require.Empty(t, rec.Source.Imports[0].Skipped)
	require.Contains(t, codes(rec), "empty_setting")
}
