package trainer

import (
	"fmt"
	"strings"
)

// Snippet is a setting as one tool takes it.
type Snippet struct {
	// Title is the tool for people, Language what the text is written in.
	Title    string `json:"title"`
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

// megatronKeys are Megatron's settings that make buckets what was computed.
func megatronKeys(s Spelling) []string {
	keys := []string{"overlap_grad_reduce"}
	if s.Run.Zero == 1 {
		keys = append(keys, "use_distributed_optimizer")
		if !s.Run.NoGatherOverlap {
			keys = append(keys, "overlap_param_gather")
		}
	}
	if s.Run.PadBuckets {
		keys = append(keys, "ddp_pad_buckets_for_high_nccl_busbw")
	}
	return keys
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
		var b strings.Builder
		b.WriteString(padNote(s) + "BUCKET_ARGS=(\n")
		for _, k := range megatronKeys(s) {
			fmt.Fprintf(&b, "    --%s\n", strings.ReplaceAll(k, "_", "-"))
		}
		b.WriteString(optimizerText(s.Run, "    --optimizer muon\n", "    --no-use-layer-wise-param-layout\n"))
		fmt.Fprintf(&b, "    --ddp-bucket-size %d\n)\n", s.Setting)
		return b.String() + megatronReadBack
	}},
	{"Primus YAML", "yaml", func(s Spelling) string {
		var b strings.Builder
		b.WriteString(padNote(s) + "modules:\n  pre_trainer:\n    overrides:\n")
		for _, k := range megatronKeys(s) {
			fmt.Fprintf(&b, "      %s: true\n", k)
		}
		b.WriteString(optimizerText(s.Run, "      optimizer: muon\n", "      use_layer_wise_param_layout: false\n"))
		fmt.Fprintf(&b, "      ddp_bucket_size: %d\n", s.Setting)
		return b.String() + megatronReadBack
	}},
	{"Megatron-Bridge overrides", "sh", func(s Spelling) string {
		var b strings.Builder
		for _, k := range megatronKeys(s) {
			fmt.Fprintf(&b, "ddp.%s=true\n", strings.TrimPrefix(k, "ddp_"))
		}
		b.WriteString(optimizerText(s.Run, "optimizer.optimizer=muon\n", "# the legacy layout is an argument of Megatron-LM's own\n"))
		fmt.Fprintf(&b, "ddp.bucket_size=%d  # elements, not bytes\n", s.Setting)
		return b.String() + megatronReadBack
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
			gatherTrap(s) +
			"{\n  \"zero_optimization\": {\n" +
			fmt.Sprintf("    \"stage\": %d,\n    \"reduce_bucket_size\": %d,\n", s.Run.Zero, s.Setting) +
			fmt.Sprintf("    \"overlap_comm\": %t,\n    \"contiguous_gradients\": true\n  }\n}\n", !s.Run.NoOverlap) +
			"# read back: \"wall_clock_breakdown\": true, \"comms_logger\": {\"enabled\": true} print the calls and their sizes\n"
	}},
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
		flags := []string{"--xla_gpu_enable_latency_hiding_scheduler=true"}
		for _, f := range xlaThresholds(s) {
			flags = append(flags, fmt.Sprintf("--xla_gpu_%s_combine_threshold_bytes=%d", f.call, f.bytes))
		}
		return "# thresholds count bytes of a call's output: for reduce_scatter one rank's share\n" +
			"export XLA_FLAGS=\"$XLA_FLAGS " + strings.Join(flags, " \\\n  ") + "\"\n" +
			"# read back: add --xla_dump_to=DIR and look at the shapes of the calls in the module after optimizations\n"
	}},
}

type xlaFlag struct {
	call  string
	bytes int64
}

// xlaThresholds are the flags of the calls that the run makes.
func xlaThresholds(s Spelling) []xlaFlag {
	if s.Run.Zero == 0 {
		return []xlaFlag{{"all_reduce", s.Setting * s.Run.grad()}}
	}
	return []xlaFlag{
		{"reduce_scatter", s.Setting * s.Run.grad() / int64(s.Run.DP)},
		{"all_gather", s.Setting * s.Run.param()},
	}
}
