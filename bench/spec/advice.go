package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/slice"
	"zbench/bench/trainer"
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
	// Ranks that reduce a gradient together; absent for the curve's.
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
	// Element type in which gradients are reduced; absent for the trainer's.
	GradDtype string `json:"grad_dtype,omitempty"`
	// Element type in which parameters are gathered; absent for bfloat16.
	ParamDtype string `json:"param_dtype,omitempty"`
	// Backward of one microbatch without communication, in seconds.
	Backward float64 `json:"backward_seconds,omitempty"`
	// Forward of it, in seconds; absent for half the backward.
	Forward float64 `json:"forward_seconds,omitempty"`
	// Forward and backward together, in seconds.
	Step float64 `json:"step_seconds,omitempty"`
	// Tokens per GPU in a microbatch, if no time was measured.
	Tokens int64 `json:"tokens_per_microbatch,omitempty"`
	// Parameters that a token uses on this GPU; absent for the preset's.
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

// Contention is the mutual slowdown of computation and messages.
type Contention struct {
	// Share by which computation takes longer while a message is on the network.
	Compute float64 `json:"compute" jsonschema:"maximum=10"`
	// Ratio of messages' times beside computation to those without.
	Messages float64 `json:"messages" jsonschema:"minimum=0.5,maximum=10"`
}

// ParseContention reads SHARE,TIMES, such as 0.2,1.05.
func ParseContention(text string) (*Contention, error) {
	share, times, _ := strings.Cut(text, ",")
	compute, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
	messages, failed := strconv.ParseFloat(strings.TrimSpace(times), 64)
	c := &Contention{Compute: compute, Messages: messages}
	if err != nil || failed != nil || !c.Possible() {
		return nil, fmt.Errorf("%q is not SHARE,TIMES, such as 0.2,1.05: a share of 0 to 10, and 0.5 to 10 times", text)
	}
	return c, nil
}

// Possible reports whether both values are allowed in a request.
func (c *Contention) Possible() bool {
	return c.Compute >= 0 && c.Compute <= 10 && c.Messages >= 0.5 && c.Messages <= 10
}

// String returns ParseContention's form with all digits; empty for nil.
func (c *Contention) String() string {
	if c == nil {
		return ""
	}
	return strconv.FormatFloat(c.Compute, 'g', -1, 64) + "," + strconv.FormatFloat(c.Messages, 'g', -1, 64)
}

// Config is a trainer's settings file: its name without folders, and its settings.
type Config struct {
	// Name of the file.
	File string `json:"file"`
	// Settings in the order of the file.
	Settings []trainer.Setting `json:"settings"`
	// Args are the arguments of a shell script; absent if none.
	Args string `json:"args,omitempty"`
	// Set are the variables that it was given, NAME=VALUE each; absent if none.
	Set []string `json:"set,omitempty"`
	// Form names the part of the file that was read; absent if all of it.
	Form string `json:"form,omitempty"`
	// Notes list unreadable parts, in sentences; absent if none.
	Notes []string `json:"notes,omitempty"`
	// Unread names unknown settings that may change collectives; absent if none.
	Unread []string `json:"unread,omitempty"`
}

// Complete reports whether the question names its trainer: by a flag or a file.
func (a *Advice) Complete() bool { return a.Framework != "" || a.Config != nil }

// Line returns the command-line flags of the request, with file names.
func (a *Advice) Line() []string {
	if a == nil {
		return nil
	}
	var line []string
	for _, f := range a.flags() {
		switch f.value {
		case "":
		case "true":
			line = append(line, "--"+f.name)
		default:
			line = append(line, "--"+f.name, f.value)
		}
	}
	return line
}

// written is one flag of the request with its value; an empty value was not given.
type written struct{ name, value string }

func (a *Advice) flags() []written {
	file, config, args, zero := "", "", "", ""
	if a.Model != nil && !slices.Contains(a.Trace, a.Model.Name) {
		file = a.Model.Name
	}
	if a.Zero != nil {
		zero = strconv.Itoa(*a.Zero)
	}
	all := slice.Map(a.Trace, func(name string) written { return written{"trace", name} })
	if a.Config != nil {
		config, args = a.Config.File, a.Config.Args
		all = append(all, slice.Map(a.Config.Set, func(pair string) written { return written{"set", pair} })...)
	}
	return append(all, []written{
		{"framework", a.Framework},
		{"params", file},
		{"preset", a.Preset},
		{"total-params", whole(a.Total)},
		{"layers", whole(a.Layers)},
		{"largest-param", whole(a.Largest)},
		{"dp", whole(a.DP)},
		{"optimizer", a.Optimizer},
		{"ep", whole(a.EP)},
		{"pp", whole(a.PP)},
		{"tp", whole(a.TP)},
		{"cp", whole(a.CP)},
		{"instances", whole(a.Instances)},
		{"grad-dtype", a.GradDtype},
		{"param-dtype", a.ParamDtype},
		{"zero", zero},
		{"accum", whole(a.Accum)},
		{"recompute", yes(a.Recompute)},
		{"backward-ms", scaled(a.Backward, 1e3)},
		{"forward-ms", scaled(a.Forward, 1e3)},
		{"step-ms", scaled(a.Step, 1e3)},
		{"tokens-per-microbatch", whole(a.Tokens)},
		{"active-params", whole(a.Active)},
		{"tflops", scaled(a.Flops, 1e-12)},
		{"mem-budget", whole(a.MemBudget)},
		{"config", config},
		{"args", args},
		{"allow-rescale", yes(a.Rescale)},
		{"observed", a.Observed.flag()},
		{"contention", a.Contention.String()},
	}...)
}

func whole[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// scaled prints a value in the flag's unit. Twelve digits hide the rounding of the
// conversion.
func scaled(v, scale float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v*scale, 'g', 12, 64)
}

func yes(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// Check refuses contradictory or incomplete flags. Messages name the flags.
func (a *Advice) Check() error {
	has := map[string]bool{
		"params": a.Model != nil, "preset": a.Preset != "", "total-params": a.Total > 0, "layers": a.Layers > 0, "largest-param": a.Largest > 0,
		"backward-ms": a.Backward > 0, "forward-ms": a.Forward > 0, "step-ms": a.Step > 0,
		"tokens-per-microbatch": a.Tokens > 0, "tflops": a.Flops > 0, "recompute": a.Recompute, "config": a.Config != nil,
	}
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
