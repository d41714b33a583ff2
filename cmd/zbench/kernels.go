package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/hbm"
	"zbench/hbm/muon"
)

// kernelBenches are hbm and the kernels: the rows of "zbench kernels" but for the
// first.
var kernelBenches = slices.Concat(
	[]kernelBench{{name: spec.HBM, flags: hbmFlags, check: hbm.Check, open: openMemory}}, fusedBenches(), []kernelBench{{name: spec.Muon, flags: muonFlags, check: muon.Check, fill: smallMuon, open: openMuon}},
)

func fusedBenches() []kernelBench {
	var all []kernelBench
	for _, f := range hbm.Families() {
		all = append(all, kernelBench{name: f.Name, flags: fusedFlags(f), check: hbm.Check, open: openMemory})
	}
	return all
}

// benchOf is hbm or a kernel by name; nil for collectives.
func benchOf(name string) *kernelBench {
	if i := slices.IndexFunc(kernelBenches, func(b kernelBench) bool { return b.name == name }); i >= 0 {
		return &kernelBenches[i]
	}
	return nil
}

// kernelNames lists the commands of "zbench kernels".
func kernelNames() []string {
	var names []string
	for _, b := range kernelBenches[1:] {
		names = append(names, b.name)
	}
	return names
}

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
	for _, b := range kernelBenches[1:] {
		one := kernelTexts(b.name)
		one.Use, one.Args = b.name, noArgs
		b.add(one, s)
		cmd.AddCommand(one)
	}
	return cmd
}

// kernelTexts is a kernel's command with what its help says.
func kernelTexts(name string) *cobra.Command {
	if name == spec.Muon {
		return muonTexts()
	}
	f, _ := hbm.FamilyByName(name)
	return &cobra.Command{
		Short: f.Short,
		Long: f.Long + `

Without a GPU results are checked and nothing is timed: the loopback runs
kernels thread by thread, so choose small shapes.`,
		Example: "  zbench kernels " + name + "\n  zbench kernels " + name + " --rows 16384 --hidden 4096,8192 --dtype bfloat16",
	}
}
