package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/record"
	"zbench/bench/unit"
	"zbench/hbm"
)

func newKernels(s State) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Training kernels: fused norms, Muon",
		Long:  "Runs a training kernel, checks its result against a float64 reference and, on a\nGPU, times it against the same work kernel by kernel.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("zbench kernels --help lists them", "unknown kernel %q: valid are %s", args[0], strings.Join(append(hbm.NormNames(), "muon"), ", "))
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, name := range hbm.NormNames() {
		cmd.AddCommand(newNorm(s, name))
	}
	cmd.AddCommand(newMuon(s))
	return cmd
}

func newNorm(s State, name string) *cobra.Command {
	var o kernelOptions
	var peak float64
	help := "zbench kernels " + name + " --help lists the flags"
	cmd := &cobra.Command{
		Use:   name,
		Short: "Residual addition and " + name + " fused, against separate kernels",
		Long: `Adds x and its residual, normalises the rows of the sum and applies the weights
in one pass over memory, rows kept in registers, and runs the same work kernel
by kernel (add, statistics, normalise, affine). Both are checked against a
float64 reference: the sum to the last bit, the result to one unit in the last
place.

On a GPU speed is given against the same kernel by kernel and against a copy of
as many bytes, both of the same run. The least that memory must move is 4 ·
rows · hidden · size + weights bytes.

Without a GPU results are checked and nothing is timed: the loopback runs
kernels thread by thread, so choose small shapes.`,
		Example: "  zbench kernels " + name + "\n  zbench kernels " + name + " --rows 16384 --hidden 4096,8192 --dtype bfloat16",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := kernelBench{name: name, help: help}
			b.check = func(k *kernelOptions) error { return k.checkNorm(help, peak, cmd.Flags().Changed("rows")) }
			b.open = func(ctx context.Context, s State, k *kernelOptions) (*kernelDevices, error) {
				return openNorm(ctx, s, k, name, help)
			}
			return b.run(cmd, s, o)
		},
	}
	addKernelFlags(cmd, &o, 1)
	addMemoryFlags(cmd, &o, &peak)
	f, a := cmd.Flags(), &o.asked
	f.Int64Var(&a.Rows, "rows", 0, "rows, as tokens (default 32,768 on a GPU, 8 without)")
	f.Int64SliceVar(&a.Hidden, "hidden", []int64{1024, 4096, 8192, 16384}, "elements of a row, 1 to 65,536")
	f.StringSliceVar(&a.Dtypes, "dtype", []string{"bfloat16"}, "element types: "+strings.Join(hbm.NormTypeNames(), ", "))
	return cmd
}

// checkNorm refuses what no shape or type is, and brings the types to one form.
func (o *kernelOptions) checkNorm(help string, peak float64, rowsGiven bool) error {
	if err := o.checkMemory(help, peak); err != nil {
		return err
	}
	a := &o.asked
	var types []string
	for _, name := range a.Dtypes {
		t, ok := hbm.NormTypeByName(name)
		if !ok {
			return usagef(help, "unknown --dtype %q: valid are %s", name, strings.Join(hbm.NormTypeNames(), ", "))
		}
		if !slices.Contains(types, t.Name) {
			types = append(types, t.Name)
		}
	}
	a.Dtypes = types
	if rowsGiven && (a.Rows < 1 || a.Rows > 1<<30) {
		return usagef("give 1 or more", "--rows %d: a matrix has 1 to %d rows", a.Rows, 1<<30)
	}
	for _, h := range a.Hidden {
		if h < 1 || h > hbm.MaxHidden {
			return usagef("give 1 to 65536", "--hidden %d: a row has 1 to %d elements", h, hbm.MaxHidden)
		}
	}
	if len(types) == 0 || len(a.Hidden) == 0 {
		return usagef(help, "--dtype and --hidden name at least one each")
	}
	return nil
}

// openNorm opens the devices, plans the shapes and reserves the memory of the largest.
func openNorm(ctx context.Context, s State, o *kernelOptions, name, help string) (*kernelDevices, error) {
	d, err := o.openMemory(ctx, s, help, false)
	if err != nil {
		return nil, err
	}
	if o.asked.Rows == 0 {
		o.asked.Rows = 8
		if d.Devices()[0].Kind == record.GPU {
			o.asked.Rows = 32768
		}
	}
	k := &kernelDevices{driver: d, devices: d.Devices()}
	most := int64(0)
	for _, c := range normCases(o.asked, name) {
		most = max(most, c.Bytes())
		k.rows, k.jobs = append(k.rows, d.Planned(c)...), append(k.jobs, d.Job(c, o.rule()))
	}
	free, err := d.Free()
	if err == nil && most > free-free/10 {
		err = usagef("choose fewer --rows or a smaller --hidden", "%d rows need %s, and the device has %s free", o.asked.Rows, unit.Bytes(most), unit.Bytes(free))
	}
	if err == nil {
		err = d.AllocateBytes(most)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return k, nil
}

// normCases lists the shapes that were asked for in all roles.
func normCases(a record.Asked, name string) []hbm.NormCase {
	norm, _ := hbm.NormByName(name)
	var out []hbm.NormCase
	for _, dtype := range a.Dtypes {
		t, _ := hbm.NormTypeByName(dtype)
		for _, h := range a.Hidden {
			for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
				c := hbm.NormCase{Norm: norm, Type: t, Rows: a.Rows, Hidden: h, Role: role}
				if !slices.Contains(out, c) { // --hidden may name one twice
					out = append(out, c)
				}
			}
		}
	}
	return out
}
