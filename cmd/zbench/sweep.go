package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/collective"
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// sweepOptions is what rccl-tests' flags say.
type sweepOptions struct {
	minBytes, maxBytes int64
	factor             int
	step               int64
	graph              int
	run                plan.Options
	dtype              collective.Dtype
	op                 collective.Op
	gpusPerProcess     int
	place              string
	cache              string
	verifyBudget       int64
}

// sweepFlag is one flag of rccl-tests: its letter and name there, what it means
// and in which unit, and zbench's default.
type sweepFlag struct {
	letter, name, unit, fallback, meaning string
	set                                   func(*sweepOptions, string) error
}

// sweepFlags is the table of them all. The letters and names mean what they
// mean in rccl-tests.
var sweepFlags = []sweepFlag{
	{"b", "minbytes", "bytes", "1K", "smallest total size", func(o *sweepOptions, v string) error { return setBytes(&o.minBytes, v) }},
	{"e", "maxbytes", "bytes", "8G", "largest total size", func(o *sweepOptions, v string) error { return setBytes(&o.maxBytes, v) }},
	{"f", "stepfactor", "factor", "2", "each size is this times the one before", func(o *sweepOptions, v string) error { return setInt(&o.factor, v) }},
	{"i", "stepbytes", "bytes", "0", "each size is this more than the one before, instead of -f", func(o *sweepOptions, v string) error { return setBytes(&o.step, v) }},
	{"n", "iters", "launches", "20", "launches in a burst", func(o *sweepOptions, v string) error { return setInt(&o.run.Iterations, v) }},
	{"w", "warmup_iters", "launches", "5", "launches before the first burst, not timed", func(o *sweepOptions, v string) error { return setInt(&o.run.Warmup, v) }},
	{"d", "datatype", "name", "float", "element type (zbench list dtypes)", func(o *sweepOptions, v string) (err error) {
		o.dtype, err = collective.DtypeByName(v)
		return err
	}},
	{"o", "op", "name", "sum", "reduction operator (zbench list ops)", func(o *sweepOptions, v string) (err error) {
		o.op, err = collective.OpByName(v)
		return err
	}},
	{"c", "check", "launches", "1", "launches whose result is verified", func(o *sweepOptions, v string) error { return setInt(&o.run.Checks, v) }},
	{"g", "ngpus", "GPUs", "1", "GPUs that one process drives", func(o *sweepOptions, v string) error { return setInt(&o.gpusPerProcess, v) }},
	{"G", "hipgraph", "replays", "0", "capture a burst's launches into a graph and replay it so often; bursts only", func(o *sweepOptions, v string) error { return setInt(&o.graph, v) }},
}

// ownFlags are zbench's: rccl-tests has no word for them.
var ownFlags = []sweepFlag{
	{"", "precision", "share", "0.01", "half the 95 % interval over the median at which a timing is precise enough", func(o *sweepOptions, v string) error {
		return setFloat(v, &o.run.Burst.Precision, &o.run.Isolated.Precision)
	}},
	{"", "max-time", "seconds", "0.4", "measured time after which a timing of a case ends", func(o *sweepOptions, v string) error {
		return setFloat(v, &o.run.Burst.MaxTime, &o.run.Isolated.MaxTime)
	}},
	{"", "place", "name", "both", "buffers: " + strings.Join(names(places), ", "), func(o *sweepOptions, v string) error { return setName(&o.place, v, places) }},
	{"", "cache", "name", "cold", "cold: buffers rotate over twice the last level of cache; warm: they do not", func(o *sweepOptions, v string) error { return setName(&o.cache, v, caches) }},
	{"", "verify-budget", "bytes", "256M", "verify on the loopback while all ranks' buffers fit into this", func(o *sweepOptions, v string) error { return setBytes(&o.verifyBudget, v) }},
}

// places maps --place to the forms that are run: in place or not.
var places = map[string][]bool{"out": {false}, "in": {true}, "both": {false, true}}

// caches maps --cache to whether buffers rotate.
var caches = map[string]bool{"cold": true, "warm": false}

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func setName[T any](to *string, v string, valid map[string]T) error {
	if _, ok := valid[v]; !ok {
		return fmt.Errorf("%q is not one of %s", v, strings.Join(names(valid), ", "))
	}
	*to = v
	return nil
}

func setFloat(v string, to ...*float64) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !(f >= 0) {
		return fmt.Errorf("%q is not a number from 0", v)
	}
	for _, t := range to {
		*t = f
	}
	return nil
}

func setBytes(to *int64, v string) (err error) {
	*to, err = unit.ParseBytes(v)
	return err
}

func setInt(to *int, v string) error {
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0", v)
	}
	*to = n
	return nil
}

// flagValue makes a row of the table a pflag.Value.
type flagValue struct {
	row  sweepFlag
	to   *sweepOptions
	text string
}

func (v *flagValue) String() string { return v.text }
func (v *flagValue) Type() string   { return v.row.unit }
func (v *flagValue) Set(text string) error {
	v.text = text
	return v.row.set(v.to, text)
}

// otherNames are spellings that are taken too; --cudagraph is nccl-tests'.
var otherNames = map[string]string{"warmup-iters": "warmup_iters", "cudagraph": "hipgraph"}

// addSweepFlags puts the table on a command and the defaults into o.
func addSweepFlags(cmd *cobra.Command, o *sweepOptions) {
	o.run = plan.DefaultOptions()
	for _, row := range slices.Concat(sweepFlags, ownFlags) {
		value := &flagValue{row: row, to: o}
		if err := value.Set(row.fallback); err != nil {
			panic("default of --" + row.name + ": " + err.Error()) // a test parses every row
		}
		cmd.Flags().VarP(value, row.name, row.letter, row.meaning)
	}
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if other, ok := otherNames[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	})
}

// axes joins the options with the collectives and the world.
func (o sweepOptions) axes(all collectivesOptions, w fabric.World, share int) (plan.Axes, error) {
	wanted := all.names
	a := plan.Axes{
		Dtype: o.dtype, Op: o.op, MinBytes: o.minBytes, MaxBytes: o.maxBytes, Factor: o.factor, InPlace: places[o.place],
		Step: o.step, Graph: o.graph,
		Ranks: w.Ranks() * share, RanksPerGPU: share, Nodes: w.Nodes, GPUsPerProcess: w.GPUsPerProcess, Groups: all.groups, Strides: all.strides, Scales: all.scales,
	}
	if len(wanted) == 0 {
		wanted = collective.Default()
	}
	seen := map[string]bool{}
	for _, name := range wanted {
		c, err := collective.ByName(name)
		if err != nil {
			return a, err
		}
		if !seen[c.Name] {
			a.Collectives = append(a.Collectives, c)
		}
		seen[c.Name] = true
	}
	if err := a.Validate(); err != nil {
		return a, err
	}
	if err := o.run.Validate(); err != nil {
		return a, err
	}
	if n := o.run.Iterations * max(o.graph, 1); n > plan.MaxLaunches {
		return a, fmt.Errorf("a burst of %d launches (-n times -G) is more than %d", n, plan.MaxLaunches)
	}
	return a, nil
}

// record is the part of the record that says what was asked.
func (o sweepOptions) record(a plan.Axes, seed uint64) *record.Sweep {
	s := &record.Sweep{
		MinBytes: o.minBytes, MaxBytes: o.maxBytes, Factor: o.factor, Dtype: o.dtype.Name, Op: o.op.Name,
		InPlace: a.InPlace, Iterations: o.run.Iterations, Warmup: o.run.Warmup, Checks: o.run.Checks,
		Precision: o.run.Burst.Precision, MaxTime: o.run.Burst.MaxTime, Cache: o.cache, Seed: seed,
		StepBytes: o.step, GraphLaunches: o.graph, Groups: a.Groups, Strides: a.Strides, Scales: a.Scales,
	}
	if o.step > 0 {
		s.Factor = 1
	}
	for _, c := range a.Collectives {
		s.Collectives = append(s.Collectives, c.Name)
	}
	return s
}
