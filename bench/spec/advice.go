package spec

import (
	"strconv"

	"zbench/bench/model"
	"zbench/bench/trainer"
)

// Advice is a request for a bucket size: what it depends on beside the measured
// curves. A zero value is not given. It holds what was read from files, not their
// paths, so that it can be asked again where they are not.
type Advice struct {
	// Framework is a name of bench/trainer or an alias; empty where Config tells.
	Framework string `json:"framework,omitempty"`
	// One of these says what the gradients are of. Model is the list of a file, as
	// it was read.
	Preset string       `json:"preset,omitempty"`
	Total  int64        `json:"total_params,omitempty"`
	Model  *model.Model `json:"model,omitempty"`
	// Layers and Largest belong to Total: transformer blocks, and the elements of
	// the embedding and of the output layer.
	Layers  int   `json:"layers,omitempty"`
	Largest int64 `json:"largest_param,omitempty"`
	// Config is what was read from the trainer's own settings.
	Config *Config `json:"config,omitempty"`
	// DP, EP, PP, Instances and Accum are numbers of ranks, groups, stages,
	// optimizer instances and microbatches.
	DP        int `json:"dp,omitempty"`
	EP        int `json:"ep,omitempty"`
	PP        int `json:"pp,omitempty"`
	Instances int `json:"instances,omitempty"`
	Accum     int `json:"accum,omitempty"`
	// Zero is the ZeRO stage; null is the trainer's usual one.
	Zero *int `json:"zero,omitempty"`
	// Optimizer is Megatron's --optimizer.
	Optimizer string `json:"optimizer,omitempty"`
	// GradDtype and ParamDtype are element types on the wire.
	GradDtype  string `json:"grad_dtype,omitempty"`
	ParamDtype string `json:"param_dtype,omitempty"`
	// Backward, Forward and Step are of one microbatch, in seconds.
	Backward float64 `json:"backward_seconds,omitempty"`
	Forward  float64 `json:"forward_seconds,omitempty"`
	Step     float64 `json:"step_seconds,omitempty"`
	// Tokens a GPU has in a microbatch, Active the parameters that a token uses,
	// Flops what a GPU reaches in training, in FLOP/s: they estimate the times.
	Tokens int64   `json:"tokens_per_microbatch,omitempty"`
	Active int64   `json:"active_params,omitempty"`
	Flops  float64 `json:"flops,omitempty"`
	// Recompute tells that backward repeats the whole forward.
	Recompute bool `json:"recompute,omitempty"`
	// MemBudget bounds the trainer's buffers, in bytes.
	MemBudget int64 `json:"mem_budget,omitempty"`
	// Rescale allows curves of another number of ranks.
	Rescale bool `json:"allow_rescale,omitempty"`
}

// Config is a trainer's settings file: its name without folders, and the settings
// that were found in it.
type Config struct {
	File     string            `json:"file"`
	Settings []trainer.Setting `json:"settings"`
}

// Complete tells whether the question names its trainer: by a flag or a file.
func (a *Advice) Complete() bool { return a.Framework != "" || a.Config != nil }

// Line is the flags that ask the same, files by their names.
func (a *Advice) Line() []string {
	if a == nil {
		return nil
	}
	file, config, zero := "", "", ""
	if a.Model != nil {
		file = a.Model.Name
	}
	if a.Config != nil {
		config = a.Config.File
	}
	if a.Zero != nil {
		zero = strconv.Itoa(*a.Zero)
	}
	var line []string
	for _, f := range []struct{ name, value string }{
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
		{"allow-rescale", yes(a.Rescale)},
	} {
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
