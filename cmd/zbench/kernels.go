package main

import (
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/base/spell"
	"zbench/bench/run/spec"
	_ "zbench/hbm/gemm" // registers its family
	_ "zbench/hbm/muon" // registers its family
)

func newHBM(s State) *cobra.Command { return benchOf(spec.HBM).command(s) }

func newGemm(s State) *cobra.Command { return benchOf(spec.Gemm).command(s) }

func newKernels(s State) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Training kernels: " + strings.Join(kernelNames(), ", "),
		Long:  "Runs a training kernel, checks its result against a float64 reference and, on a\nGPU, times it against the same work kernel by kernel.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(&spell.Unknown{Kind: "kernel", Given: args[0], Valid: kernelNames()}, "`zbench kernels --help` lists them")
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, b := range trainingKernels() {
		cmd.AddCommand(b.command(s))
	}
	return cmd
}
