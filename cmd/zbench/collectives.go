package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/hardware/collective"
)

func newCollectives(s State) *cobra.Command {
	var o sweepOptions
	cmd := &cobra.Command{
		Use:   "collectives [NAME…]",
		Short: "Sweep collectives by message size: results, report and plots",
		Long: `Sweeps ` + strings.Join(collective.Default(), ", ") + `, or the collectives named,
over message sizes and leaves one folder: results.json, results.csv,
report.html, plots as PNG and SVG, knees.json and run.json. The table goes to
standard output, the verdict last; --verbose prints all that is known. "zbench
list collectives" describes all collectives. Each finished pass of a case is
written to journal.jsonl at once: --resume DIR continues an interrupted sweep
and needs no other flag, and every command reads an unfinished sweep. The
measured time and the GPU-hours of a sweep are printed before it starts.
results.json holds the whole request: --spec runs it again.

With --framework, a model and the time of a microbatch the sweep ends with the
bucket size to set, as zbench recommend prints it. Sizes are then added: larger
ones while messages are larger and the curve is not saturated, and the real
message sizes around the answer. Each round is announced before it starts;
--fixed-sizes skips them.

The one-letter flags are rccl-tests'. Sizes are total bytes, as there: for
all_gather and reduce_scatter the full buffer. They grow by a factor (-f) or by
steps (-i). -G captures a burst's launches into a graph and replays it.`,
		Example: `  zbench collectives --nodes 128
  zbench collectives all_reduce -b 1M -e 1G -d bfloat16
  zbench collectives all_gather -b 64M -e 512M -i 64M
  zbench collectives --fabric mi300x-8gpu -g 8 -G 4 --out one-process
  zbench collectives --nodes 128 --framework megatron --preset llama3-8b --step-ms 900
  zbench collectives --screen-first --out all     without the nodes that zbench screen fails
  zbench collectives --spec old/results.json --nodes 64`,
		ValidArgs: collective.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.want.Sweep.Collectives = collectiveNames(args)
			return o.start(cmd.Context(), s, func(ctx context.Context) error { return o.sweep(ctx, s, cmd) })
		},
	}
	addCollectivesFlags(cmd, &o)
	return cmd
}
