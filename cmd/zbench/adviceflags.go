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
	"zbench/bench/slice"
	"zbench/bench/spec"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// adviceFlagSet holds the flags for a bucket size: its inputs besides the curves.
type adviceFlagSet struct {
	want spec.Advice
	// params and config are files to read, observed is one or a list.
	params, config, observed string
	traces                   []string
	given                    bool
}

// ask is a row of adviceFlags.
func ask(name, unit, meaning string, set func(o *adviceFlagSet, v string) error) flagRow[adviceFlagSet] {
	return flagRow[adviceFlagSet]{name: name, unit: unit, meaning: meaning, set: last(func(o *adviceFlagSet, v string) error {
		o.given = true
		return set(o, v)
	})}
}

// adviceFlags are the flags that recommend and collectives share.
var adviceFlags = []flagRow[adviceFlagSet]{
	ask("framework", "name", "the trainer, or what starts it: "+strings.Join(trainer.Frameworks(), ", "), func(o *adviceFlagSet, v string) error {
		t, err := trainer.ByName(v)
		o.want.Framework = t.Alias(v) // it chooses the snippet that comes first
		return err
	}),
	ask("params", "file", "one rank's parameter tensors in forward order: CSV or JSON of name and elements or shape, safetensors, its index, or Megatron's log with \"Params for bucket\"", func(o *adviceFlagSet, v string) error { return setText(&o.params, v) }),
	{name: "trace", unit: "file", meaning: "trace or log of the job, or a folder with a file a rank: tensors, ranks, element type and times of the gradients (several: once each)", set: func(o *adviceFlagSet, files []string) error {
		o.given, o.traces = true, files
		return setText(new(string), files[len(files)-1])
	}},
	ask("preset", "name", "a published model: "+strings.Join(trainer.PresetNames(), ", "), func(o *adviceFlagSet, v string) (err error) {
		o.want.Preset, err = trainer.PresetName(v)
		return err
	}),
	ask("total-params", "count", "number of parameters, if there is no list; k, M, G are decimal", func(o *adviceFlagSet, v string) error { return setCount(&o.want.Total, v) }),
	ask("layers", "number", "with --total-params: number of transformer blocks", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.Layers, v) }),
	ask("largest-param", "count", "with --total-params: elements of the embedding and of the output layer", func(o *adviceFlagSet, v string) error { return setCount(&o.want.Largest, v) }),
	ask("dp", "ranks", "ranks that reduce a gradient together, context-parallel ones among them (default the curve's ranks over --tp and --pp)", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.DP, v) }),
	ask("optimizer", "name", "Megatron's --optimizer: with muon and the like each matrix stays whole on one rank (default adam)", func(o *adviceFlagSet, v string) (err error) {
		o.want.Optimizer, err = trainer.OptimizerName(v)
		return err
	}),
	ask("ep", "groups", "expert-parallel groups among them", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.EP, v) }),
	ask("pp", "stages", "pipeline stages: a preset or a total is cut to the first", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.PP, v) }),
	ask("tp", "ranks", "tensor-parallel ranks: a preset or a total is cut to one of them", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.TP, v) }),
	ask("cp", "ranks", "context-parallel ranks, which reduce gradients with the data-parallel ones", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.CP, v) }),
	ask("instances", "number", "Megatron's --num-distributed-optimizer-instances", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.Instances, v) }),
	ask("grad-dtype", "name", "element type in which gradients are reduced (default the trainer's)", func(o *adviceFlagSet, v string) error { return setDtype(&o.want.GradDtype, v) }),
	ask("param-dtype", "name", "element type in which parameters are gathered (default bfloat16)", func(o *adviceFlagSet, v string) error { return setDtype(&o.want.ParamDtype, v) }),
	ask("zero", "stage", "ZeRO stage; Megatron's distributed optimizer is 1 (default the trainer's usual)", func(o *adviceFlagSet, v string) error {
		o.want.Zero = new(int)
		n, err := natural(v)
		*o.want.Zero = n
		return err
	}),
	ask("accum", "microbatches", "microbatches per step", func(o *adviceFlagSet, v string) error { return setWhole(&o.want.Accum, v) }),
	ask("recompute", "", "backward repeats the whole forward (full recomputation)", func(o *adviceFlagSet, v string) error { return setBool(&o.want.Recompute, v) }),
	ask("backward-ms", "ms", "backward of one microbatch, measured without communication", func(o *adviceFlagSet, v string) error { return setMilli(&o.want.Backward, v) }),
	ask("forward-ms", "ms", "forward of it (default half the backward)", func(o *adviceFlagSet, v string) error { return setMilli(&o.want.Forward, v) }),
	ask("step-ms", "ms", "forward and backward of one microbatch together, split 1:2", func(o *adviceFlagSet, v string) error { return setMilli(&o.want.Step, v) }),
	ask("tokens-per-microbatch", "count", "tokens per GPU in a microbatch, if no time was measured", func(o *adviceFlagSet, v string) error { return setCount(&o.want.Tokens, v) }),
	ask("active-params", "count", "parameters that a token uses on this GPU (default the preset's)", func(o *adviceFlagSet, v string) error { return setCount(&o.want.Active, v) }),
	ask("tflops", "TFLOP/s", "FLOP/s that a GPU reaches in training", func(o *adviceFlagSet, v string) error {
		return setScaled(&o.want.Flops, v, minTflops, maxTflops, "TFLOP/s", 1e12)
	}),
	ask("mem-budget", "bytes", "memory for the trainer's buffers; K, M, G are binary", func(o *adviceFlagSet, v string) error { return setBytes(&o.want.MemBudget, v) }),
	ask("config", "file", "the trainer's own settings, to read and check: "+strings.Join(trainer.Reads(), ", "), func(o *adviceFlagSet, v string) error { return setText(&o.config, v) }),
	ask("observed", "list", "steps that were timed with settings: 25=412ms,100=388ms, a trace in the place of a time, or a CSV of setting and time", func(o *adviceFlagSet, v string) error { return setText(&o.observed, v) }),
	ask("contention", "list", "what replay --compute measured, SHARE,TIMES: computation takes the share longer beside a message, messages so many times as long beside computation (default 0, and 1 to 1.6 times)", func(o *adviceFlagSet, v string) (err error) {
		o.want.Contention, err = spec.ParseContention(v)
		return err
	}),
	ask("allow-rescale", "", "use a curve of another number of ranks as if it were a ring; the confidence is then low", func(o *adviceFlagSet, v string) error { return setBool(&o.want.Rescale, v) }),
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
		if want.Config, err = readConfig(s, o.config); err != nil {
			return nil, err
		}
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

// readTrace completes a request by the trace of the job.
func (o *adviceFlagSet) readTrace(s State, want *spec.Advice) error {
	t, err := readTraces(s, o.traces)
	if err != nil {
		return err
	}
	return advice.Traced(want, t, slice.Map(o.traces, func(path string) string { return base(filepath.Clean(path)) })...)
}

// readObserved reads steps that were timed: a list, whose times can be traces, or a file.
func readObserved(s State, text string) (*spec.Observed, error) {
	const hint = "--observed takes SETTING=TIME,…, such as 25=412ms,100=388ms, or a CSV of setting and time"
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

// readConfig reads the trainer's own settings.
func readConfig(s State, path string) (*spec.Config, error) {
	text, err := s.FS.ReadFile(path)
	if err != nil {
		return nil, missingFile(err, path, "give the trainer's arguments, script, YAML or JSON")
	}
	list, err := trainer.Settings(string(text))
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", path, err), "zbench reads Megatron's arguments or script, Primus YAML, DeepSpeed JSON, XLA_FLAGS")
	}
	return &spec.Config{File: base(path), Settings: list}, nil
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

// base is a file's name without its folder: a record does not carry a machine's
// paths.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// missingFile turns an error of opening a user's file into a usage error.
func missingFile(err error, path, hint string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef(hint, "%s does not exist", path)
	}
	return exit.With(exit.Run, fmt.Errorf("%s cannot be read: %w", path, err), hint)
}

func setText(to *string, v string) error {
	if v == "" {
		return fmt.Errorf("the file name is empty")
	}
	*to = v
	return nil
}

func setCount(to *int64, v string) error {
	n, err := unit.ParseCount(v)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q: it must be at least 1", v)
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

func setBytes(to *int64, v string) (err error) {
	*to, err = unit.ParseBytes(v)
	return err
}

func setBool(to *bool, v string) (err error) {
	*to, err = strconv.ParseBool(v)
	return err
}

// Plausible ranges: a microbatch takes a microsecond to an hour, a GPU reaches at most an
// exaflop per second. Values outside are unit errors.
const (
	minMilli, maxMilli   = 1e-3, 3.6e6
	minTflops, maxTflops = 1e-3, 1e6
)

func setMilli(to *float64, v string) error {
	return setScaled(to, v, minMilli, maxMilli, "milliseconds", 1e-3)
}

func setScaled(to *float64, v string, least, most float64, what string, scale float64) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !(f > 0) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is not a number above 0", v)
	}
	if f < least || f > most {
		return fmt.Errorf("%q is outside the plausible range of %g to %g %s", v, least, most, what)
	}
	*to = f * scale
	return nil
}
