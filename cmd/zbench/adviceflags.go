package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/collective"
	"zbench/bench/exit"
	"zbench/bench/shell"
	"zbench/bench/slice"
	"zbench/bench/spec"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// adviceFlagSet holds the flags for a bucket size: its inputs besides the curves.
type adviceFlagSet struct {
	want spec.Advice
	// params and config are files to read; observed is a file or a list.
	params, config, observed string
	// args and variables are the input of config's script.
	args      string
	variables []string
	traces    []string
	given     bool
}

// ask is a row of adviceFlags: a flag of one value, in parse's form.
func ask[V any](name, unit, meaning string, of func(*adviceFlagSet) *V, parse func(string) (V, error)) flagRow[adviceFlagSet] {
	return flagRow[adviceFlagSet]{name: name, unit: unit, meaning: meaning, set: last(func(o *adviceFlagSet, v string) (err error) {
		o.given = true
		*of(o), err = parse(v)
		return err
	})}
}

// adviceFlags are the common flags of recommend and collectives.
var adviceFlags = []flagRow[adviceFlagSet]{
	ask("framework", "name", "the trainer, or what starts it: "+strings.Join(trainer.Frameworks(), ", "), func(o *adviceFlagSet) *string { return &o.want.Framework }, func(v string) (string, error) {
		t, err := trainer.ByName(v)
		return t.Alias(v), err // it chooses the first snippet
	}),
	ask("params", "file", "one rank's parameter tensors in forward order: CSV or JSON of name and elements or shape, safetensors, its index, or Megatron's log with \"Params for bucket\"", func(o *adviceFlagSet) *string { return &o.params }, fileName),
	{name: "trace", unit: "file", meaning: "trace or log of the job, or a folder with a file a rank: tensors, ranks, element type and times of the gradients (several: once each)", set: func(o *adviceFlagSet, files []string) error {
		o.given, o.traces = true, files
		_, err := fileName(files[len(files)-1])
		return err
	}},
	ask("preset", "name", "a published model: "+strings.Join(trainer.PresetNames(), ", "), func(o *adviceFlagSet) *string { return &o.want.Preset }, trainer.PresetName),
	ask("total-params", "count", "number of parameters, if there is no list; k, M, G are decimal", func(o *adviceFlagSet) *int64 { return &o.want.Total }, count),
	ask("layers", "number", "with --total-params: number of transformer blocks", func(o *adviceFlagSet) *int { return &o.want.Layers }, fromOne),
	ask("largest-param", "count", "with --total-params: elements of the embedding and of the output layer", func(o *adviceFlagSet) *int64 { return &o.want.Largest }, count),
	ask("dp", "ranks", "ranks that reduce a gradient together, context-parallel ones among them (default the curve's ranks over --tp and --pp)", func(o *adviceFlagSet) *int { return &o.want.DP }, fromOne),
	ask("optimizer", "name", "Megatron's --optimizer: with muon and the like each matrix stays whole on one rank (default adam)", func(o *adviceFlagSet) *string { return &o.want.Optimizer }, trainer.OptimizerName),
	ask("ep", "groups", "expert-parallel groups among them", func(o *adviceFlagSet) *int { return &o.want.EP }, fromOne),
	ask("pp", "stages", "pipeline stages: a preset or a total is cut to the first", func(o *adviceFlagSet) *int { return &o.want.PP }, fromOne),
	ask("tp", "ranks", "tensor-parallel ranks: a preset or a total is cut to one of them", func(o *adviceFlagSet) *int { return &o.want.TP }, fromOne),
	ask("cp", "ranks", "context-parallel ranks, which reduce gradients with the data-parallel ones", func(o *adviceFlagSet) *int { return &o.want.CP }, fromOne),
	ask("instances", "number", "Megatron's --num-distributed-optimizer-instances", func(o *adviceFlagSet) *int { return &o.want.Instances }, fromOne),
	ask("grad-dtype", "name", "element type in which gradients are reduced (default the trainer's)", func(o *adviceFlagSet) *string { return &o.want.GradDtype }, dtypeName),
	ask("param-dtype", "name", "element type in which parameters are gathered (default bfloat16)", func(o *adviceFlagSet) *string { return &o.want.ParamDtype }, dtypeName),
	ask("zero", "stage", "ZeRO stage; Megatron's distributed optimizer is 1 (default the trainer's usual)", func(o *adviceFlagSet) **int { return &o.want.Zero }, func(v string) (*int, error) {
		n, err := natural(v)
		return &n, err
	}),
	ask("accum", "microbatches", "microbatches per step", func(o *adviceFlagSet) *int { return &o.want.Accum }, fromOne),
	ask("recompute", "", "backward repeats the whole forward (full recomputation)", func(o *adviceFlagSet) *bool { return &o.want.Recompute }, strconv.ParseBool),
	ask("backward-ms", "ms", "backward of one microbatch, measured without communication", func(o *adviceFlagSet) *float64 { return &o.want.Backward }, milliseconds),
	ask("forward-ms", "ms", "forward of it (default half the backward)", func(o *adviceFlagSet) *float64 { return &o.want.Forward }, milliseconds),
	ask("step-ms", "ms", "forward and backward of one microbatch together, split 1:2", func(o *adviceFlagSet) *float64 { return &o.want.Step }, milliseconds),
	ask("tokens-per-microbatch", "count", "tokens per GPU in a microbatch, if no time was measured", func(o *adviceFlagSet) *int64 { return &o.want.Tokens }, count),
	ask("active-params", "count", "parameters that a token uses on this GPU (default the preset's)", func(o *adviceFlagSet) *int64 { return &o.want.Active }, count),
	ask("tflops", "TFLOP/s", "FLOP/s that a GPU reaches in training (default 293, AMD's target for Llama 3.1 8B on MI300X)", func(o *adviceFlagSet) *float64 { return &o.want.Flops }, func(v string) (float64, error) {
		return scaled(v, minTflops, maxTflops, "TFLOP/s", 1e12)
	}),
	ask("mem-budget", "bytes", "memory for the trainer's buffers; K, M, G are binary", func(o *adviceFlagSet) *int64 { return &o.want.MemBudget }, unit.ParseBytes),
	ask("config", "file", "the trainer's own settings, to read and check: "+strings.Join(trainer.Reads(), ", "), func(o *adviceFlagSet) *string { return &o.config }, fileName),
	ask("args", "text", "with --config of a shell script: its arguments", func(o *adviceFlagSet) *string { return &o.args }, fileName),
	{name: "set", unit: "NAME=VALUE", meaning: "with --config: a variable that the file does not set (several: once each)", set: func(o *adviceFlagSet, pairs []string) error {
		o.given, o.variables = true, pairs
		name, _, is := strings.Cut(pairs[len(pairs)-1], "=")
		if !is || name == "" {
			return fmt.Errorf("%q is not NAME=VALUE", pairs[len(pairs)-1])
		}
		return nil
	}},
	ask("observed", "list", "steps that were timed with settings: 25=412ms,100=388ms, a trace in the place of a time, or a CSV of setting and time", func(o *adviceFlagSet) *string { return &o.observed }, fileName),
	ask("contention", "list", "what replay --compute measured, SHARE,TIMES: computation takes the share longer beside a message, messages so many times as long beside computation (default 0, and 1 to 1.6 times)", func(o *adviceFlagSet) **spec.Contention { return &o.want.Contention }, spec.ParseContention),
	ask("allow-rescale", "", "use a curve of another number of ranks as if it were a ring; the confidence is then low", func(o *adviceFlagSet) *bool { return &o.want.Rescale }, strconv.ParseBool),
}

// isAdviceFlag reports whether a flag is part of the question.
func isAdviceFlag(name string) bool {
	return slices.ContainsFunc(adviceFlags, func(f flagRow[adviceFlagSet]) bool { return f.name == name })
}

// read returns the request with its files read; nil if none was given.
func (o *adviceFlagSet) read(s State) (*spec.Advice, error) {
	if !o.given {
		return nil, nil
	}
	want := o.want
	var err error
	if o.params != "" {
		if want.Model, err = readParams(s, o.params); err != nil {
			return nil, err
		}
	}
	if o.config != "" {
		if want.Config, err = readConfig(s, o.config, o.args, o.variables); err != nil {
			return nil, err
		}
	} else if o.args != "" || len(o.variables) > 0 {
		return nil, usagef("give the script with --config", "--args and --set are of a script, and there is none")
	}
	if o.observed != "" {
		if want.Observed, err = readObserved(s, o.observed); err != nil {
			return nil, err
		}
	}
	if len(o.traces) > 0 {
		err = o.readTrace(s, &want)
	}
	return &want, err
}

// readTrace completes a request from the trace of the job.
func (o *adviceFlagSet) readTrace(s State, want *spec.Advice) error {
	t, err := readTraces(s, o.traces)
	if err != nil {
		return err
	}
	return advice.Traced(want, t, slice.Map(o.traces, func(path string) string { return base(filepath.Clean(path)) })...)
}

// readObserved reads timed steps: a list, whose times can be traces, or a file.
func readObserved(s State, text string) (*spec.Observed, error) {
	const hint = "--observed takes SETTING=TIME,…, such as 25=412ms,100=388ms,2=431ms, or a CSV of setting and time"
	if strings.Contains(text, "=") {
		o, err := spec.ParseObserved(text, func(path string) (string, []float64, error) {
			t, err := readTraces(s, []string{path})
			if err != nil {
				return "", nil, err
			}
			times := t.StepTimes()
			if len(times) == 0 {
				return "", nil, usagef("profile with a schedule and prof.step(), or give a time", "%s shows no steps", path)
			}
			return base(path), times, nil
		})
		if err != nil {
			return nil, usage(fmt.Errorf("--observed: %w", err), hint)
		}
		return o, nil
	}
	f, err := s.FS.Open(text)
	if err != nil {
		return nil, missingFile(err, text, hint)
	}
	defer f.Close() //nolint:errcheck // it was read only
	o, err := spec.ReadObserved(base(text), f)
	if err != nil {
		return nil, usage(err, hint)
	}
	return o, nil
}

// readConfig reads the trainer's own settings, with arguments and variables for a script.
func readConfig(s State, path, args string, variables []string) (*spec.Config, error) {
	text, err := s.FS.ReadFile(path)
	if err != nil {
		return nil, missingFile(err, path, "give the trainer's arguments, script, YAML or JSON")
	}
	given := shell.Given{Set: map[string]string{}}
	if given.Args, err = shell.Split(args); err != nil {
		return nil, usagef("quote them as in a shell: --args 'dsw 7B 1'", "--args: %v", err)
	}
	for _, pair := range variables {
		name, value, _ := strings.Cut(pair, "=")
		given.Set[name] = value
	}
	found, err := trainer.Find(string(text), given)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", path, err), "zbench reads "+strings.Join(trainer.Reads(), ", ")+", and the log in which the job prints its arguments")
	}
	return &spec.Config{File: base(path), Settings: found.Settings, Args: args, Set: variables, Form: found.Form, Notes: found.Notes, Unread: found.Unread}, nil
}

func readParams(s State, path string) (*trainer.Model, error) {
	f, err := s.FS.Open(path)
	if err != nil {
		return nil, missingFile(err, path, "give a CSV, a JSON, a safetensors file or Megatron's log")
	}
	defer f.Close() //nolint:errcheck // it was read only
	m, err := trainer.ReadModel(base(path), f, func(name string) (io.ReadCloser, error) {
		return s.FS.Open(filepath.Join(filepath.Dir(path), name))
	})
	if err != nil {
		return nil, usage(err, "`zbench recommend --help` describes --params")
	}
	return m, nil
}

// base returns a file's name without its folder, because a record must not carry a machine's paths.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// missingFile turns an error of opening a user's file into a usage error.
func missingFile(err error, path, hint string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef(hint, "%s does not exist", path)
	}
	return exit.With(exit.Run, fmt.Errorf("%s cannot be read: %w", path, err), hint)
}

func fileName(v string) (string, error) {
	if v == "" {
		return "", fmt.Errorf("the file name is empty")
	}
	return v, nil
}

func count(v string) (int64, error) {
	n, err := unit.ParseCount(v)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q: it must be at least 1", v)
	}
	return n, err
}

func fromOne(v string) (int, error) {
	const most = 1 << 24
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q is not a whole number from 1 to %d", v, most)
	}
	return n, nil
}

func dtypeName(v string) (string, error) {
	d, err := collective.DtypeByName(v)
	return d.Name, err
}

// Plausible ranges: a microbatch takes a microsecond to an hour, a GPU reaches at most an
// exaflop per second. Values outside are unit errors.
const (
	minMilli, maxMilli   = 1e-3, 3.6e6
	minTflops, maxTflops = 1e-3, 1e6
)

func milliseconds(v string) (float64, error) {
	return scaled(v, minMilli, maxMilli, "milliseconds", 1e-3)
}

func scaled(v string, least, most float64, what string, scale float64) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	switch {
	case err != nil || !(f > 0) || math.IsInf(f, 0):
		err = fmt.Errorf("%q is not a number above 0", v)
	case f < least || f > most:
		err = fmt.Errorf("%q is outside the plausible range of %g to %g %s", v, least, most, what)
	}
	return f * scale, err
}
