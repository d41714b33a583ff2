package trainer

import (
	"fmt"
	"strings"
)

// PyTorch DDP's rules: torch/csrc/distributed/c10d/reducer.cpp
// compute_bucket_assignment_by_size (a bucket is full at its cap or more) and
// reducer.hpp (1 MiB and 25 MiB), torch/nn/parallel/distributed.py (the first cap
// is 1 MiB only where the user gives none). After the first iteration buckets
// follow the order in which gradients become ready.
const (
	ddpFirst   = 1 << 20
	ddpDefault = 25 << 20
)

// Unsharded is the name of the trainer that stands beside the assumed one: it reduces
// whole gradients.
const Unsharded = "ddp"

func init() {
	register(Trainer{
		listed: 2, Name: Unsharded, Title: "PyTorch DDP", Aliases: []string{"pytorch", "torch", "pytorch-ddp", "torch-ddp"},
		Knob: "bucket_cap_mb", Unit: MiB, GradDtype: "bfloat16", Stages: []int{0}, InPlace: true, Collectives: []string{allReduce},
		Default: func(_ []Param, r Run) int64 { return ddpDefault / r.grad() },
		Granule: func(r Run) int64 { return (1 << 20) / r.grad() },
		plan:    ddpPlan,
		forms:   ddpForms, frontEnds: ddpFrontEnds,
		keys: []key{
			{"bucket_cap_mb", into(func(c *Config) **int64 { return &c.Bytes }, 1<<20)},
			{"ddp_bucket_cap_mb", into(func(c *Config) **int64 { return &c.Bytes }, 1<<20)},
		},
	})
}

func ddpPlan(in *prepared, setting int64, run Run) Plan {
	first := setting
	if setting == 0 {
		first, setting = ddpFirst/run.grad(), ddpDefault/run.grad()
	}
	plan := Plan{Buckets: both(in.kinds, func(p packing, _ bool) []Bucket { return p.atLeast(first, setting) })}
	plan.Backward = reductions(plan.Buckets, allReduce, run)
	return plan
}

const ddpReadBack = "# check with, after the second step: print(model._get_ddp_logging_data()[\"rebuilt_bucket_sizes\"])  # bytes\n" +
	"# the first step has one bucket: do not time it\n"

// ddpFrontEnds wrap DDP: each passes the setting on under the same name but one.
var ddpFrontEnds = []frontEnd{
	{"Accelerate", []string{"accelerate", "hf-accelerate"}, func(Run) string { return "bucket_cap_mb" }, nil},
	{"Hugging Face Trainer", []string{"hf", "huggingface", "transformers", "hf-trainer"}, func(Run) string { return "ddp_bucket_cap_mb" }, nil},
	{"Lightning", []string{"lightning", "pytorch-lightning", "lightning-ai"}, func(Run) string { return "bucket_cap_mb" }, nil},
}

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
