package trainer

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
)

// PyTorch DDP's rules. torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size:
// a bucket is full when it reaches its cap. reducer.hpp: the caps are 1 MiB and 25 MiB.
// torch/nn/parallel/distributed.py: the first cap is 1 MiB only if the user sets none.
//
// After the first iteration, buckets follow the order in which gradients become ready. With
// find_unused_parameters, unless the graph is static, they stay in forward order and are reduced
// from the last one on. An additional call then sends which parameters were used, an int32 per
// parameter (Reducer::all_reduce_local_used_map). From 2.14 on, bucket_cap_mb_list has a cap for
// each bucket; its last cap also applies to all later buckets.
const (
	ddpFirst   = 1 << 20
	ddpDefault = 25 << 20
	ddpUsed    = 4
	// From ddpWhole bytes on, settings are whole MiB. Smaller settings are multiples of an eighth
	// of a MiB.
	ddpWhole = 8 << 20
)

// distributedType is Accelerate's setting that chooses the trainer. Values that begin with MULTI_
// choose DDP (accelerate/utils/dataclasses.py).
const (
	distributedType = "distributed_type"
	multi           = "MULTI_" // GPU, XPU, NPU and others follow
)

// Unsharded is the name of the trainer that reduces whole gradients. If the user names no trainer,
// the answer shows this trainer besides the assumed one.
const Unsharded = "ddp"

func init() {
	register(Trainer{
		listed: 2, Name: Unsharded, Title: "PyTorch DDP", Aliases: []string{"pytorch", "torch", "pytorch-ddp", "torch-ddp"},
		Knob: "bucket_cap_mb", Unit: MiB, GradDtype: "bfloat16", Stages: []int{0}, InPlace: true, Collectives: []string{allReduce},
		Default: func(_ []Param, r Run) int64 { return ddpDefault / r.GradBytes() },
		Step: func(setting int64, r Run) int64 {
			if setting*r.GradBytes() < ddpWhole {
				return (1 << 17) / r.GradBytes()
			}
			return (1 << 20) / r.GradBytes()
		},
		plan:  ddpPlan,
		forms: ddpForms, frontEnds: ddpFrontEnds,
		reads: []readable{{"Accelerate YAML", "Accelerate's distributed_type"}},
		keys: []key{
			{"bucket_cap_mb ddp_bucket_cap_mb", into(func(c *Config) **int64 { return &c.Bytes }, 1<<20)},
			{"bucket_cap_mb_list", capList},
			{"find_unused_parameters ddp_find_unused_parameters", flag(func(c *Config) **bool { return &c.FindUnused })},
			{"static_graph", nil},
			{distributedType, nil},
			{strategy, nil},
		},
		others: []other{{"dist_config.name", "LLaMA-Factory's v1 shards by it: --framework fsdp2 asks for FSDP2, and DeepSpeed's file can be given to --config"}, {"fsdp", "it is FSDP1, whose flat parameters are not simulated, unless fsdp_version is 2: --framework fsdp2 asks for that"}},
		beside: []key{
			{"gradient_checkpointing bf16 fp16 mixed_precision precision", nil},
			{"accumulate_grad_batches", small(func(c *Config) **int { return &c.Accum })},
		},
		chosenBy: func() []choice {
			return slices.Concat(chosen("", distributedType, multi+"GPU", multi+"XPU", multi+"NPU"), chosen(lightning, strategy, "ddp", lightningUnused, "DDPStrategy", "fsdp", "FSDPStrategy"))
		},
		conclude: ddpConclusions,
		Changes: []Change{{
			"used_parameters", "find_unused_parameters=False, if every parameter is used in every step, or static_graph=True, if always the same ones are: buckets then follow the order of the gradients",
			func(r Run) bool { return r.FindUnused }, func(r *Run) { r.FindUnused = false },
		}},
	})
}

func ddpPlan(in *prepared, setting int64, run Run) Plan {
	limits := []int64{ddpFirst / run.GradBytes(), ddpDefault / run.GradBytes()}
	if setting != 0 {
		limits = nil
		for _, bytes := range firstCaps(run) {
			limits = append(limits, roundUp(bytes, run.GradBytes())/run.GradBytes())
		}
		limits = append(limits, setting)
	}
	kinds := in.kinds
	if run.FindUnused {
		kinds = in.ahead
	}
	plan := Plan{Buckets: both(kinds, func(p packing, _ bool) []Bucket {
		buckets := p.atLeast(limits...)
		if run.FindUnused {
			for i, b := range buckets {
				buckets[i].First, buckets[i].Last = b.Last, b.First
			}
			slices.Reverse(buckets)
		}
		return buckets
	})}
	plan.Backward = reductions(plan.Buckets, allReduce, run)
	if n := len(in.reverse.order); run.FindUnused && run.DP > 1 && n > 0 {
		plan.After = []Message{{Collective: allReduce, Bytes: int64(n) * ddpUsed, Ranks: run.DP, Wait: Never}}
	}
	return plan
}

// ddpConclusions fills in settings that follow from other settings. Hugging Face's Trainer, for
// example, looks for unused parameters unless it recomputes activations (transformers at 000945a9,
// src/transformers/trainer.py).
func ddpConclusions(c *Config, _ []Setting) {
	switch kind, said := c.said[distributedType]; {
	case strings.HasPrefix(strings.ToLower(c.said[strategy]), "fsdp"):
		c.refused = fmt.Errorf("%s of Lightning is FSDP1, whose flat parameters are not simulated", c.said[strategy])
	case said && !strings.HasPrefix(kind, multi):
		c.refused = fmt.Errorf("%s %s of Accelerate is not DDP", distributedType, kind)
	case said: // autocast does not change the type of the parameters, and Accelerate does not load the parameters
		c.GradDtype, c.ParamDtype, c.LoadedType = "float", "float", true
		c.Notes = append(c.Notes, "gradients have the type of the parameters, whatever mixed_precision says: float32, unless the model is loaded in another (--param-dtype)")
	case ddpTypes[c.said["precision"]] != "":
		c.ParamDtype = ddpTypes[c.said["precision"]]
		c.GradDtype = c.ParamDtype
	case c.on("bf16") || c.on("fp16") || !isUnset(c.said["precision"]):
		c.LoadedType = true
		c.Notes = append(c.Notes, "its mixed precision is autocast: gradients have the type in which the parameters were loaded, which it does not say; with float32 they have twice the bytes of bfloat16 (--param-dtype float or bfloat16 says which)")
	}
	if c.GradDtype == "" && !c.LoadedType {
		c.LoadedType = true
		c.Notes = append(c.Notes, "it does not say in which type the parameters are: gradients have the same (--param-dtype)")
	}
	if c.huggingFace() && c.FindUnused == nil {
		lora := c.said[tuning] == "lora" // LLaMA-Factory's hparams/parser.py
		c.FindUnused = new(!c.on("gradient_checkpointing") && !lora)
		if *c.FindUnused {
			c.Notes = append(c.Notes, "it does not set ddp_find_unused_parameters: Hugging Face's Trainer then looks for unused ones, and buckets are cut in the order of forward")
		}
	}
	if c.said[strategy] == lightningUnused {
		c.FindUnused = new(true)
	}
	if c.on("static_graph") {
		c.FindUnused = new(false)
	}
}

// ddpTypes has the element type of parameters by Lightning's precision, if Lightning converts them.
// All other precisions use autocast.
var ddpTypes = map[string]string{"32": "float", "32-true": "float", "bf16-true": "bfloat16", "16-true": "half"}

// huggingFace reports whether Hugging Face's Trainer starts DDP.
func (c *Config) huggingFace() bool {
	_, bucket := c.said["ddp_bucket_cap_mb"]
	_, batch := c.said[perDevice]
	_, is := spell.Match(hfTrainer.names, c.FrontEnd)
	return bucket || batch || is
}

// Lightning's key, its name as a front end, and its strategy that looks for unused parameters
// (pytorch-lightning at 7f0c3436, strategies/ddp.py).
const (
	strategy        = "strategy"
	lightning       = "lightning"
	lightningUnused = "ddp_find_unused_parameters_true"
)

// ddpReadBack returns lines that print the real buckets. Unless DDP looks for unused parameters, it
// rebuilds the buckets after the first step.
func ddpReadBack(s Spelling) string {
	if s.Run.FindUnused {
		return "# check with, after the first step: print(model._get_ddp_logging_data()[\"bucket_sizes\"])  # bytes\n"
	}
	return "# check with, after the second step: print(model._get_ddp_logging_data()[\"rebuilt_bucket_sizes\"])  # bytes\n" +
		"# the first step has one bucket: do not time it\n"
}

var hfTrainer = frontEnd{"Hugging Face Trainer", []string{"hf", "huggingface", "transformers", "hf-trainer"}, func(Run) string { return "ddp_bucket_cap_mb" }, nil}

// ddpFrontEnds wrap DDP. All except one use DDP's own name for the setting.
var ddpFrontEnds = []frontEnd{
	{"Accelerate", []string{"accelerate", "hf-accelerate"}, func(Run) string { return "bucket_cap_mb" }, nil},
	hfTrainer,
	{"Lightning", []string{lightning, "pytorch-lightning", "lightning-ai"}, func(Run) string { return "bucket_cap_mb" }, nil},
}

var ddpForms = []form{
	{"PyTorch DDP", "python", func(s Spelling) string {
		return "# bucket_cap_mb counts MiB (2^20 bytes) of gradients, and a bucket is closed once it reaches it\n" +
			"model = torch.nn.parallel.DistributedDataParallel(\n" +
			"    model,\n    " + caps(s) + ",\n    gradient_as_bucket_view=True,\n" + unused(s, "    ", ",\n") + ")\n" + ddpReadBack(s)
	}},
	{"Accelerate", "python", func(s Spelling) string {
		return accelerateTrap(s) +
			"kwargs = accelerate.DistributedDataParallelKwargs(bucket_cap_mb=" + mebi(s) + ", gradient_as_bucket_view=True" + unused(s, ", ", "") + ")\n" +
			"accelerator = accelerate.Accelerator(kwargs_handlers=[kwargs])\n" + ddpReadBack(s)
	}},
	{"Hugging Face Trainer", "python", func(s Spelling) string {
		trap := accelerateTrap(s)
		if strings.Contains(mebi(s), ".") {
			trap += "# a fraction of a MiB can be set in Python, not on the command line\n"
		}
		return trap + "args = transformers.TrainingArguments(output_dir, ddp_bucket_cap_mb=" + mebi(s) +
			", ddp_find_unused_parameters=" + python(s.Run.FindUnused) + ")\n" + ddpReadBack(s)
	}},
	{"Lightning", "python", func(s Spelling) string {
		return "strategy = lightning.pytorch.strategies.DDPStrategy(" + caps(s) + ", gradient_as_bucket_view=True" + unused(s, ", ", "") + ")\n" + ddpReadBack(s)
	}},
}

// unused returns the argument that makes DDP look for unused parameters, or empty text if that is
// off.
func unused(s Spelling, before, behind string) string {
	if !s.Run.FindUnused {
		return ""
	}
	return before + "find_unused_parameters=True" + behind
}

// accelerateTrap warns about a value that equals the default, which Accelerate drops.
func accelerateTrap(s Spelling) string {
	if s.Setting*s.Run.GradBytes() != ddpDefault {
		return ""
	}
	return "# Accelerate drops values that equal the default: this 25 never reaches DDP, whose first bucket stays 1 MiB; write 25.000001\n"
}

// capList reads caps in MiB, separated by colons. The last one is the bucket size; the caps before
// it belong to the first buckets.
func capList(c *Config, value string) error {
	if isUnset(value) {
		return nil
	}
	var all []int64
	for text := range strings.SplitSeq(value, ":") {
		n, err := scaled(text, 1<<20)
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	last := len(all) - 1
	c.Caps, c.Bytes = strings.Trim(fmt.Sprint(all[:last]), "[]"), &all[last]
	return nil
}

// firstCaps returns the caps of the first buckets, in bytes.
func firstCaps(run Run) (all []int64) {
	for text := range strings.FieldsSeq(run.Caps) {
		n, _ := strconv.ParseInt(text, 10, 64) // capList wrote this text
		all = append(all, n)
	}
	return all
}

// caps returns the arguments that set the bucket sizes.
func caps(s Spelling) string {
	if len(s.Run.Caps) == 0 {
		return "bucket_cap_mb=" + mebi(s)
	}
	list := slice.Map(firstCaps(s.Run), mebibytes)
	return "bucket_cap_mb_list=[" + strings.Join(append(list, mebi(s)), ", ") + "]"
}

// mebi formats a setting in MiB of gradients, exactly, and without decimals if it is whole.
func mebi(s Spelling) string {
	return mebibytes(s.Setting * s.Run.GradBytes())
}

// mebibytes formats bytes in MiB, exactly. 20 decimals are always enough.
func mebibytes(n int64) string {
	text := big.NewRat(n, 1<<20).FloatString(20)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
