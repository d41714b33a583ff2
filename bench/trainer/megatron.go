package trainer

import "slices"

// Megatron-Core's rules, read at d98e8a64:
// megatron/core/optimizer/param_layout.py (starts at 64 elements, ends at
// lcm(dp, 128) or lcm(dp, 128, 2¹⁶)), optimizer/distrib_optimizer.py and
// distributed/param_and_grad_buffer.py (reverse order, a bucket is full at
// bucket_size or more), training/training.py resolve_ddp_bucket_size (default),
// distributed/distributed_data_parallel.py (one chain of gathers for dense and
// one for expert tensors).
const (
	megatronLeast   = 40_000_000
	megatronPerRank = 1_000_000
	megatronAlign   = 64
	megatronEnd     = 128
	megatronPadded  = 1 << 16
	megatronVocab   = 128 // --make-vocab-size-divisible-by
)

// Assumed is the name of the trainer that a question has where none is given: the one
// that large clusters train with.
const Assumed = "megatron"

func init() {
	register(Trainer{
		listed: 1, Name: Assumed, Title: "Megatron-LM", Aliases: []string{"megatron-lm", "megatron-core", "mcore"},
		Knob: "ddp_bucket_size", Flag: "--ddp-bucket-size", Unit: Elements, GradDtype: "float", Stages: []int{1, 0}, InPlace: true, LayerWise: true,
		Collectives: []string{allReduce, reduceScatter, allGather},
		Default:     megatronDefault, plan: megatronPlan, tensors: megatronTensors, VocabMultiple: megatronVocab, Memory: megatronMemory,
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
		keys: slices.Concat(megatronKeys, bridgeKeys), beside: optimizerKeys, begin: primusDefaults, conclude: megatronConclusions,
	})
}

// megatronFrontEnds start Megatron with a configuration of their own; NeMo's is Bridge's.
var megatronFrontEnds = []frontEnd{
	{"Primus YAML", []string{"primus"}, func(Run) string { return "ddp_bucket_size" }, nil},
	{"Megatron-Bridge overrides", []string{"bridge", "megatron-bridge", "nemo"}, func(r Run) string { return bridged("ddp_bucket_size", r.Zero == 1) }, bridgeUnset},
}

// megatronMemory is of padding, which is allocated like gradients, and like parameters
// where these are gathered.
func megatronMemory(p Plan, _ int64, r Run) int64 {
	n := int64(0)
	for _, b := range p.Buckets {
		n += b.Padding
	}
	if r.Zero == 0 {
		return n * r.grad()
	}
	return n * (r.grad() + r.param())
}

func megatronDefault(_ []Param, run Run) int64 {
	return max(megatronLeast, megatronPerRank*int64(run.DP))
}

// Divisor is what Megatron rounds a bucket's end up to with the distributed
// optimizer, in elements.
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
		setting = 0 // one bucket a buffer
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
				p.align, p.divisor = megatronAlign, Divisor(run.ranks(expert)/run.instances(), run.PadBuckets)
			}
			return p.atLeast(setting, setting)
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

// exchanges sends every gradient's share to its rank, which sums them up itself. Before
// each call computation waits for the one before of the same ranks: its output is held
// until then (param_and_grad_buffer.py, start_grad_sync).
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

// acrossInstances scatters within an optimizer instance and then reduces the
// shards over the instances.
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
