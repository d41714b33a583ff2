package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/results"
	"zbench/test/longtest"
)

// plantedSweep is a small sweep of 128 nodes with a size at which bandwidth counts; unchecked is one that looks at no data.
const (
	plantedSweep = "collectives --nodes 128 -b 64K -e 256M -f 64 --place out"
	unchecked    = plantedSweep + " -c 0"
)

// Every fault is what the verdict begins with, and its share stands in the first
// three lines: in the record's and on the terminal.
func TestLongVerdictNamesEveryFault(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	for _, row := range []struct {
		fault, kind string
		code        int
		says        []string
	}{
		{"slow_link:node=3,a=1,b=2,left=0.5", judge.CodeLostBusBW, exit.Regression, []string{"Bus bandwidth lost", "all_reduce 4[0-9] %"}},
		{"dead_rail:node=3,rail=2", judge.CodeLostBusBW, exit.Regression, []string{"Bus bandwidth lost", "all_reduce (9|1[0-9])[.0-9]* %"}},
		{"slow_rail:node=3,rail=2,left=0.5", judge.CodeLostBusBW, exit.Regression, []string{"Bus bandwidth lost", "all_reduce 4[0-9] %"}},
		{"slow_leaf:rail=2,left=0.5", judge.CodeLostBusBW, exit.Regression, []string{"Bus bandwidth lost", "all_reduce 4[0-9] %"}},
		{"flaky_link:node=3,part=0.1,times=4", judge.CodeUnstable, exit.Regression, []string{"Flaky", "bursts lose [0-9]+ % of their time"}},
		{"late_gpu:node=3,gpu=5,seconds=2e-5", judge.CodeLate, exit.Regression, []string{"Late: rank 29 \\(node 3, GPU 5\\)", "[0-9.]+ % of the time of a launch"}},
		{"late_node:node=3,seconds=2e-5", judge.CodeLate, exit.Regression, []string{"Late: all 8 GPUs of node 3", "[0-9.]+ % of the time of a launch"}},
		{"hang:node=3,gpu=5,bytes=1e6,launch=7", judge.CodeHang, exit.Run, []string{"Hang: all_reduce at 4 MiB", "8 of 9 cases lost"}},
		{"async_error:node=3,gpu=5,bytes=1e6,launch=7", judge.CodeAsyncError, exit.Run, []string{"Asynchronous error: all_reduce at 4 MiB", "8 of 9 cases lost", "On rank 29"}},
		{"missing_rank:node=3,gpu=5", judge.CodeWrongData, exit.WrongData, []string{"100 % of the elements", "rank 29 \\(node 3, GPU 5\\)"}},
		{"doubled_rank:node=3,gpu=5", judge.CodeWrongData, exit.WrongData, []string{"100 % of the elements", "several ranks received it"}},
		{"swapped_blocks:node=3,gpu=5", judge.CodeWrongData, exit.WrongData, []string{"0.1 % of the elements", "rank 29"}},
		{"stale_buffer:node=3,gpu=5", judge.CodeWrongData, exit.WrongData, []string{"0.1 % of the elements", "rank 29"}},
		{"corrupt:node=3,gpu=5,index=1000", judge.CodeWrongData, exit.WrongData, []string{"<0.1 % of the elements", "rank 29"}},
		{"dip:from=1e6,to=1e7,times=2", judge.CodeDip, exit.Regression, []string{"Slow at some sizes", "4 MiB"}},
	} {
		t.Run(row.fault, func(t *testing.T) {
			line := unchecked
			if row.kind == judge.CodeWrongData {
				line = plantedSweep
			}
			r, stdout := sweptAs(t, row.code, line+" --fault "+row.fault)
			faults := results.Verdict(r.Record, r.advice).Faults()
			require.NotEmpty(t, faults)
			require.Equal(t, row.kind, faults[0].Code)
			require.Len(t, faults, 1, "one fault is named once: %+v", faults)
			require.Positive(t, faults[0].Share)
			three := plain.Fold("FAULT: "+faults[0].Text, defaultWidth, "", "  ")
			text := strings.Join(three[:min(3, len(three))], "\n")
			require.Contains(t, stdout, text)
			for _, says := range row.says {
				require.Regexp(t, says, unfolded(text))
			}
		})
	}
}

// A healthy sweep has no fault, whatever its seed; noise alone is none.
func TestLongVerdictOfHealthySweeps(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	for seed := 1; seed <= 2; seed++ {
		for _, more := range []string{"", " --fault noise:sigma=0.05"} {
			r, _ := sweptAs(t, exit.OK, fmt.Sprintf("%s --seed %d%s", unchecked, seed, more))
			v := results.Verdict(r.Record, r.advice)
			require.Empty(t, v.Faults(), "seed %d%s", seed, more)
			require.Equal(t, judge.CodeNoFault, v[slices.IndexFunc(v, func(l finding.Finding) bool { return l.Code != judge.CodeNoisy })].Code)
		}
	}
}

// Where groups ran too, the rail or the node is named.
func TestLongVerdictFindsThePlace(t *testing.T) {
	longtest.Only(t)
	for _, row := range []struct{ fault, splits, says string }{
		{"slow_rail:node=3,rail=2,left=0.5", "--strides 8", "Slow: rail 2 (GPU 2 of every node)."},
		{"slow_leaf:rail=5,left=0.5", "--strides 8", "Slow: rail 5 (GPU 5 of every node)."},
		{"dead_rail:node=3,rail=2", "--strides 8", "Slow: rail 2 (GPU 2 of every node), rail 3 (GPU 3 of every node)."},
		{"slow_link:node=3,a=1,b=2,left=0.5", "--groups 8", "Slow: node 3."},
	} {
		r, _ := sweptAs(t, exit.Regression, "collectives all_reduce --nodes 16 -b 64M -e 64M --place out "+row.splits+" --fault "+row.fault)
		faults := results.Verdict(r.Record, r.advice).Faults()
		require.NotEmpty(t, faults)
		require.Equal(t, judge.CodeSlowGroup, faults[0].Code, "%+v", faults)
		require.Contains(t, faults[0].Text, row.says)
		require.Positive(t, faults[0].Share)
	}
}
