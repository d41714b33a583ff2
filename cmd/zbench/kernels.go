package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/memory"
	"zbench/bench/unit"
	"zbench/hbm"
)

// normOptions is everything a norm's command was told.
type normOptions struct {
	memoryOptions
	rows   int64
	hidden []int64
	dtypes []string
}

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
	var o normOptions
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
		RunE:    func(cmd *cobra.Command, _ []string) error { return runNorm(cmd.Context(), s, name, o) },
	}
	addMemoryFlags(cmd, &o.memoryOptions)
	f := cmd.Flags()
	f.Int64Var(&o.rows, "rows", 0, "rows, as tokens (default 32,768 on a GPU, 8 without)")
	f.Int64SliceVar(&o.hidden, "hidden", []int64{1024, 4096, 8192, 16384}, "elements of a row, 1 to 65,536")
	f.StringSliceVar(&o.dtypes, "dtype", []string{"bfloat16"}, "element types: "+strings.Join(hbm.NormTypeNames(), ", "))
	return cmd
}

// check refuses what no shape or type is.
func (o normOptions) check(help string, rowsGiven bool) ([]hbm.Type, error) {
	var types []hbm.Type
	for _, name := range o.dtypes {
		t, ok := hbm.NormTypeByName(name)
		if !ok {
			return nil, usagef(help, "unknown --dtype %q: valid are %s", name, strings.Join(hbm.NormTypeNames(), ", "))
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if rowsGiven && (o.rows < 1 || o.rows > 1<<30) {
		return nil, usagef("give 1 or more", "--rows %d: a matrix has 1 to %d rows", o.rows, 1<<30)
	}
	for _, h := range o.hidden {
		if h < 1 || h > hbm.MaxHidden {
			return nil, usagef("give 1 to 65536", "--hidden %d: a row has 1 to %d elements", h, hbm.MaxHidden)
		}
	}
	if len(types) == 0 || len(o.hidden) == 0 {
		return nil, usagef(help, "--dtype and --hidden name at least one each")
	}
	return types, nil
}

func runNorm(ctx context.Context, s State, name string, o normOptions) error {
	help := "zbench kernels " + name + " --help lists the flags"
	types, err := o.check(help, o.rows != 0 || rowsWereGiven(s))
	if err != nil {
		return err
	}
	m, err := o.open(ctx, s, name, help, false)
	if err != nil {
		return err
	}
	defer m.close()
	if o.rows == 0 {
		o.rows = 8
		if m.driver.Devices()[0].Kind == memory.GPU {
			o.rows = 32768
		}
	}
	cases, err := o.cases(m, name, types)
	if err != nil {
		return err
	}
	m.rec.Asked = memory.Asked{Sizes: []int64{}, Kernels: []string{name}, Data: "random", Precision: o.precision, MaxTime: o.maxTime, Seed: o.seed, Faults: o.faults}
	for _, t := range types {
		m.rec.Asked.Dtypes = append(m.rec.Asked.Dtypes, t.Name)
	}
	for _, c := range cases {
		m.rec.Results = append(m.rec.Results, m.driver.PlannedNorm(c)...)
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	for _, c := range cases {
		if err := m.run(c.Key(), func() ([]memory.Result, error) { return m.driver.MeasureNorm(c, o.rule()) }); err != nil {
			return err
		}
	}
	return m.finish()
}

// rowsWereGiven tells a --rows 0 from none.
func rowsWereGiven(s State) bool {
	for _, a := range s.Args {
		if a == "--rows" || strings.HasPrefix(a, "--rows=") {
			return true
		}
	}
	return false
}

// cases lists the shapes and reserves the memory of the largest.
func (o normOptions) cases(m *memoryRun, name string, types []hbm.Type) ([]hbm.NormCase, error) {
	norm, _ := hbm.NormByName(name)
	var out []hbm.NormCase
	most := int64(0)
	for _, t := range types {
		for _, h := range o.hidden {
			for _, role := range []string{memory.Fused, memory.Unfused, memory.Copy} {
				c := hbm.NormCase{Norm: norm, Type: t, Rows: o.rows, Hidden: h, Role: role}
				if !slices.Contains(out, c) { // --hidden may name one twice
					most, out = max(most, c.Bytes()), append(out, c)
				}
			}
		}
	}
	free, err := m.driver.Free()
	if err != nil {
		return nil, err
	}
	if most > free-free/10 {
		return nil, usagef("choose fewer --rows or a smaller --hidden", "%d rows need %s, and the device has %s free", o.rows, unit.Bytes(most), unit.Bytes(free))
	}
	return out, m.driver.AllocateBytes(most)
}
