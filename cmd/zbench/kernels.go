package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/bench/unit"
	"zbench/hbm"
)

// kernelBenches are hbm and the kernels: the rows of "zbench kernels" but for the
// first.
var kernelBenches = slices.Concat(
	[]kernelBench{{name: spec.HBM, flags: hbmFlags, open: openHBM}}, fusedBenches(), []kernelBench{{name: spec.Muon, flags: muonFlags, open: openMuon}},
)

func fusedBenches() []kernelBench {
	var all []kernelBench
	for _, f := range hbm.Families() {
		all = append(all, kernelBench{name: f.Name, flags: fusedFlags(f), open: openFused})
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
				return usage(&spell.Unknown{Kind: "kernel", Given: args[0], Valid: kernelNames()}, "zbench kernels --help lists them")
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

// openFused opens the devices, plans the shapes and reserves the memory of the largest.
func openFused(ctx context.Context, s State, o *kernelOptions) (*engine.Kernels, error) {
	want := o.want.Kernels
	family, _ := hbm.FamilyByName(o.want.Benchmark)
	if len(want.Dtypes) == 0 || len(want.Hidden) == 0 {
		return nil, usagef(flagsHelp(o.want.Benchmark), "--dtype and --hidden need at least one value each")
	}
	d, err := o.openMemory(ctx, s, family.Files...)
	if err != nil {
		return nil, err
	}
	if want.Rows == 0 {
		want.Rows = 8
		if d.Devices()[0].Kind == record.GPU {
			want.Rows = 32768
		}
	}
	k := &engine.Kernels{Driver: d, Spec: o.want, Facts: o.facts(s, d.Devices(), d.Libraries())}
	most := int64(0)
	for _, c := range fusedCases(family, want) {
		most = max(most, c.Bytes())
		k.Rows, k.Jobs = append(k.Rows, d.Planned(c)...), append(k.Jobs, d.Job(c, o.rule()))
	}
	free, err := d.Free()
	if err == nil && most > free-free/10 {
		err = usagef("choose fewer --rows or a smaller --hidden", "%d rows need %s, and the device has %s free", want.Rows, unit.Bytes(most), unit.Bytes(free))
	}
	if err == nil {
		err = d.AllocateBytes(most)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return k, nil
}

// fusedCases lists the shapes that were asked for in all roles.
func fusedCases(f hbm.Family, k *spec.Kernels) []hbm.FusedCase {
	var out []hbm.FusedCase
	for _, dtype := range k.Dtypes {
		t, _ := f.TypeByName(dtype)
		for _, h := range k.Hidden {
			for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
				out = append(out, f.At(t, int64(k.Rows), int64(h), role))
			}
		}
	}
	return out
}
