package trainer

import (
	"fmt"
	"strings"
)

// padNote states the cost of Megatron's flag for round counts, if it is small.
func padNote(s Spelling) string {
	const little = 0.01
	cost := float64(Divisor(s.Run.DP, true)) / float64(max(1, s.Setting))
	if s.Run.Zero != 1 || s.Run.PadBuckets || cost > little {
		return ""
	}
	return fmt.Sprintf("# ddp_pad_buckets_for_high_nccl_busbw would add at most %.2g %% to a bucket and keeps counts divisible by 65536\n", 100*cost)
}

const megatronReadBack = "# check with: grep -E 'Number of buckets for gradient|Params for bucket' in rank 0's log\n"

var megatronForms = []form{
	{"Megatron-LM arguments", "sh", func(s Spelling) string {
		all := megatronArguments(s, megatronNumbers)
		var b strings.Builder
		b.WriteString(s.fresh(all, dashed) + padNote(s) + s.countTrap(dashed("ddp_num_buckets")) + "BUCKET_ARGS=(\n")
		for _, a := range all {
			b.WriteString("    " + strings.TrimSuffix(dashed(a.key)+" "+a.value, " true") + "\n")
		}
		return b.String() + ")\n" + megatronReadBack
	}},
	{"Primus YAML", "yaml", func(s Spelling) string {
		all := megatronArguments(s, megatronNumbers)
		var b strings.Builder
		b.WriteString(s.fresh(all, bare) + padNote(s) + s.countTrap("ddp_num_buckets") + "modules:\n  pre_trainer:\n    overrides:\n")
		for _, a := range all {
			if a.key == legacyKey {
				b.WriteString("      " + legacyNote)
				continue
			}
			fmt.Fprintf(&b, "      %s\n", inYAML(a))
		}
		return b.String() + megatronReadBack
	}},
	{"Megatron-Bridge overrides", "sh", bridgeOverrides},
}

// megatronArguments are all settings that the buckets and their times depend on and
// that are not Megatron's defaults. numbers is the table of the element types: Bridge
// has its own.
func megatronArguments(s Spelling, numbers map[[2]string][][2]string) arguments {
	r := s.Run
	var all arguments
	sharded := r.Zero == 1
	all.add(!r.NoOverlap, "overlap_grad_reduce", "true", func(c *Config) bool { return isTrue(c.Overlap) })
	layerWise, optimizer := sharded && r.LayerWise, s.optimizer()
	all.add(layerWise, "optimizer", optimizer, func(c *Config) bool { return c.LayerWise })
	all.add(layerWise && r.LegacyLayout, legacyKey, "true", func(c *Config) bool { return c.LegacyLayout })
	all.add(sharded && (!layerWise || optimizer != distMuon), "use_distributed_optimizer", "true", func(c *Config) bool { return is(c.Zero, 1) })
	all.add(sharded && !r.NoOverlap && !r.NoGatherOverlap, "overlap_param_gather", "true", func(c *Config) bool { return isTrue(c.GatherOverlap) })
	all.add(r.PadBuckets, "ddp_pad_buckets_for_high_nccl_busbw", "true", func(c *Config) bool { return isTrue(c.Pad) })
	all.add(sharded && r.FP8Gather, "fp8_param_gather", "true", func(c *Config) bool { return c.FP8Gather })
	all.add(sharded && r.FP32Accumulation, "ddp_reduce_scatter_with_fp32_accumulation", "true", func(c *Config) bool { return c.FP32Accumulation })
	all.add(r.Instances > 1, "num_distributed_optimizer_instances", fmt.Sprint(r.Instances), func(c *Config) bool { return is(c.Instances, r.Instances) })
	all.add(r.EP > 1, "expert_model_parallel_size", fmt.Sprint(r.EP), func(c *Config) bool { return is(c.EP, r.EP) })
	for _, n := range numbers[[2]string{r.ParamDtype, r.GradDtype}] {
		all.add(true, n[0], n[1], r.dtypes)
	}
	all.add(true, "ddp_bucket_size", fmt.Sprint(s.Setting), func(c *Config) bool { return is(c.Elements, s.Setting) })
	return all
}

// megatronNumbers are the arguments by the element types of gathered parameters and
// of reduced gradients. bfloat16 with float is what --bf16 alone gives, and needs none.
var megatronNumbers = map[[2]string][][2]string{
	{"bfloat16", "bfloat16"}: {{"bf16", "true"}, {"grad_reduce_in_bf16", "true"}},
	{"half", "half"}:         {{"fp16", "true"}},
	{"half", "float"}:        {{"fp16", "true"}, {"accumulate_allreduce_grads_in_fp32", "true"}},
}

// bridgeNumbers are those of Megatron-Bridge, whose recipes train in bfloat16.
var bridgeNumbers = map[[2]string][][2]string{
	{"bfloat16", "bfloat16"}: {{"grad_reduce_in_fp32", "false"}},
	{"half", "half"}:         {{"mixed_precision", "fp16_mixed"}, {"grad_reduce_in_fp32", "false"}},
	{"half", "float"}:        {{"mixed_precision", "fp16_mixed"}, {"grad_reduce_in_fp32", "true"}},
}

// countTrap is about a number of buckets in the user's file.
func (s Spelling) countTrap(key string) string {
	if s.Config == nil || s.Config.Buckets == nil {
		return ""
	}
	return "# remove " + key + ": Megatron refuses it beside a bucket size\n"
}
