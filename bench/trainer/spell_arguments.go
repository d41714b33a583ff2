package trainer

import (
	"fmt"
	"strconv"
	"strings"
)

// argument is one setting that a snippet writes, and whether a file has it.
type argument struct {
	key, value string
	has        func(c *Config) bool
}

// arguments is a list of them.
type arguments []argument

func (a *arguments) add(when bool, key, value string, has func(c *Config) bool) {
	if when {
		*a = append(*a, argument{key, value, has})
	}
}

// fresh is a comment with the settings of a snippet that the user's file lacks or
// has otherwise; empty where no file was given. spell writes a key as the form does.
func (s Spelling) fresh(all arguments, spell func(key string) string) string {
	if s.Config == nil {
		return ""
	}
	var names []string
	for _, a := range all {
		if !a.has(s.Config) {
			names = append(names, spell(a.key))
		}
	}
	file := strings.Trim(strconv.Quote(s.File), `"`) // a name may hold a line end
	if len(names) == 0 {
		return fmt.Sprintf("# nothing new: %s has all of this\n", file)
	}
	return fmt.Sprintf("# new or changed against %s: %s\n", file, strings.Join(names, ", "))
}

// bare spells a key as it is, dashed as an argument of a command.
func bare(key string) string   { return key }
func dashed(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

func isTrue(b *bool) bool                { return b != nil && *b }
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// dtypes tells whether a file has the run's element types.
func (r Run) dtypes(c *Config) bool {
	return c.ParamDtype == r.ParamDtype && c.GradDtype == r.GradDtype
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

// bridged spells a key of Megatron-Bridge: most are under ddp.
func bridged(key string) string {
	switch key {
	case "expert_model_parallel_size":
		return "model." + key
	case "mixed_precision":
		return key
	case "optimizer":
		return "optimizer." + key
	}
	return "ddp." + strings.TrimPrefix(key, "ddp_")
}

// bridgeTrap is about the second place where Bridge sets a type.
func bridgeTrap(s Spelling) string {
	if len(bridgeNumbers[[2]string{s.Run.ParamDtype, s.Run.GradDtype}]) == 0 {
		return ""
	}
	return "# set grad_reduce_in_fp32 in the recipe's mixed_precision, too: that one wins\n"
}

// deepSpeedArguments are the settings that DeepSpeed's buckets and their times depend
// on: those of zero_optimization, and those beside it.
func deepSpeedArguments(s Spelling) (zero, other arguments) {
	r := s.Run
	zero.add(true, "stage", fmt.Sprint(r.Zero), func(c *Config) bool { return is(c.Zero, r.Zero) })
	zero.add(true, "reduce_bucket_size", fmt.Sprint(s.Setting), func(c *Config) bool { return is(c.Elements, s.Setting) })
	zero.add(true, "overlap_comm", fmt.Sprint(!r.NoOverlap), func(c *Config) bool { return is(c.Overlap, !r.NoOverlap) })
	other.add(r.Accum > 1, "gradient_accumulation_steps", fmt.Sprint(r.Accum), func(c *Config) bool { return is(c.Accum, r.Accum) })
	unsaid := "bfloat16"
	if r.ParamDtype == "half" {
		unsaid = "half"
		other.add(true, "fp16", `{"enabled": true}`, func(c *Config) bool { return c.ParamDtype == "half" })
	}
	name := map[string]string{"half": "fp16", "float": "fp32", "bfloat16": "bf16"}[r.GradDtype]
	other.add(r.GradDtype != unsaid && name != "", "communication_data_type", `"`+name+`"`, func(c *Config) bool { return c.GradDtype == r.GradDtype })
	return zero, other
}

// xlaArguments are XLA's flags: the thresholds of the calls that the run makes.
func xlaArguments(s Spelling) arguments {
	var all arguments
	all.add(true, xlaScheduler, "true", func(c *Config) bool { return c.scheduler })
	r := s.Run
	if r.Zero == 0 {
		bytes := s.Setting * r.grad()
		all.add(true, xlaFlagName("all_reduce"), fmt.Sprint(bytes), func(c *Config) bool { return is(c.Bytes, bytes) })
		return all
	}
	share, gathered := roundUp(s.Setting*r.grad(), int64(r.DP))/int64(r.DP), s.Setting*r.param()
	if r.GatherBytes > 0 {
		gathered = r.GatherBytes
	}
	all.add(true, xlaFlagName("reduce_scatter"), fmt.Sprint(share), func(c *Config) bool { return is(c.ShareBytes, share) })
	all.add(true, xlaFlagName("all_gather"), fmt.Sprint(gathered), func(c *Config) bool { return is(c.GatherBytes, gathered) })
	return all
}
