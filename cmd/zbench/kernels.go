package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/slice"
	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/hbm"
	_ "zbench/hbm/gemm" // a family in a package of its own
	_ "zbench/hbm/muon" // so is this
)

// kernelBenches are hbm, gemm and the kernels.
var kernelBenches = benches()

func benches() []kernelBench {
	return slice.Map(hbm.Families(), func(f hbm.Family) kernelBench { return kernelBench{Family: f, flags: familyFlags(f.Family)} })
}

// benchOf is hbm or a kernel by name; nil for collectives.
func benchOf(name string) *kernelBench {
	if i := slices.IndexFunc(kernelBenches, func(b kernelBench) bool { return b.Name == name }); i >= 0 {
		return &kernelBenches[i]
	}
	return nil
}

// trainingKernels are the rows of "zbench kernels": those without a command of their own.
func trainingKernels() []kernelBench {
	return slices.DeleteFunc(slices.Clone(kernelBenches), func(b kernelBench) bool { return spec.Command(b.Name) == b.Name })
}

// kernelNames lists the commands of "zbench kernels".
func kernelNames() []string {
	return slice.Map(trainingKernels(), func(b kernelBench) string { return b.Name })
}

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
