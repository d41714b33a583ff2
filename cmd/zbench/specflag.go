package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/base/option"
	"zbench/bench/base/slice"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
)

// specFlag is a flag that fills a request.
type specFlag = option.Row[spec.Spec]

// flagValue turns a row of a table into a pflag.Value.
type flagValue[T any] struct {
	row   option.Row[T]
	to    *T
	texts []string
	given bool
}

func (v *flagValue[T]) String() string   { return strings.Join(v.texts, " ") }
func (v *flagValue[T]) Type() string     { return v.row.Unit }
func (v *flagValue[T]) IsBoolFlag() bool { return v.row.Unit == "" }
func (v *flagValue[T]) Set(text string) error {
	if !v.given {
		v.texts, v.given = nil, true // drop the texts of the default
	}
	v.texts = append(v.texts, text)
	return v.row.Set(v.to, v.texts)
}

// otherNames are other spellings that are accepted. --cudagraph is from nccl-tests.
var otherNames = map[string]string{"warmup-iters": "warmup_iters", "cudagraph": "hipgraph", "agg-iters": "agg_iters", "memory-type": "memory_type"}

// specRows returns the rows of specFlags with these names.
func specRows(names []string) []specFlag {
	return slices.DeleteFunc(slices.Clone(specFlags), func(f specFlag) bool { return !slices.Contains(names, f.Name) })
}

// addSpecFlags adds the table's flags to a command, and their defaults to the request.
func addSpecFlags(cmd *cobra.Command, to *spec.Spec) {
	*to = spec.Spec{Schema: spec.Schema, Benchmark: spec.Collectives, Sweep: &spec.Sweep{}}
	addFlags(cmd, to, specFlags)
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if other, ok := otherNames[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	})
}

// addFlags adds rows of flags to a command, and their defaults to the request.
func addFlags[T any](cmd *cobra.Command, to *T, rows []option.Row[T]) {
	for _, row := range rows {
		value := &flagValue[T]{row: row, to: to}
		if row.Default != "" {
			if err := value.Set(row.Default); err != nil {
				panic("default of --" + row.Name + ": " + err.Error()) // a test parses the default of every row
			}
			value.given = false
		}
		f := cmd.Flags().VarPF(value, row.Name, row.Letter, row.Meaning)
		if value.IsBoolFlag() {
			f.NoOptDefVal = "true"
		}
	}
}

// clusterFlags are the flags that describe the machine of a request.
var clusterFlags = []specFlag{
	{Letter: "g", Name: "ngpus", Unit: "GPUs", Default: "1", Meaning: "GPUs that one process drives", Fact: true, Value: option.Natural(func(s *spec.Spec) *int { return &s.World.GPUsPerProcess })},
	{Name: "nodes", Unit: "int", Default: "1", Meaning: "number of nodes", Fact: true, Value: option.Whole(func(s *spec.Spec) *int { return &s.World.Nodes })},
	{Name: "gpus-per-node", Unit: "int", Meaning: "GPUs used on each node (default all)", Fact: true, Value: option.Whole(func(s *spec.Spec) *int { return &s.World.GPUsPerNode })},
	{
		Name: "ranks-per-gpu", Unit: "int", Meaning: "ranks that share each GPU (NCCL 2.30, NCCL_MULTI_RANK_GPU_ENABLE=1; default 1)",
		Value: option.Of(func(s *spec.Spec) *int { return &s.World.RanksPerGPU }, func(v string) (int, error) {
			n, err := strconv.Atoi(v)
			if err == nil && n < 1 {
				err = fmt.Errorf("%d: it must be at least 1", n)
			}
			return max(0, n), err
		}, strconv.Itoa),
	},
	{
		Name: "fabric", Unit: "string", Default: fabric.Default, Meaning: "hardware to simulate (zbench list fabrics)", Fact: true,
		Value: option.Named(fabric.Names(), func(s *spec.Spec) *string { return &s.Fabric }),
	},
	{
		Name: "backend", Unit: "string", Default: "auto", Meaning: "libraries: auto, " + strings.Join(native.Backends(), ", "), Fact: true,
		Value: option.Text(func(s *spec.Spec) *string { return &s.Backend }),
	},
	{
		Name: "seed", Unit: "uint64", Default: "1", Meaning: "seed of the simulated noise and of the verification's data", Fact: true,
		Value: option.Of(func(s *spec.Spec) *uint64 { return &s.Seed }, func(v string) (uint64, error) { return strconv.ParseUint(v, 0, 64) },
			func(v uint64) string { return strconv.FormatUint(v, 10) }),
	},
	{
		Name: "fault", Unit: "stringArray", Meaning: "plant a fault into the simulation (zbench list faults); may be repeated", Fact: true,
		Value: option.Value[spec.Spec]{
			Set: func(s *spec.Spec, v []string) error {
				s.Faults = slice.Map(v, fabric.SpellFault)
				return nil
			},
			Show: func(s *spec.Spec) []string { return s.Faults },
		},
	},
}

// specFlags are the flags of a sweep.
var specFlags = slices.Concat(spec.SweepFlags, clusterFlags)

// sizesAgree refuses flags that give the sizes in two contradictory ways.
func sizesAgree(f *pflag.FlagSet) error {
	switch {
	case f.Changed("stepbytes") && f.Changed("stepfactor"):
		return usagef("-f multiplies sizes, -i adds to them", "-i and -f exclude each other")
	case f.Changed("sizes") && (f.Changed("minbytes") || f.Changed("maxbytes") || f.Changed("stepfactor") || f.Changed("stepbytes")):
		return usagef("--sizes lists all sizes; leave -b, -e, -f and -i out", "--sizes and -b, -e, -f, -i exclude each other")
	}
	return nil
}
