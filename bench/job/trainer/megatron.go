package trainer

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/job/shell"
)

// Megatron-Core's rules, read at d98e8a64. megatron/core/optimizer/param_layout.py: tensors start
// at multiples of 64 elements, and buckets end at multiples of lcm(dp, 128) or lcm(dp, 128, 2¹⁶).
// optimizer/distrib_optimizer.py and distributed/param_and_grad_buffer.py: tensors are in reverse
// order, and a bucket is full when it reaches bucket_size. training/training.py,
// resolve_ddp_bucket_size: it returns the default bucket size.
// distributed/distributed_data_parallel.py: there is one chain of gathers for dense tensors and one
// for expert tensors.
const (
	megatronLeast   = 40_000_000
	megatronPerRank = 1_000_000
	megatronAlign   = 64
	megatronEnd     = 128
	megatronPadded  = 1 << 16
	megatronVocab   = 128 // --make-vocab-size-divisible-by
)

// Assumed is the trainer that is assumed if the user names none: the most common trainer on large
// clusters.
const Assumed = "megatron"

func init() {
	register(Trainer{
		listed: 1, Name: Assumed, Title: "Megatron-LM", Aliases: []string{"megatron-lm", "megatron-core", "mcore"},
		Knob: "ddp_bucket_size", Flag: "--ddp-bucket-size", Unit: Elements, GradDtype: "float", Stages: []int{1, 0}, InPlace: true, LayerWise: true,
		Collectives: []string{allReduce, reduceScatter, allGather},
		Default:     megatronDefault, plan: megatronPlan, Tensors: megatronTensors, VocabMultiple: megatronVocab, Memory: megatronMemory,
		Changes: []Change{{
			"instances", "several optimizer instances (--num-distributed-optimizer-instances): rings of fewer ranks have less latency; sweep groups of that size to know by how much",
			func(r Run) bool { return r.Zero == 1 && r.Instances < 2 && !r.LayerWise }, nil,
		}},
		switches: []runSwitch{overlapSwitch("--overlap-grad-reduce"), {
			"--overlap-param-gather",
			func(run, advised Run) bool { return run.NoGatherOverlap && !advised.NoGatherOverlap && run.Zero > 0 },
			func(run *Run, _ Run) { run.NoGatherOverlap = false },
		}},
		forms: megatronForms, frontEnds: megatronFrontEnds,
		reads: []readable{
			{"Megatron's arguments or script", "Megatron's arguments (--ddp-bucket-size, --use-distributed-optimizer)"},
			{"Primus YAML", "Primus YAML"},
		},
		keys: megatronKeys, others: megatronOthers, chosenBy: func() []choice {
			return slices.Concat(chosen("primus", primusFramework, "megatron"), chosen(bridgeName, primusFramework, "megatron_bridge"))
		}, beside: optimizerKeys, begin: primusDefaults, conclude: megatronConclusions,
	})
}

// megatronFrontEnds start Megatron with configurations of their own. NeMo uses the configuration of
// Bridge.
var megatronFrontEnds = []frontEnd{
	{"Primus YAML", []string{"primus"}, func(Run) string { return "ddp_bucket_size" }, nil},
	{"Megatron-Bridge overrides", []string{bridgeName, "megatron-bridge", "nemo"}, func(r Run) string { return bridged("ddp_bucket_size", r.Zero == 1) }, bridgeUnset},
}

// megatronMemory returns the memory of the padding. Padding is allocated with the gradients, and
// with the parameters if these are gathered.
func megatronMemory(p Plan, _ int64, r Run) int64 {
	n := slice.Sum(p.Buckets, func(b Bucket) int64 { return b.Padding })
	if r.Zero == 0 {
		return n * r.GradBytes()
	}
	return n * (r.GradBytes() + r.param())
}

func megatronDefault(_ []Param, run Run) int64 {
	return max(megatronLeast, megatronPerRank*int64(run.DP))
}

// Divisor returns a number of elements. With the distributed optimizer, Megatron rounds up the end
// of a bucket to a multiple of this number.
func Divisor(ranks int, pad bool) int64 {
	d := lcm(int64(ranks), megatronEnd)
	if pad {
		d = lcm(d, megatronPadded)
	}
	return d
}

func megatronPlan(in *prepared, setting int64, run Run) Plan {
	if setting == 0 {
		setting = megatronDefault(in.params, run)
	}
	if run.NoOverlap {
		setting = 0 // one bucket per buffer
	}
	var plan Plan
	switch {
	case run.Zero == 1 && run.LayerWise && !run.LegacyLayout:
		plan.Buckets = wholeBuckets(in, setting, run)
	case run.Zero == 1 && run.FP8Gather && !run.LayerWise:
		plan.Buckets = quantizedBuckets(in, setting, run)
	default:
		plan.Buckets = both(in.kinds, func(p packing, expert bool) []Bucket {
			if run.Zero == 1 && !run.LayerWise {
				p.align, p.divisor = megatronAlign, Divisor(run.Ranks(expert)/run.instances(), run.PadBuckets)
			}
			return p.atLeast(setting)
		})
	}
	switch {
	case run.Zero == 0 || run.LayerWise && run.LegacyLayout:
		plan.Backward = reductions(plan.Buckets, allReduce, run)
	case run.FP32Accumulation:
		plan.Backward = exchanges(plan.Buckets, run)
	default:
		plan.Backward = acrossInstances(plan.Buckets, run)
	}
	if run.Zero == 1 {
		plan.Forward = chain(plan.Buckets, run)
	}
	if run.NoOverlap {
		for i := range plan.Backward {
			plan.Backward[i].Launch = 0
		}
	}
	return plan
}

// exchanges sends the share of every gradient to its rank, which sums the shares itself. Before
// each call, computation waits for the previous call of the same ranks, because the output of that
// call is kept until then (param_and_grad_buffer.py, start_grad_sync).
func exchanges(buckets []Bucket, run Run) []Message {
	all := reductions(buckets, allToAll, run)
	last := map[int]int{}
	for i, m := range all {
		if before, has := last[m.Ranks]; has {
			all[before].Wait = m.Launch
		}
		last[m.Ranks] = i
	}
	return all
}

// acrossInstances scatters within each optimizer instance and then reduces the shards over the
// instances.
func acrossInstances(buckets []Bucket, run Run) []Message {
	scatter := reductions(buckets, reduceScatter, run)
	if run.instances() == 1 {
		return scatter
	}
	var all []Message
	for _, m := range scatter {
		m.Ranks /= run.instances()
		shard := m
		shard.Collective, shard.Ranks, shard.Bytes = allReduce, run.instances(), m.Bytes/int64(m.Ranks)
		if m.Ranks > 1 {
			all = append(all, m)
		}
		all = append(all, shard)
	}
	return all
}

// megatronKeys are Megatron's arguments. Primus uses the same names in YAML; Bridge puts the bucket
// settings under ddp.
var megatronKeys = []key{
	{"ddp_bucket_size ddp.bucket_size", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"ddp_num_buckets ddp.num_buckets", into(func(c *Config) **int64 { return &c.Buckets }, 1)},
	{"overlap_grad_reduce ddp.overlap_grad_reduce", flag(func(c *Config) **bool { return &c.Overlap })},
	{"overlap_param_gather ddp.overlap_param_gather", flag(func(c *Config) **bool { return &c.GatherOverlap })},
	{"ddp_pad_buckets_for_high_nccl_busbw ddp.pad_buckets_for_high_nccl_busbw", flag(func(c *Config) **bool { return &c.Pad })},
	{"use_distributed_optimizer ddp.use_distributed_optimizer optimizer.use_distributed_optimizer", distributed},
	{"optimizer.overlap_param_gather account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split pipeline_model_parallel_layout model.pipeline_model_parallel_layout model.should_pad_vocab", nil},
	{"num_distributed_optimizer_instances ddp.num_distributed_optimizer_instances", small(func(c *Config) **int { return &c.Instances })},
	{"expert_model_parallel_size model.expert_model_parallel_size", small(func(c *Config) **int { return &c.EP })},
	{"pipeline_model_parallel_size model.pipeline_model_parallel_size", small(func(c *Config) **int { return &c.PP })},
	{"bf16", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"fp16", isOn(func(c *Config) *bool { return &c.fp16 })},
	{bridgeReduce, nil},
	{"grad_reduce_in_bf16", isOn(func(c *Config) *bool { return &c.bf16Reduce })},
	{"accumulate_allreduce_grads_in_fp32", isOn(func(c *Config) *bool { return &c.fp32Reduce })},
	{"fp8_param_gather ddp.fp8_param_gather", isOn(func(c *Config) *bool { return &c.FP8Gather })},
	{"ddp_reduce_scatter_with_fp32_accumulation ddp.reduce_scatter_with_fp32_accumulation", isOn(func(c *Config) *bool { return &c.FP32Accumulation })},
	{"decoder_first_pipeline_num_layers num_layers_in_first_pipeline_stage model.num_layers_in_first_pipeline_stage", small(func(c *Config) **int { return &c.FirstStage })},
	{"decoder_last_pipeline_num_layers num_layers_in_last_pipeline_stage model.num_layers_in_last_pipeline_stage", small(func(c *Config) **int { return &c.lastStage })},
	{"tensor_model_parallel_size model.tensor_model_parallel_size", small(func(c *Config) **int { return &c.TP })},
	{"expert_tensor_parallel_size model.expert_tensor_parallel_size", small(func(c *Config) **int { return &c.ETP })},
	{"make_vocab_size_divisible_by model.make_vocab_size_divisible_by", into(func(c *Config) **int64 { return &c.VocabMultiple }, 1)},
	{"micro_batch_size", plainForm(func(c *Config) *int64 { return &c.micro })},
	{sequence, plainForm(func(c *Config) *int64 { return &c.seq })},
	{"context_parallel_size model.context_parallel_size", small(func(c *Config) **int { return &c.CP })},
	{commOverlap + "bucket_size", into(func(c *Config) **int64 { return &c.bridge }, 1)},
	{commOverlap + "overlap_grad_reduce", nil},
	{commOverlap + "overlap_param_gather", nil},
	{commOverlap + "tp_comm_overlap", nil},
	{"recompute_granularity", func(c *Config, value string) error {
		c.Recompute = new(strings.EqualFold(value, "full"))
		return nil
	}},
}

// switchesOn reports whether a setting of a program turns the distributed optimizer on.
func switchesOn(p Setting) bool {
	return p.Key == "use_distributed_optimizer" && strings.EqualFold(p.Value, "true") || p.Key == "optim" && strings.HasPrefix(p.Value, distributedAdam)
}

// saysReduction reports whether a setting in a YAML file tells how Megatron reduces gradients. Files
// for inference, and models that other files include, have no such setting.
func saysReduction(p Setting) bool {
	return slices.Contains([]string{primusFramework, strategy, "optim", "optim.name"}, p.Key) ||
		contains(p.Key, []string{"use_distributed_optimizer", "overlap_grad_reduce", "overlap_param_gather", "bucket_size"}) ||
		strings.Contains(p.Key, "fsdp") && strings.EqualFold(p.Value, "true")
}

// sharder returns the name of a front end of Megatron that turns the distributed optimizer on by
// default: ms-swift's command megatron (megatron/arguments/megatron_args.py at 3602360a), or slime
// (backends/megatron_utils/arguments.py at 624b824a). It returns an empty text for other commands.
func sharder(args []shell.Arg) string {
	slime := slices.ContainsFunc(args, func(a shell.Arg) bool { return strings.HasPrefix(a.Text, "--rollout-") })
	switch {
	case path.Base(args[0].Text) == Assumed:
		return "ms-swift"
	case slime:
		return "slime"
	}
	return ""
}

// distributedAdam is the beginning of the names of NeMo's distributed optimizers
// (collections/llm/recipes/optim/adam.py at 8cfedd72).
const distributedAdam = "distributed_fused_adam"

// sequence is the key for the length of a sequence in tokens.
const sequence = "seq_length"

// distributed applies the switch of Megatron's distributed optimizer, which is stage 1.
func distributed(c *Config, value string) error {
	c.Zero = new(1)
	if strings.EqualFold(value, "false") {
		*c.Zero = 0
	}
	return nil
}

// megatronOthers are settings that shard in units which ddp_bucket_size does not affect.
var megatronOthers = []other{
	{"use_megatron_fsdp use_custom_fsdp", "it shards with Megatron-FSDP, whose buckets are its own, which ddp_bucket_size does not cut; take it out to ask for Megatron's own data parallelism"},
	{"use_torch_fsdp2", "it shards with PyTorch FSDP2, a block a unit, which ddp_bucket_size does not cut: --framework fsdp2 asks for that"},
}

// primusFramework is the key by which a file of Primus names its trainer.
const primusFramework = "framework"

// primus reports whether a setting shows that the file is a training configuration of Primus'
// Megatron. Such a file extends pre_trainer.yaml or sft_trainer.yaml of
// primus/configs/modules/megatron, which turn bf16 and use_distributed_optimizer on (read at
// fd1eeabb).
func primus(p Setting) bool {
	return p.Key == "config" && slices.Contains([]string{"pre_trainer.yaml", "sft_trainer.yaml"}, path.Base(p.Value))
}

func primusDefaults(c *Config, found []Setting) {
	if slices.ContainsFunc(found, primus) && c.FrontEnd != bridgeName {
		orElse(&c.Zero, 1)
		c.bf16 = true
	}
}

// bridgeReduce is Bridge's key for the element type of reduced gradients.
const bridgeReduce = "ddp.grad_reduce_in_fp32"

// megatronConclusions fills in the defaults of arguments.
func megatronConclusions(c *Config, found []Setting) {
	bridgeConclusions(c, found)
	orElse(&c.Overlap, false)
	orElse(&c.GatherOverlap, false)
	if *c.GatherOverlap {
		orElse(&c.Zero, 1) // Megatron refuses this overlap without the distributed optimizer
	}
	orElse(&c.Zero, 0)
	if value := c.said[bridgeReduce]; !isUnset(value) {
		reduce := c.on(bridgeReduce)
		c.bf16, c.fp32Reduce, c.bf16Reduce = !c.fp16, reduce, !reduce // Bridge's recipes train in bfloat16
	}
	switch {
	case c.fp16 && c.fp32Reduce:
		c.ParamDtype, c.GradDtype = "half", "float"
	case c.fp16:
		c.ParamDtype, c.GradDtype = "half", "half"
	case c.bf16 && c.bf16Reduce:
		c.ParamDtype, c.GradDtype = "bfloat16", "bfloat16"
	case c.bf16: // by default it accumulates and reduces in fp32
		c.ParamDtype, c.GradDtype = "bfloat16", "float"
	}
	if c.PP != nil && *c.PP > 1 {
		c.Notes = append(c.Notes, "with pipeline stages the bucket size counts on the first stage alone: the list of parameters must be that stage's")
	}
	c.tokens()
	c.layerWise(slices.ContainsFunc(found, primus))
}

// padNote recommends Megatron's flag that pads buckets to round counts, and states its cost, if the
// cost is small.
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
		all := megatronArguments(s, megatronNumbers())
		lines := slice.Map(all, func(a argument) string {
			return "    " + strings.TrimSuffix(dashed(a.key)+" "+a.value, " true") + "\n"
		})
		return s.fresh(all, dashed) + padNote(s) + s.countTrap(dashed("ddp_num_buckets")) + "BUCKET_ARGS=(\n" + strings.Join(lines, "") + ")\n" + megatronReadBack
	}},
	{"Primus YAML", "yaml", func(s Spelling) string {
		all := megatronArguments(s, megatronNumbers())
		lines := slice.Map(all, func(a argument) string {
			if a.key == legacyKey {
				return "      " + legacyNote
			}
			return "      " + a.key + ": " + a.value + "\n"
		})
		return s.fresh(all, bare) + padNote(s) + s.countTrap("ddp_num_buckets") + "modules:\n  pre_trainer:\n    overrides:\n" + strings.Join(lines, "") + megatronReadBack
	}},
	{"Megatron-Bridge overrides", "sh", bridgeOverrides},
}

// megatronArguments returns the settings that affect the buckets and their times and differ from
// Megatron's defaults. numbers is the table for the element types, because Bridge has its own
// table.
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

// megatronNumbers has the arguments by the element types of gathered parameters and of reduced
// gradients. --bf16 alone means bfloat16 and float, so this pair needs no further argument.
func megatronNumbers() map[[2]string][][2]string {
	return map[[2]string][][2]string{
		{"bfloat16", "bfloat16"}: {{"bf16", "true"}, {"grad_reduce_in_bf16", "true"}},
		{"half", "half"}:         {{"fp16", "true"}},
		{"half", "float"}:        {{"fp16", "true"}, {"accumulate_allreduce_grads_in_fp32", "true"}},
	}
}

// bridgeNumbers has the arguments of Megatron-Bridge for the same pairs. Its recipes train in
// bfloat16.
func bridgeNumbers() map[[2]string][][2]string {
	return map[[2]string][][2]string{
		{"bfloat16", "bfloat16"}: {{"grad_reduce_in_fp32", "false"}},
		{"half", "half"}:         {{"mixed_precision", "fp16_mixed"}, {"grad_reduce_in_fp32", "false"}},
		{"half", "float"}:        {{"mixed_precision", "fp16_mixed"}, {"grad_reduce_in_fp32", "true"}},
	}
}

// countTrap warns about a number of buckets in the user's file.
func (s Spelling) countTrap(key string) string {
	if s.Config == nil || s.Config.Buckets == nil {
		return ""
	}
	return "# remove " + key + ": Megatron refuses it beside a bucket size\n"
}

// Megatron's 8-bit parameters (--fp8-param-gather), read in NVIDIA/Megatron-LM at d98e8a64,
// megatron/core/distributed/param_and_grad_buffer.py. group_params_for_buffers puts them into a
// separate buffer. partition_buckets joins all buckets of the other tensors with the last bucket of
// that buffer, so that one call reduces and gathers them.

// unquantized are parts of the names of matrices in a block that are not stored in 8 bits: routers.
var unquantized = []string{"router", "mlp.gate."}

// quantized reports whether a matrix is stored in 8 bits, as most matrices of the blocks are.
func quantized(p Param) bool {
	return p.Block > 0 && !contains(strings.ToLower(p.Name)+".", unquantized)
}

// quantizedBuckets cuts the quantized and the other tensors separately, and joins the buckets of
// the other tensors with the last quantized bucket.
func quantizedBuckets(in *prepared, setting int64, run Run) []Bucket {
	var all [2][]Bucket
	for kind := range all {
		cut := func(p packing) []Bucket {
			p.align, p.divisor = megatronAlign, Divisor(run.Ranks(kind == 1)/run.instances(), run.PadBuckets)
			return p.atLeast(setting)
		}
		some, rest := cut(in.matrices[kind]), cut(in.rest[kind])
		for i := range some {
			some[i].Quantized = some[i].Elements
		}
		if len(some) == 0 || run.FP32Accumulation { // FP32Accumulation takes one bucket per call
			all[kind] = append(some, rest...)
			continue
		}
		last := &some[len(some)-1]
		for _, b := range rest {
			last.Elements += b.Elements
			last.Padding += b.Padding
			last.Params += b.Params
			last.First, last.Last = min(last.First, b.First), max(last.Last, b.Last)
		}
		all[kind] = some
	}
	return both(in.kinds, func(_ packing, expert bool) []Bucket { return all[kindOf(expert)] })
}
