package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/option"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
	"zbench/bench/job/trainer"
)

// Advice is a request for a bucket size: its inputs besides the measured curves. A zero value was
// not given. It holds the content of files, not their paths, so that it can be repeated without
// them.
type Advice struct {
	// Name of the trainer, or an alias of it; absent if the configuration names it.
	Framework string `json:"framework,omitempty"`
	// Published model whose gradients are reduced (--preset).
	Preset string `json:"preset,omitempty"`
	// Number of parameters, if there is no list.
	Total int64 `json:"total_params,omitempty"`
	// Files of the trace that provides the model, the ranks, the element type and the times
	// (--trace), without folders.
	Trace []string `json:"trace,omitempty"`
	// Parameter tensors of a file (--params), or of the trace.
	Model *trainer.Model `json:"model,omitempty"`
	// Transformer blocks, with total_params.
	Layers int `json:"layers,omitempty"`
	// Elements of the embedding and of the output layer, with total_params.
	Largest int64 `json:"largest_param,omitempty"`
	// Settings from the trainer's own file (--config).
	Config *Config `json:"config,omitempty"`
	// Ranks that reduce a gradient together; absent for the ranks of the curve.
	DP int `json:"dp,omitempty"`
	// Expert-parallel groups among them.
	EP int `json:"ep,omitempty"`
	// Pipeline stages.
	PP int `json:"pp,omitempty"`
	// Tensor-parallel ranks.
	TP int `json:"tp,omitempty"`
	// Context-parallel ranks.
	CP int `json:"cp,omitempty"`
	// Megatron's optimizer instances.
	Instances int `json:"instances,omitempty"`
	// Microbatches in a step.
	Accum int `json:"accum,omitempty"`
	// ZeRO stage; absent for the trainer's usual one.
	Zero *int `json:"zero,omitempty"`
	// Megatron's --optimizer.
	Optimizer string `json:"optimizer,omitempty"`
	// Element type in which gradients are reduced; absent for the trainer's default.
	GradDtype string `json:"grad_dtype,omitempty"`
	// Element type in which parameters are gathered; absent for bfloat16.
	ParamDtype string `json:"param_dtype,omitempty"`
	// Backward of one microbatch without communication, in seconds.
	Backward float64 `json:"backward_seconds,omitempty"`
	// Forward of the same microbatch, in seconds; absent for half the backward.
	Forward float64 `json:"forward_seconds,omitempty"`
	// Forward and backward together, in seconds.
	Step float64 `json:"step_seconds,omitempty"`
	// Tokens per GPU in a microbatch, if no time was measured.
	Tokens int64 `json:"tokens_per_microbatch,omitempty"`
	// Parameters that a token uses on this GPU; absent for the preset's number.
	Active int64 `json:"active_params,omitempty"`
	// Rate of a GPU in training, in FLOP/s.
	Flops float64 `json:"flops,omitempty"`
	// Backward repeats the whole forward.
	Recompute bool `json:"recompute,omitempty"`
	// Bound of the memory of the trainer's buffers, in bytes.
	MemBudget int64 `json:"mem_budget,omitempty"`
	// Curves of another number of ranks may be used (--allow-rescale).
	Rescale bool `json:"allow_rescale,omitempty"`
	// Timed steps by setting (--observed).
	Observed *Observed `json:"observed,omitempty"`
	// Measured mutual slowdown of computation and messages (--contention).
	Contention *Contention `json:"contention,omitempty"`
}

// Asked is a question in the form of flags: the request, and the files that a command reads to complete it.
type Asked struct {
	Advice
	// ParamsFile and ConfigFile are files; Traces are files or folders. Steps is a file or a list of timed
	// steps. Args and Variables are the arguments and variables for the script in ConfigFile.
	ParamsFile, ConfigFile, Steps, Args string
	Variables, Traces                   []string
}

// Given reports whether a flag asked for anything.
func (a *Asked) Given() bool { return !reflect.ValueOf(a).Elem().IsZero() }

// Plausible ranges: a microbatch takes a microsecond to an hour, and a GPU reaches at most an exaflop per
// second. Values outside are unit errors.
const (
	minMilli, maxMilli   = 1e-3, 3.6e6
	minTflops, maxTflops = 1e-3, 1e6
)

// AdviceFlags are the flags of the question for a bucket size.
var AdviceFlags = []option.Row[Asked]{
	{
		Name: "framework", Unit: "name", Meaning: "the trainer, or what starts it: " + strings.Join(trainer.Frameworks(), ", "),
		Value: option.Read(func(a *Asked) *string { return &a.Framework }, func(v string) (string, error) {
			t, err := trainer.ByName(v)
			return t.Alias(v), err // it chooses which snippet comes first
		}),
	},
	{
		Name: "config", Unit: "file", Meaning: "the trainer's own settings, to read and check: " + strings.Join(trainer.Reads(), ", "),
		Value: file(func(a *Asked) *string { return &a.ConfigFile }, ofConfig(func(c *Config) string { return c.File })),
	},
	{
		Name: "args", Unit: "text", Meaning: "with --config of a shell script: its arguments",
		Value: file(func(a *Asked) *string { return &a.Args }, ofConfig(func(c *Config) string { return c.Args })),
	},
	{
		Name: "set", Unit: "NAME=VALUE", Meaning: "with --config: a variable that the file does not set (several: once each)",
		Value: option.Value[Asked]{Set: setVariables, Show: func(a *Asked) []string {
			if a.Config == nil {
				return nil
			}
			return a.Config.Set
		}},
	},
	{
		Name: "optimizer", Unit: "name", Meaning: "Megatron's --optimizer: with muon and the like each matrix stays whole on one rank (default adam)",
		Value: option.Read(func(a *Asked) *string { return &a.Optimizer }, trainer.OptimizerName),
	},
	{Name: "preset", Unit: "name", Meaning: "a published model: " + strings.Join(trainer.PresetNames(), ", "), Value: option.Read(func(a *Asked) *string { return &a.Preset }, trainer.PresetName)},
	{
		Name: "params", Unit: "file", Meaning: "one rank's parameter tensors in forward order: CSV or JSON of name and elements or shape, safetensors, its index, or Megatron's log with \"Params for bucket\"",
		Value: file(func(a *Asked) *string { return &a.ParamsFile }, func(a *Advice) string {
			if a.Model == nil || slices.Contains(a.Trace, a.Model.Name) {
				return ""
			}
			return a.Model.Name
		}),
	},
	{
		Name: "trace", Unit: "file", Meaning: "trace or log of the job, or a folder with a file a rank: tensors, ranks, element type and times of the gradients (several: once each)",
		Value: option.Value[Asked]{Show: func(a *Asked) []string { return a.Trace }, Set: func(a *Asked, files []string) error {
			a.Traces = files
			_, err := fileName(files[len(files)-1])
			return err
		}},
	},
	{Name: "total-params", Unit: "count", Meaning: "number of parameters, if there is no list; k, M, G are decimal", Value: count(func(a *Asked) *int64 { return &a.Total })},
	{Name: "largest-param", Unit: "count", Meaning: "with --total-params: elements of the embedding and of the output layer", Value: count(func(a *Asked) *int64 { return &a.Largest })},
	{Name: "layers", Unit: "number", Meaning: "with --total-params: number of transformer blocks", Value: fromOne(func(a *Asked) *int { return &a.Layers })},
	{Name: "active-params", Unit: "count", Meaning: "parameters that a token uses on this GPU (default the preset's)", Value: count(func(a *Asked) *int64 { return &a.Active })},
	{Name: "backward-ms", Unit: "ms", Meaning: "backward of one microbatch, measured without communication", Value: milliseconds(func(a *Asked) *float64 { return &a.Backward })},
	{Name: "forward-ms", Unit: "ms", Meaning: "forward of it (default half the backward)", Value: milliseconds(func(a *Asked) *float64 { return &a.Forward })},
	{Name: "step-ms", Unit: "ms", Meaning: "forward and backward of one microbatch together, split 1:2", Value: milliseconds(func(a *Asked) *float64 { return &a.Step })},
	{Name: "tokens-per-microbatch", Unit: "count", Meaning: "tokens per GPU in a microbatch, if no time was measured", Value: count(func(a *Asked) *int64 { return &a.Tokens })},
	{
		Name: "tflops", Unit: "TFLOP/s", Meaning: "FLOP/s that a GPU reaches in training (default 293, AMD's target for Llama 3.1 8B on MI300X)",
		Value: option.Scaled(minTflops, maxTflops, "TFLOP/s", 1e12, func(a *Asked) *float64 { return &a.Flops }),
	},
	{Name: "recompute", Meaning: "backward repeats the whole forward (full recomputation)", Value: option.Switch(func(a *Asked) *bool { return &a.Recompute })},
	{
		Name: "dp", Unit: "ranks", Meaning: "ranks that reduce a gradient together, context-parallel ones among them (default the curve's ranks over --tp and --pp)",
		Value: fromOne(func(a *Asked) *int { return &a.DP }),
	},
	{Name: "ep", Unit: "groups", Meaning: "expert-parallel groups among them", Value: fromOne(func(a *Asked) *int { return &a.EP })},
	{Name: "pp", Unit: "stages", Meaning: "pipeline stages: a preset or a total is cut to the first", Value: fromOne(func(a *Asked) *int { return &a.PP })},
	{Name: "tp", Unit: "ranks", Meaning: "tensor-parallel ranks: a preset or a total is cut to one of them", Value: fromOne(func(a *Asked) *int { return &a.TP })},
	{Name: "cp", Unit: "ranks", Meaning: "context-parallel ranks, which reduce gradients with the data-parallel ones", Value: fromOne(func(a *Asked) *int { return &a.CP })},
	{Name: "instances", Unit: "number", Meaning: "Megatron's --num-distributed-optimizer-instances", Value: fromOne(func(a *Asked) *int { return &a.Instances })},
	{Name: "accum", Unit: "microbatches", Meaning: "microbatches per step", Value: fromOne(func(a *Asked) *int { return &a.Accum })},
	{
		Name: "zero", Unit: "stage", Meaning: "ZeRO stage; Megatron's distributed optimizer is 1 (default the trainer's usual)",
		Value: option.Of(func(a *Asked) **int { return &a.Zero }, func(v string) (*int, error) {
			n, err := option.ParseNatural(v)
			return &n, err
		}, func(n *int) string { return strconv.Itoa(*n) }),
	},
	{Name: "grad-dtype", Unit: "name", Meaning: "element type in which gradients are reduced (default the trainer's)", Value: option.Read(func(a *Asked) *string { return &a.GradDtype }, dtypeName)},
	{Name: "param-dtype", Unit: "name", Meaning: "element type in which parameters are gathered (default bfloat16)", Value: option.Read(func(a *Asked) *string { return &a.ParamDtype }, dtypeName)},
	{Name: "mem-budget", Unit: "bytes", Meaning: "memory for the trainer's buffers; K, M, G are binary", Value: option.Bytes(func(a *Asked) *int64 { return &a.MemBudget })},
	{
		Name: "observed", Unit: "list", Meaning: "steps that were timed with settings: 25=412ms,100=388ms, a trace in the place of a time, or a CSV of setting and time",
		Value: file(func(a *Asked) *string { return &a.Steps }, func(a *Advice) string { return a.Observed.flag() }),
	},
	{
		Name: "contention", Unit: "list", Meaning: "what replay --compute measured, SHARE,TIMES: computation takes the share longer beside a message, messages so many times as long beside computation (default 0, and 1 to 1.6 times)",
		Value: option.Of(func(a *Asked) **Contention { return &a.Contention }, ParseContention, (*Contention).String),
	},
	{Name: "allow-rescale", Meaning: "use a curve of another number of ranks as if it were a ring; the confidence is then low", Value: option.Switch(func(a *Asked) *bool { return &a.Rescale })},
}

// Complete reports whether the question names its trainer: by a flag or a file.
func (a *Advice) Complete() bool { return a.Framework != "" || a.Config != nil }

// Line returns the command-line flags of the request, with file names.
func (a *Advice) Line() []string {
	if a == nil {
		return nil
	}
	asked := &Asked{Advice: *a}
	return slices.Concat(slices.Concat(slice.Map(AdviceFlags, func(f option.Row[Asked]) [][]string { return f.Typed(asked) })...)...)
}

// Check refuses contradictory or incomplete flags. Messages name the flags.
func (a *Advice) Check() error {
	asked := &Asked{Advice: *a}
	has := map[string]bool{}
	for _, f := range AdviceFlags {
		has[f.Name] = len(f.Shown(asked)) > 0
	}
	has["params"] = a.Model != nil // from a file, or from a trace
	given := func(flags ...string) []string {
		return slices.DeleteFunc(flags, func(name string) bool { return !has[name] })
	}
	models, times := given("params", "preset", "total-params"), given("backward-ms", "step-ms", "tokens-per-microbatch")
	switch line := a.Line(); {
	case len(models) > 1:
		return fmt.Errorf("--%s: give only one model", strings.Join(models, " and --"))
	case len(times) > 1:
		return fmt.Errorf("--%s: give only one time of a microbatch", strings.Join(times, " and --"))
	case a.Contention != nil && a.Observed != nil:
		return errors.New("--observed infers what --contention gives: leave one out")
	case len(line) > 0 && !a.Complete():
		return fmt.Errorf("%s is for the bucket size: add --framework or --config", line[0])
	}
	for _, n := range []struct {
		flag  string
		oneOf []string
	}{
		{"layers", []string{"total-params"}},
		{"largest-param", []string{"total-params"}},
		{"forward-ms", []string{"backward-ms"}},
		{"recompute", []string{"tokens-per-microbatch", "tflops"}},
	} {
		if has[n.flag] && !slices.ContainsFunc(n.oneOf, func(name string) bool { return has[name] }) {
			return fmt.Errorf("--%s needs --%s", n.flag, strings.Join(n.oneOf, " or --"))
		}
	}
	return nil
}

// Function file returns a Value for the name of a file that a command reads. The function show returns the
// name that the request keeps.
func file(field func(*Asked) *string, show func(*Advice) string) option.Value[Asked] {
	v := option.Read(field, fileName)
	v.Show, v.Unset = func(a *Asked) []string { return []string{show(&a.Advice)} }, nil
	return v
}

func ofConfig(text func(*Config) string) func(*Advice) string {
	return func(a *Advice) string {
		if a.Config == nil {
			return ""
		}
		return text(a.Config)
	}
}

func fileName(v string) (string, error) {
	if v == "" {
		return "", errors.New("the file name is empty")
	}
	return v, nil
}

func setVariables(a *Asked, pairs []string) error {
	a.Variables = pairs
	last := pairs[len(pairs)-1]
	if name, _, is := strings.Cut(last, "="); !is || name == "" {
		return fmt.Errorf("%q is not NAME=VALUE", last)
	}
	return nil
}

func count(field func(*Asked) *int64) option.Value[Asked] {
	return option.Of(field, option.ParseCount, option.Decimal)
}

func fromOne(field func(*Asked) *int) option.Value[Asked] {
	return option.Of(field, func(v string) (int, error) {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n < 1 || n > maxRanks {
			return 0, fmt.Errorf("%q is not a whole number from 1 to %d", v, maxRanks)
		}
		return n, nil
	}, strconv.Itoa)
}

func milliseconds(field func(*Asked) *float64) option.Value[Asked] {
	return option.Scaled(minMilli, maxMilli, "milliseconds", 1e-3, field)
}

func dtypeName(v string) (string, error) {
	d, err := collective.DtypeByName(v)
	return d.Name, err
}
