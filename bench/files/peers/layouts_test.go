package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/test/project"
)

const (
	mi300x = "16r 2n 8/node 1/proc AMD Instinct MI300X"
	h200   = "16r 2n 8/node 1/proc NVIDIA H200"
)

// layoutCase is what must be read from a synthetic log. Zero skipped, codes and
// truncated mean none and no.
type layoutCase struct {
	file, world    string
	rows, results  int
	first, last    string
	skipped, codes []string
	truncated      bool
}

var layoutCases = []layoutCase{
	{
		file: "nccl219.log", world: h200, rows: 5, results: 10,
		first: "reduce_scatter/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0449 ok",
		last:  "reduce_scatter/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 156.8 ok",
	},
	{
		file: "per_iteration.log", world: h200, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "stamps_trailing.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "stamps_leading.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.7 x1 167.3 313.6 ok",
	},
	{
		file: "hipevt.log", world: mi300x, rows: 5, results: 10,
		first: "all_gather/float/none/1024/r16/g1/oop 21.38 x1 0.0479 0.0449 ok",
		last:  "all_gather/float/none/1073741824/r16/g1/ip 6419.72 x1 167.3 156.8 ok",
	},
	{
		file: "in_place_only.log", world: mi300x, rows: 5, results: 5, codes: []string{"rank_statistic"},
		first: "all_reduce/float/sum/1024/r16/g1/ip 21.49 x1 0.04765 0.08934 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.7 x1 167.3 313.6 ok",
	},
	{
		file: "blank_side.log", world: mi300x, rows: 5, results: 5,
		first: "all_reduce/float/sum/1024/r16/g1/ip 21.49 x1 0.04765 0.08934 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "algo_proto.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "copybw.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.7 x1 167.3 313.6 ok",
	},
	{
		file: "blank_cells.log", world: mi300x, rows: 5, results: 10,
		first: "all_gather/float/none/1024/r16/g1/oop 21.38 x1 0.0479 0.0449 ok",
		last:  "all_gather/float/none/1073741824/r16/g1/ip 6419.7 x1 167.3 156.8 ok",
	},
	{
		file: "srun_label.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "tag_output.log", world: "2r 2n 1/node 1/proc AMD Instinct MI300X", rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r2/g1/oop 21.38 x1 0.0479 0.0479 ok",
		last:  "all_reduce/float/sum/1073741824/r2/g1/ip 6419.7 x1 167.3 167.3 ok",
	},
	{
		file: "terminal.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "commented_rows.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.7 x1 167.3 313.6 ok",
	},
	{
		file: "error_column_reduce-scatter.log", world: "8r 1n 8/node 8/proc Tesla V100-SXM2-32GB", rows: 5, results: 10,
		first: "reduce_scatter/float/sum/1024/r8/g8/oop 21.38 x1 0.0479 0.04191 ok",
		last:  "reduce_scatter/float/sum/1073741824/r8/g8/ip 6419.7 x1 167.3 146.4 ok", skipped: []string{"size 0 [16]"},
	},
	{
		file: "old_algbw.log", world: "8r 1n 8/node 8/proc Tesla V100-SXM2-32GB", rows: 5, results: 10, codes: []string{"old_algbw"},
		first: "all_gather/float/none/1024/r8/g8/oop 21.38 x1 0.0479 0.04191 ok",
		last:  "all_gather/float/none/1073741824/r8/g8/ip 6419.7 x1 167.3 146.4 ok",
	},
	{
		file: "nccl1.log", world: "4r 1n 4/node 4/proc GeForce GTX TITAN X", rows: 2, results: 4, truncated: true,
		codes: []string{"iterations_unknown", "truncated"},
		first: "all_reduce/char/sum/10000000/r4/g4/oop 80.192462 x1 124.7 187.1 not_verified",
		last:  "all_reduce/char/sum/40000000/r4/g4/ip 266.16982 x1 150.3 225.4 not_verified",
	},
	{
		file: "cycles.log", world: mi300x, rows: 15, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.6 x3 0.04741 0.08889 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6584.16 x3 163.1 305.8 ok",
	},
	{
		file: "split.log", world: mi300x, rows: 5, results: 10, codes: []string{"split_communicators"},
		first: "all_reduce/float/sum/1024/r2/g1/oop 21.38 x1 0.0479 0.0479 ok",
		last:  "all_reduce/float/sum/1073741824/r2/g1/ip 6419.72 x1 167.3 167.3 ok",
	},
	{
		file: "squeezed.log", world: "8r 0n 0/node 0/proc ", rows: 2, results: 2,
		codes: []string{"ranks_from_ratio", "nodes_unknown", "place_assumed", "iterations_unknown"},
		first: "all_reduce/float/sum/33554432/r8/g0/oop 218.75 x1 153.4 268.4 ok",
		last:  "all_reduce/float/sum/1073741824/r8/g0/oop 6337.5 x1 169.4 296.5 ok",
	},
	{
		file: "bare_all_reduce.log", world: "16r 0n 0/node 0/proc ", rows: 5, results: 10, truncated: true,
		codes: []string{"ranks_from_ratio", "nodes_unknown", "columns_inferred", "iterations_unknown", "truncated"},
		first: "all_reduce/float/sum/1024/r16/g0/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g0/ip 6419.7 x1 167.3 313.6 ok",
	},
	{
		file: "several.log", world: mi300x, rows: 10, results: 20,
		skipped: []string{`the collective "hypercube" is not supported; supported are ` + strings.Join(collective.Names(), ", ") + " [59 60 61 62 63]"},
		first:   "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:    "reduce_scatter/float/sum/1073741824/r16/g1/ip 6419.7 x1 167.3 156.8 ok",
	},
	{
		file: "singletons_srun.log", world: "8r 1n 8/node 8/proc AMD Instinct MI300X", rows: 10, results: 20, codes: []string{"separate_worlds"},
		first: "all_reduce/float/sum/1024/r8/g8/oop/node-a:0,1,2,3,4,5,6,7+process_0 21.38 x1 0.0479 0.08382 ok",
		last:  "all_reduce/float/sum/1073741824/r8/g8/ip/node-b:0,1,2,3,4,5,6,7+process_1 6666.38 x1 161.1 281.9 ok",
	},
	{
		file: "cut_in_number.log", world: mi300x, rows: 4, results: 8, truncated: true, codes: []string{"truncated"},
		skipped: []string{"last line of a file that ends without a line end [29]"},
		first:   "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:    "all_reduce/float/sum/33554432/r16/g1/ip 221.42 x1 151.5 284.1 ok",
	},
	{
		file: "cut_in_last_cell.log", world: mi300x, rows: 4, results: 8, truncated: true, codes: []string{"truncated"},
		skipped: []string{"last line of a file that ends without a line end [29]"},
		first:   "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:    "all_reduce/float/sum/33554432/r16/g1/ip 221.42 x1 151.5 284.1 ok",
	},
	{
		file: "wrong.log", world: mi300x, rows: 5, results: 10, codes: []string{"out_of_bounds"},
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.7 x1 167.3 313.6 not_verified",
	},
	{
		file: "failure.log", world: mi300x, rows: 3, results: 6, truncated: true,
		codes: []string{"max_bytes_reduced", "test_timeout", "test_failure", "truncated"},
		first: "all_reduce/float/sum/1048576/r16/g1/oop 2873.2 x1 0.365 0.6843 ok",
		last:  "all_reduce/float/sum/17179869184/r16/g1/ip 24196999 x1 0.71 1.331 ok",
	},
	{
		file: "damaged.log", world: mi300x, rows: 5, results: 10,
		skipped: []string{
			"other output is mixed into the row [26 28]", "the cells do not fit the column names [29 30]", "the time is not a finite positive number [35]",
			"the time is 0 although the size is not [36]", "size/time contradicts algbw [33]",
		},
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "tag_inside.log", world: mi300x, rows: 3, results: 6,
		skipped: []string{"other output is mixed into the row [27 30]", "the cells do not fit the column names [29 31]"}, codes: []string{},
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "rank_inside.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "srun_one_gpu.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "one_gpu_no_bus.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "prose.log", world: mi300x, rows: 5, results: 10,
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 ok",
	},
	{
		file: "pairs.log", world: "2r 2n 1/node 1/proc AMD Instinct MI300X", rows: 15, results: 30, codes: []string{"several_setups"},
		first: "all_reduce/float/sum/1024/r2/g1/oop/node-a:0_node-b:0 21.38 x1 0.0479 0.0479 ok",
		last:  "all_reduce/float/sum/1073741824/r2/g1/ip/node-c:0_node-d:0 128394 x1 8.363 8.363 ok",
	},
	{
		file: "settings.log", world: mi300x, rows: 20, results: 30, codes: []string{"aggregated", "repeated_table", "several_setups"},
		first: "all_reduce/float/sum/1024/r16/g1/oop/agg_iters_1+graph_0 21.595 x2 0.04742 0.08891 ok",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip/agg_iters_1+graph_1 4493.8 x1 238.9 448 ok",
	},
	{
		file: "no_number_signs.log", world: mi300x, rows: 5, results: 10, codes: []string{"out_of_bounds"},
		first: "all_reduce/float/sum/1024/r16/g1/oop 21.38 x1 0.0479 0.0898 wrong",
		last:  "all_reduce/float/sum/1073741824/r16/g1/ip 6419.72 x1 167.3 313.6 wrong",
	},
	{
		file: "coarse.log", world: mi300x, rows: 2, results: 4,
		first: "all_reduce/float/sum/8589934592/r16/g1/oop 8200000 x1 1.048 1.964 ok",
		last:  "all_reduce/float/sum/17179869184/r16/g1/ip 16679485 x1 1.03 1.931 ok",
	},
}

func TestLayouts(t *testing.T) {
	for _, c := range layoutCases {
		t.Run(c.file, func(t *testing.T) {
			rec := parseFile(t, project.File(t, "testdata/logs/"+c.file))
			require.Equal(t, c.rows, rec.Source.Imports[0].Rows)
			require.Len(t, rec.Results, c.results)
			require.Equal(t, c.world, worldBrief(rec.World))
			require.Equal(t, c.first, brief(rec.Results[0]))
			require.Equal(t, c.last, brief(rec.Results[c.results-1]))
			require.Equal(t, append([]string{}, c.skipped...), skipBrief(rec))
			require.Equal(t, append([]string{}, c.codes...), codes(rec))
			require.Equal(t, c.truncated, rec.Source.Imports[0].Truncated)
		})
	}
}

// Every synthetic log that imports must be in the table.
func TestLayoutsAreAllListed(t *testing.T) {
	// Those without a row that can be read are refused: see TestRefusals.
	require.Len(t, ownLogs(t), len(layoutCases)+4)
}
