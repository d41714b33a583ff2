package trainer

import (
	"path"
	"slices"
	"strings"
)

// megatronKeys are Megatron's arguments. Primus has them as they are, in YAML;
// Bridge has those of the bucket under ddp.
var megatronKeys = []key{
	{"ddp_bucket_size", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"ddp.bucket_size", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"ddp_num_buckets", into(func(c *Config) **int64 { return &c.Buckets }, 1)},
	{"ddp.num_buckets", into(func(c *Config) **int64 { return &c.Buckets }, 1)},
	{"overlap_grad_reduce", flag(func(c *Config) **bool { return &c.Overlap })},
	{"ddp.overlap_grad_reduce", flag(func(c *Config) **bool { return &c.Overlap })},
	{"overlap_param_gather", flag(func(c *Config) **bool { return &c.GatherOverlap })},
	{"ddp.overlap_param_gather", flag(func(c *Config) **bool { return &c.GatherOverlap })},
	{"ddp_pad_buckets_for_high_nccl_busbw", flag(func(c *Config) **bool { return &c.Pad })},
	{"ddp.pad_buckets_for_high_nccl_busbw", flag(func(c *Config) **bool { return &c.Pad })},
	{"use_distributed_optimizer", distributed},
	{"ddp.use_distributed_optimizer", distributed},
	{"num_distributed_optimizer_instances", small(func(c *Config) **int { return &c.Instances })},
	{"expert_model_parallel_size", small(func(c *Config) **int { return &c.EP })},
	{"pipeline_model_parallel_size", small(func(c *Config) **int { return &c.PP })},
	{"bf16", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"fp16", isOn(func(c *Config) *bool { return &c.fp16 })},
	{"mixed_precision", func(c *Config, value string) error { // Bridge's
		c.fp16 = strings.HasPrefix(value, "fp16")
		c.bf16 = strings.HasPrefix(value, "bf16")
		return nil
	}},
	{bridgeReduce, nil},
	{"ddp.num_distributed_optimizer_instances", small(func(c *Config) **int { return &c.Instances })},
	{"model.expert_model_parallel_size", small(func(c *Config) **int { return &c.EP })},
	{"grad_reduce_in_bf16", isOn(func(c *Config) *bool { return &c.bf16Reduce })},
	{"accumulate_allreduce_grads_in_fp32", isOn(func(c *Config) *bool { return &c.fp32Reduce })},
	{"fp8_param_gather", isOn(func(c *Config) *bool { return &c.FP8Gather })},
	{"ddp.fp8_param_gather", isOn(func(c *Config) *bool { return &c.FP8Gather })},
	{"ddp_reduce_scatter_with_fp32_accumulation", isOn(func(c *Config) *bool { return &c.FP32Accumulation })},
	{"ddp.reduce_scatter_with_fp32_accumulation", isOn(func(c *Config) *bool { return &c.FP32Accumulation })},
	{"use_megatron_fsdp", otherBuckets},
	{"use_custom_fsdp", otherBuckets},
	{"use_torch_fsdp2", otherBuckets},
	{"tensor_model_parallel_size", small(func(c *Config) **int { return &c.TP })},
	{"model.tensor_model_parallel_size", small(func(c *Config) **int { return &c.TP })},
	{"expert_tensor_parallel_size", small(func(c *Config) **int { return &c.ETP })},
	{"model.expert_tensor_parallel_size", small(func(c *Config) **int { return &c.ETP })},
	{"model.pipeline_model_parallel_size", small(func(c *Config) **int { return &c.PP })},
	{"make_vocab_size_divisible_by", into(func(c *Config) **int64 { return &c.VocabMultiple }, 1)},
	{"model.make_vocab_size_divisible_by", into(func(c *Config) **int64 { return &c.VocabMultiple }, 1)},
	{"model.should_pad_vocab", nil},
	{"micro_batch_size", plainForm(func(c *Config) *int64 { return &c.micro })},
	{"seq_length", plainForm(func(c *Config) *int64 { return &c.seq })},
	{"context_parallel_size", small(func(c *Config) **int { return &c.CP })},
	{"model.context_parallel_size", small(func(c *Config) **int { return &c.CP })},
	{"recompute_granularity", func(c *Config, value string) error {
		full := strings.EqualFold(value, "full")
		c.Recompute = &full
		return nil
	}},
}

// distributed is Megatron's distributed optimizer: stage 1.
func distributed(c *Config, value string) error {
	stage := 1
	if strings.EqualFold(value, "false") {
		stage = 0
	}
	c.Zero = &stage
	return nil
}

// otherBuckets is a switch for a way to shard that ddp_bucket_size does not cut.
func otherBuckets(c *Config, value string) error {
	if on := false; isOn(func(*Config) *bool { return &on })(c, value) == nil && on {
		c.Notes = append(c.Notes, "it shards with FSDP, whose buckets ddp_bucket_size does not cut: the answer is for Megatron's own data parallelism")
	}
	return nil
}

// primus tells that a file is a training configuration of Primus: those extend
// primus/configs/modules/megatron/pre_trainer.yaml, which has bf16 and
// use_distributed_optimizer on (read at 44a21d15, 2026-11-21).
func primus(p pair) bool { return p.key == "config" && path.Base(p.value) == "pre_trainer.yaml" }

func primusDefaults(c *Config, found []pair) {
	if slices.ContainsFunc(found, primus) {
		orElse(&c.Zero, 1)
		c.bf16 = true
	}
}

// bridgeReduce is Bridge's key of the element type in which gradients are reduced.
const bridgeReduce = "ddp.grad_reduce_in_fp32"

// megatronConclusions fills in what the arguments leave to their defaults.
func megatronConclusions(c *Config, found []pair) {
	bridgeConclusions(c, found)
	orElse(&c.Overlap, false)
	orElse(&c.GatherOverlap, false)
	if *c.GatherOverlap {
		orElse(&c.Zero, 1) // Megatron refuses it without the distributed optimizer
	}
	orElse(&c.Zero, 0)
	if value := c.said[bridgeReduce]; !isUnset(value) {
		reduce := c.on(bridgeReduce)
		c.bf16, c.fp32Reduce, c.bf16Reduce = !c.fp16, reduce, !reduce // its recipes train in bfloat16
	}
	switch {
	case c.fp16 && c.fp32Reduce:
		c.ParamDtype, c.GradDtype = "half", "float"
	case c.fp16:
		c.ParamDtype, c.GradDtype = "half", "half"
	case c.bf16 && c.bf16Reduce:
		c.ParamDtype, c.GradDtype = "bfloat16", "bfloat16"
	case c.bf16: // it accumulates and reduces in fp32 by default
		c.ParamDtype, c.GradDtype = "bfloat16", "float"
	}
	if c.PP != nil && *c.PP > 1 {
		c.Notes = append(c.Notes, "with pipeline stages the bucket size counts on the first stage alone: the list of parameters must be that stage's")
	}
	if c.micro > 0 && c.seq > 0 {
		n := c.micro * c.seq
		if c.CP != nil {
			n /= int64(max(1, *c.CP))
		}
		c.TokensPerMicrobatch = &n
	}
	c.layerWise(slices.ContainsFunc(found, primus))
}
