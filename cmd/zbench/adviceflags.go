package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/collective"
	"zbench/bench/model"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// adviceOptions is what a bucket size depends on beside the curves. Zeroes are
// not given.
type adviceOptions struct {
	framework, params, preset, config string
	total, largest                    int64
	layers                            int
	run                               trainer.Run
	pp                                int
	backward, forward, step           float64 // seconds
	tokens, active                    int64
	flops                             float64
	recompute, rescale                bool
	memBudget                         int64
	// given is the flags that were given, in their order.
	given map[string]string
}

// adviceFlag is one of the flags that recommend and collectives share.
type adviceFlag struct {
	name, unit, meaning string
	set                 func(o *adviceOptions, v string) error
}

// adviceFlags is the table of them all.
var adviceFlags = []adviceFlag{
	{"framework", "name", "the trainer: " + strings.Join(trainer.Names(), ", ") + " (Primus is megatron)", func(o *adviceOptions, v string) error {
		_, err := trainer.ByName(v)
		o.framework = strings.ToLower(strings.TrimSpace(v)) // an alias chooses the snippet that comes first
		return err
	}},
	{"params", "file", "one rank's parameter tensors in forward order: CSV or JSON of name and elements or shape, safetensors, or its index", func(o *adviceOptions, v string) error { return setText(&o.params, v) }},
	{"preset", "name", "a published model: " + strings.Join(model.PresetNames(), ", "), func(o *adviceOptions, v string) error {
		_, err := model.Preset(v)
		o.preset = v
		return err
	}},
	{"total-params", "count", "number of parameters, where there is no list; k, M, G are decimal", func(o *adviceOptions, v string) error { return setCount(&o.total, v) }},
	{"layers", "number", "with --total-params: number of transformer blocks", func(o *adviceOptions, v string) error { return setWhole(&o.layers, v) }},
	{"largest-param", "count", "with --total-params: elements of the embedding and of the output layer", func(o *adviceOptions, v string) error { return setCount(&o.largest, v) }},
	{"dp", "ranks", "ranks that reduce a gradient together (default the curve's)", func(o *adviceOptions, v string) error { return setWhole(&o.run.DP, v) }},
	{"optimizer", "name", "Megatron's --optimizer: with muon and the like each matrix stays whole on one rank (default adam)", func(o *adviceOptions, v string) (err error) {
		o.run.LayerWise, err = trainer.LayerWiseOptimizer(v)
		return err
	}},
	{"ep", "groups", "expert-parallel groups among them", func(o *adviceOptions, v string) error { return setWhole(&o.run.EP, v) }},
	{"pp", "stages", "pipeline stages: a preset or a total is cut to the first", func(o *adviceOptions, v string) error { return setWhole(&o.pp, v) }},
	{"instances", "number", "Megatron's --num-distributed-optimizer-instances", func(o *adviceOptions, v string) error { return setWhole(&o.run.Instances, v) }},
	{"grad-dtype", "name", "element type in which gradients are reduced (default the trainer's)", func(o *adviceOptions, v string) error { return setDtype(&o.run.GradDtype, v) }},
	{"param-dtype", "name", "element type in which parameters are gathered (default bfloat16)", func(o *adviceOptions, v string) error { return setDtype(&o.run.ParamDtype, v) }},
	{"zero", "stage", "ZeRO stage; Megatron's distributed optimizer is 1 (default the trainer's usual)", func(o *adviceOptions, v string) error { return setInt(&o.run.Zero, v) }},
	{"accum", "microbatches", "microbatches a step", func(o *adviceOptions, v string) error { return setWhole(&o.run.Accum, v) }},
	{"recompute", "", "backward repeats the whole forward (full recomputation)", func(o *adviceOptions, v string) error { return setBool(&o.recompute, v) }},
	{"backward-ms", "ms", "backward of one microbatch, measured without communication", func(o *adviceOptions, v string) error { return setMilli(&o.backward, v) }},
	{"forward-ms", "ms", "forward of it (default half the backward)", func(o *adviceOptions, v string) error { return setMilli(&o.forward, v) }},
	{"step-ms", "ms", "forward and backward of one microbatch together, split 1:2", func(o *adviceOptions, v string) error { return setMilli(&o.step, v) }},
	{"tokens-per-microbatch", "count", "tokens a GPU has in a microbatch, where no time was measured", func(o *adviceOptions, v string) error { return setCount(&o.tokens, v) }},
	{"active-params", "count", "parameters that a token uses on this GPU (default the preset's)", func(o *adviceOptions, v string) error { return setCount(&o.active, v) }},
	{"tflops", "TFLOP/s", "what a GPU reaches in training", func(o *adviceOptions, v string) error {
		return setScaled(&o.flops, v, leastTflops, mostTflops, "TFLOP/s", 1e12)
	}},
	{"mem-budget", "bytes", "memory for the trainer's buffers; K, M, G are binary", func(o *adviceOptions, v string) error { return setBytes(&o.memBudget, v) }},
	{"config", "file", "the trainer's own settings, read and judged: " + strings.Join(trainer.Reads(), ", "), func(o *adviceOptions, v string) error { return setText(&o.config, v) }},
	{"allow-rescale", "", "use a curve of another number of ranks as if it were a ring; the confidence is then low", func(o *adviceOptions, v string) error { return setBool(&o.rescale, v) }},
}

// adviceValue makes a row of the table a pflag.Value.
type adviceValue struct {
	row  adviceFlag
	to   *adviceOptions
	text string
}

func (v *adviceValue) String() string   { return v.text }
func (v *adviceValue) Type() string     { return v.row.unit }
func (v *adviceValue) IsBoolFlag() bool { return v.row.unit == "" }
func (v *adviceValue) Set(text string) error {
	v.text = text
	v.to.given[v.row.name] = text
	return v.row.set(v.to, text)
}

// addAdviceFlags puts the table on a command.
func addAdviceFlags(cmd *cobra.Command, o *adviceOptions) {
	o.given = map[string]string{}
	for _, row := range adviceFlags {
		value := &adviceValue{row: row, to: o}
		f := cmd.Flags().VarPF(value, row.name, "", row.meaning)
		if value.IsBoolFlag() {
			f.NoOptDefVal = "true"
		}
	}
}

// has tells whether a flag was given.
func (o *adviceOptions) has(name string) bool {
	_, given := o.given[name]
	return given
}

// asked tells whether a recommendation was asked for.
func (o *adviceOptions) asked() bool { return o.has("framework") || o.has("config") }

// line is the flags as they were given, in the order of the table. Files are
// named without their folder: a document does not carry a machine's paths.
func (o *adviceOptions) line() []string {
	var line []string
	for _, f := range adviceFlags {
		v, given := o.given[f.name]
		switch {
		case !given:
		case f.unit == "":
			line = append(line, "--"+f.name)
		case f.unit == "file":
			line = append(line, "--"+f.name, base(v))
		default:
			line = append(line, "--"+f.name, v)
		}
	}
	return line
}

func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// adviceNames are the names of the flags.
func adviceNames() []string {
	var names []string
	for _, f := range adviceFlags {
		names = append(names, f.name)
	}
	return names
}

// check refuses flags that say two things or need another one.
func (o *adviceOptions) check() error {
	models, times := o.among("params", "preset", "total-params"), o.among("backward-ms", "step-ms", "tokens-per-microbatch")
	needs := func(flag string, others ...string) error {
		if o.has(flag) && len(o.among(others...)) == 0 {
			return fmt.Errorf("--%s means nothing without --%s", flag, strings.Join(others, " or --"))
		}
		return nil
	}
	switch {
	case len(models) > 1:
		return fmt.Errorf("--%s: one of them says what the model is", strings.Join(models, " and --"))
	case len(times) > 1:
		return fmt.Errorf("--%s: one of them says how long a microbatch takes", strings.Join(times, " and --"))
	case len(o.given) > 0 && !o.asked():
		return fmt.Errorf("--%s is for a bucket size, which takes --framework or --config too", o.line()[0][2:])
	}
	for _, err := range []error{
		needs("layers", "total-params"), needs("largest-param", "total-params"), needs("forward-ms", "backward-ms"),
		needs("tokens-per-microbatch", "tflops"), needs("tflops", "tokens-per-microbatch", "config"),
		needs("recompute", "tokens-per-microbatch", "tflops"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// among are those of the flags that were given.
func (o *adviceOptions) among(names ...string) []string {
	var given []string
	for _, n := range names {
		if o.has(n) {
			given = append(given, n)
		}
	}
	return given
}

func setText(to *string, v string) error {
	if v == "" {
		return fmt.Errorf("no name of a file")
	}
	*to = v
	return nil
}

func setCount(to *int64, v string) error {
	n, err := unit.ParseCount(v)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q: at least 1 is needed", v)
	}
	*to = n
	return err
}

func setWhole(to *int, v string) error {
	const most = 1 << 24
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("%q is not a whole number from 1 to %d", v, most)
	}
	*to = n
	return nil
}

func setDtype(to *string, v string) error {
	d, err := collective.DtypeByName(v)
	*to = d.Name
	return err
}

func setBool(to *bool, v string) (err error) {
	*to, err = strconv.ParseBool(v)
	return err
}

// A microbatch takes from a microsecond to an hour, and a GPU reaches up to an
// exaflop per second: what lies beyond is a slip of the unit.
const (
	leastMilli, mostMilli   = 1e-3, 3.6e6
	leastTflops, mostTflops = 1e-3, 1e6
)

func setMilli(to *float64, v string) error {
	return setScaled(to, v, leastMilli, mostMilli, "milliseconds", 1e-3)
}

func setScaled(to *float64, v string, least, most float64, what string, scale float64) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is not a number above 0", v)
	}
	if f < least || f > most {
		return fmt.Errorf("%q: from %g to %g %s are plausible", v, least, most, what)
	}
	*to = f * scale
	return nil
}
