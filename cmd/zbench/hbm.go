package main

import (
	"strings"

	"github.com/spf13/cobra"

	"zbench/hbm"
)

func newHBM(s State) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hbm",
		Short: "Memory bandwidth of a GPU; without one, of this host's memory",
		Long: `Measures ` + strings.Join(hbm.StreamNames(), ", ") + ` over arrays that no cache
holds, each in a fixed configuration that compares with BabelStream and in
zbench's own, checks every element on the device, and leaves one folder:
results.json, results.csv, report.html, journal.jsonl and run.json. Each case
has two passes, each written to disk at once: --resume DIR continues an
interrupted run.

Bandwidths count every array of a kernel once, as STREAM does. Without a GPU
the host's memory is measured, on all CPUs and the wall clock: a real figure,
labelled host memory.`,
		Example: `  zbench hbm
  zbench hbm --kernels copy,triad --dtype float64 --size 1G
  zbench hbm --sweep --tune --all-gpus`,
		Args: noArgs,
	}
	kernelBenches[0].add(cmd, s)
	return cmd
}
