package trainer

import (
	"fmt"
	"strings"
)

// Snippet is a setting as one tool takes it.
type Snippet struct {
	// Title is the tool's name for people.
	Title string `json:"title"`
	// Language is what the text is written in.
	Language string `json:"language"`
	// Text ends with a newline. Its first lines are comments: what it is from.
	Text string `json:"text"`
}

// Spelling is what a snippet is written from.
type Spelling struct {
	// Setting is in elements.
	Setting int64
	Params  []Param
	Run     Run
	// Curve is the hash of the curves behind the setting.
	Curve string
	// Simulated snippets begin with a warning.
	Simulated bool
	// Config is what the user has set in File: what a snippet adds to it is named.
	// nil is not known.
	Config *Config
	File   string
}

// SimulatedMark starts a snippet that no measurement stands behind.
const SimulatedMark = "# SIMULATED"

// form is one tool a trainer's setting is written for.
type form struct {
	title, language string
	write           func(s Spelling) string
}

// forms is the table of spellings by the trainer's name; the first form of each
// is its own.
var forms = map[string][]form{
	"megatron":  megatronForms,
	"ddp":       ddpForms,
	"fsdp2":     fsdp2Forms,
	"deepspeed": deepSpeedForms,
	"xla":       xlaForms,
}

// Snippets writes the setting in every form that the trainer's users have. What
// they say can be read with ReadConfig.
func (t Trainer) Snippets(s Spelling) []Snippet {
	out := make([]Snippet, 0, len(forms[t.Name]))
	for _, f := range forms[t.Name] {
		out = append(out, Snippet{f.title, f.language, t.head(s) + f.write(s)})
	}
	return out
}

// head says where a setting is from, in the comments that all forms share.
func (t Trainer) head(s Spelling) string {
	var b strings.Builder
	if s.Simulated {
		b.WriteString(SimulatedMark + ": a model decided the times behind this; measure on the cluster before you train with it\n")
	}
	fmt.Fprintf(&b, "# zbench: %d elements, unit=%s, n=%d, curve sha256=%s\n", s.Setting, t.Unit, s.Run.DP, s.Curve)
	return b.String()
}

// padNote tells what Megatron's flag for round counts would cost, where it is
// little.
func padNote(s Spelling) string {
	const little = 0.01
	cost := float64(Divisor(s.Run.DP, true)) / float64(max(1, s.Setting))
	if s.Run.Zero != 1 || s.Run.PadBuckets || cost > little {
		return ""
	}
	return fmt.Sprintf("# ddp_pad_buckets_for_high_nccl_busbw would add at most %.2g %% to a bucket and keeps counts divisible by 65536\n", 100*cost)
}

const megatronReadBack = "# read back: grep -E 'Number of buckets for gradient|Params for bucket' in rank 0's log\n"

var megatronForms = []form{
	{"Megatron-LM arguments", "sh", func(s Spelling) string {
		all := megatronArguments(s, megatronNumbers)
		var b strings.Builder
		b.WriteString(s.fresh(all, dashed) + padNote(s) + "BUCKET_ARGS=(\n")
		for _, a := range all {
			b.WriteString("    " + strings.TrimSuffix(dashed(a.key)+" "+a.value, " true") + "\n")
		}
		return b.String() + ")\n" + megatronReadBack
	}},
	{"Primus YAML", "yaml", func(s Spelling) string {
		all := megatronArguments(s, megatronNumbers)
		var b strings.Builder
		b.WriteString(s.fresh(all, bare) + padNote(s) + "modules:\n  pre_trainer:\n    overrides:\n")
		for _, a := range all {
			fmt.Fprintf(&b, "      %s\n", inYAML(a))
		}
		return b.String() + megatronReadBack
	}},
	{"Megatron-Bridge overrides", "sh", func(s Spelling) string {
		all := megatronArguments(s, bridgeNumbers)
		var b strings.Builder
		b.WriteString(s.fresh(all, bridged) + bridgeTrap(s))
		for _, a := range all {
			if a.key == legacyKey {
				b.WriteString("# --no-use-layer-wise-param-layout is an argument of Megatron-LM's own\n")
				continue
			}
			fmt.Fprintf(&b, "%s=%s\n", bridged(a.key), a.value)
		}
		return strings.TrimSuffix(b.String(), "\n") + "  # elements, not bytes\n" + megatronReadBack
	}},
}

// mebi writes a setting in MiB of gradients, exactly: without decimals where it
// is whole.
func mebi(s Spelling) string {
	return decimal(s.Setting*s.Run.grad(), 20)
}

// decimal writes n/2^shift in full.
func decimal(n int64, shift uint) string {
	whole, rest := n>>shift, n&(1<<shift-1)
	if rest == 0 {
		return fmt.Sprint(whole)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d.", whole)
	for rest > 0 {
		rest *= 10
		fmt.Fprint(&b, rest>>shift)
		rest &= 1<<shift - 1
	}
	return b.String()
}

const ddpReadBack = "# read back after the second step: print(model._get_ddp_logging_data()[\"rebuilt_bucket_sizes\"])  # bytes\n" +
	"# the first step has one bucket: do not time it\n"

var ddpForms = []form{
	{"PyTorch DDP", "python", func(s Spelling) string {
		return "# bucket_cap_mb counts MiB (2^20 bytes) of gradients, and a bucket is closed once it reaches it\n" +
			"model = torch.nn.parallel.DistributedDataParallel(\n" +
			"    model,\n    bucket_cap_mb=" + mebi(s) + ",\n    gradient_as_bucket_view=True,\n)\n" + ddpReadBack
	}},
	{"Accelerate", "python", func(s Spelling) string {
		return accelerateTrap(s) +
			"kwargs = accelerate.DistributedDataParallelKwargs(bucket_cap_mb=" + mebi(s) + ", gradient_as_bucket_view=True)\n" +
			"accelerator = accelerate.Accelerator(kwargs_handlers=[kwargs])\n" + ddpReadBack
	}},
	{"Hugging Face Trainer", "python", func(s Spelling) string {
		return "args = transformers.TrainingArguments(output_dir, ddp_bucket_cap_mb=" + mebi(s) + ")\n" + ddpReadBack
	}},
	{"Lightning", "python", func(s Spelling) string {
		return "strategy = lightning.pytorch.strategies.DDPStrategy(bucket_cap_mb=" + mebi(s) + ", gradient_as_bucket_view=True)\n" + ddpReadBack
	}},
}

// accelerateTrap is about values that equal the default.
func accelerateTrap(s Spelling) string {
	if s.Setting*s.Run.grad() != ddpDefault {
		return ""
	}
	return "# Accelerate drops values that equal the default: this 25 never reaches DDP, whose first bucket stays 1 MiB; write 25.000001\n"
}

var fsdp2Forms = []form{
	{"PyTorch FSDP2", "python", fsdp2Text},
}

var deepSpeedForms = []form{
	{"DeepSpeed JSON", "json", func(s Spelling) string {
		return "# DeepSpeed reads comments, Hugging Face does not: leave these lines out there, and do not let it set \"auto\"\n" +
			"# compare the loss after changing the size: it has affected convergence (deepspeedai/DeepSpeed#6351)\n" +
			freshDeepSpeed(s) + gatherTrap(s) +
			deepSpeedJSON(s) +
			"# read back: \"wall_clock_breakdown\": true, \"comms_logger\": {\"enabled\": true} print the calls and their sizes\n"
	}},
}

func freshDeepSpeed(s Spelling) string {
	zero, other := deepSpeedArguments(s)
	return s.fresh(append(zero, other...), bare)
}

// deepSpeedJSON is the settings as DeepSpeed's file has them.
func deepSpeedJSON(s Spelling) string {
	zero, other := deepSpeedArguments(s)
	var b strings.Builder
	b.WriteString("{\n  \"zero_optimization\": {\n")
	for _, a := range zero {
		fmt.Fprintf(&b, "    %q: %s,\n", a.key, a.value)
	}
	b.WriteString("    \"contiguous_gradients\": true\n  }")
	for _, a := range other {
		fmt.Fprintf(&b, ",\n  %q: %s", a.key, a.value)
	}
	return b.String() + "\n}\n"
}

// gatherTrap is about the other bucket size of stages 1 and 2.
func gatherTrap(s Spelling) string {
	if s.Run.Zero == 3 {
		return ""
	}
	return "# allgather_bucket_size has no effect where torch has all_gather_into_tensor\n"
}

var xlaForms = []form{
	{"XLA_FLAGS", "sh", func(s Spelling) string {
		all := xlaArguments(s)
		var flags []string
		for _, a := range all {
			flags = append(flags, "--"+a.key+"="+a.value)
		}
		return s.fresh(all, func(key string) string { return "--" + key }) +
			"# thresholds count bytes of a call's output: for reduce_scatter one rank's share\n" +
			"export XLA_FLAGS=\"$XLA_FLAGS " + strings.Join(flags, " \\\n  ") + "\"\n" +
			"# read back: add --xla_dump_to=DIR and look at the shapes of the calls in the module after optimizations\n"
	}},
}
