package trainer

import (
	"path"
	"strings"
)

// megatronSettings are Megatron's arguments. Primus has them as they are, in YAML;
// Bridge has those of the bucket under ddp.
var megatronSettings = []key{
	{"ddp_bucket_size", "megatron", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"ddp.bucket_size", "megatron", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"ddp_num_buckets", "megatron", into(func(c *Config) **int64 { return &c.Buckets }, 1)},
	{"ddp.num_buckets", "megatron", into(func(c *Config) **int64 { return &c.Buckets }, 1)},
	{"overlap_grad_reduce", "megatron", flag(func(c *Config) **bool { return &c.Overlap })},
	{"ddp.overlap_grad_reduce", "megatron", flag(func(c *Config) **bool { return &c.Overlap })},
	{"overlap_param_gather", "megatron", flag(func(c *Config) **bool { return &c.GatherOverlap })},
	{"ddp.overlap_param_gather", "megatron", flag(func(c *Config) **bool { return &c.GatherOverlap })},
	{"ddp_pad_buckets_for_high_nccl_busbw", "megatron", flag(func(c *Config) **bool { return &c.Pad })},
	{"ddp.pad_buckets_for_high_nccl_busbw", "megatron", flag(func(c *Config) **bool { return &c.Pad })},
	{"use_distributed_optimizer", "megatron", distributed},
	{"ddp.use_distributed_optimizer", "megatron", distributed},
	{"num_distributed_optimizer_instances", "megatron", small(func(c *Config) **int { return &c.Instances })},
	{"expert_model_parallel_size", "megatron", small(func(c *Config) **int { return &c.EP })},
	{"pipeline_model_parallel_size", "megatron", small(func(c *Config) **int { return &c.PP })},
	{"bf16", "megatron", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"fp16", "megatron", isOn(func(c *Config) *bool { return &c.fp16 })},
	{"mixed_precision", "megatron", func(c *Config, value string) error { // Bridge's
		c.fp16 = strings.HasPrefix(value, "fp16")
		c.bf16 = strings.HasPrefix(value, "bf16")
		return nil
	}},
	{"ddp.grad_reduce_in_fp32", "megatron", flag(func(c *Config) **bool { return &c.bridgeReduce })},
	{"ddp.num_distributed_optimizer_instances", "megatron", small(func(c *Config) **int { return &c.Instances })},
	{"model.expert_model_parallel_size", "megatron", small(func(c *Config) **int { return &c.EP })},
	{"grad_reduce_in_bf16", "megatron", isOn(func(c *Config) *bool { return &c.bf16Reduce })},
	{"accumulate_allreduce_grads_in_fp32", "megatron", isOn(func(c *Config) *bool { return &c.fp32Reduce })},
	{"use_megatron_fsdp", "megatron", otherBuckets},
	{"use_custom_fsdp", "megatron", otherBuckets},
	{"use_torch_fsdp2", "megatron", otherBuckets},
	{"tensor_model_parallel_size", "megatron", plain(func(c *Config) *int64 { return &c.tp })},
	{"micro_batch_size", "megatron", plain(func(c *Config) *int64 { return &c.micro })},
	{"seq_length", "megatron", plain(func(c *Config) *int64 { return &c.seq })},
	{"context_parallel_size", "megatron", plain(func(c *Config) *int64 { return &c.cp })},
	{"recompute_granularity", "megatron", func(c *Config, value string) error {
		full := strings.EqualFold(value, "full")
		c.Recompute = &full
		return nil
	}},
}

var deepSpeedSettings = []key{
	{"reduce_bucket_size", "deepspeed", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"stage", "deepspeed", small(func(c *Config) **int { return &c.Zero })},
	{"overlap_comm", "deepspeed", flag(func(c *Config) **bool { return &c.Overlap })},
	{"bf16.enabled", "deepspeed", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"bfloat16.enabled", "deepspeed", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"fp16.enabled", "deepspeed", isOn(func(c *Config) *bool { return &c.fp16 })},
	{"gradient_accumulation_steps", "deepspeed", small(func(c *Config) **int { return &c.Accum })},
	{"communication_data_type", "deepspeed", dtype(func(c *Config) *string { return &c.GradDtype })},
	{"allgather_bucket_size", "deepspeed", func(c *Config, _ string) error {
		c.Notes = append(c.Notes, "allgather_bucket_size has no effect where torch has all_gather_into_tensor")
		return nil
	}},
}

var otherSettings = []key{
	{"bucket_cap_mb", "ddp", into(func(c *Config) **int64 { return &c.Bytes }, 1<<20)},
	{"ddp_bucket_cap_mb", "ddp", into(func(c *Config) **int64 { return &c.Bytes }, 1<<20)},
	{"xla_gpu_all_reduce_combine_threshold_bytes", "xla", into(func(c *Config) **int64 { return &c.Bytes }, 1)},
	{"xla_gpu_reduce_scatter_combine_threshold_bytes", "xla", into(func(c *Config) **int64 { return &c.ShareBytes }, 1)},
	{"xla_gpu_all_gather_combine_threshold_bytes", "xla", into(func(c *Config) **int64 { return &c.GatherBytes }, 1)},
	{xlaScheduler, "xla", isOn(func(c *Config) *bool { return &c.scheduler })},
	{"blocks_per_unit", "fsdp2", into(func(c *Config) **int64 { return &c.Blocks }, 1)},
	{"keep_params", "fsdp2", flag(func(c *Config) **bool { return &c.KeepParams })},
	{"unit_before_blocks", "fsdp2", isOn(func(c *Config) *bool { return &c.ends })},
	{"unit_after_blocks", "fsdp2", isOn(func(c *Config) *bool { return &c.ends })},
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

func isOn(field func(c *Config) *bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		*field(c) = !strings.EqualFold(value, "false") && !isUnset(value)
		return nil
	}
}

func plain(field func(c *Config) *int64) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		n, err := whole(value)
		*field(c) = n
		return err
	}
}
