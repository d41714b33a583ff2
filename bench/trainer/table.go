package trainer

// table is in the order of the listings. The rules and their sources are in the
// file of each trainer.
var table = []Trainer{
	{
		Name: "megatron", Title: "Megatron-LM", Aliases: []string{"megatron-lm", "mcore", "primus", "nemo"},
		Knob: "ddp_bucket_size", Unit: Elements, GradDtype: "float", Stages: []int{1, 0}, InPlace: true,
		Default: megatronDefault, plan: megatronPlan,
		// Padding is allocated like gradients, and like parameters where these are
		// gathered.
		Memory: func(p Plan, _ int64, r Run) int64 {
			n := int64(0)
			for _, b := range p.Buckets {
				n += b.Padding
			}
			if r.Zero == 0 {
				return n * r.grad()
			}
			return n * (r.grad() + r.param())
		},
	},
	{
		Name: "ddp", Title: "PyTorch DDP", Aliases: []string{"pytorch", "torch"},
		Knob: "bucket_cap_mb", Unit: MiB, GradDtype: "bfloat16", Stages: []int{0}, InPlace: true,
		Default: func(_ []Param, r Run) int64 { return ddpDefault / r.grad() },
		Granule: func(r Run) int64 { return (1 << 20) / r.grad() },
		plan:    ddpPlan,
	},
	{
		Name: "fsdp2", Title: "PyTorch FSDP2", Aliases: []string{"fsdp", "torchtitan"},
		Knob: "blocks per fully_shard", Unit: Blocks, GradDtype: "float", Stages: []int{3},
		Default: fsdp2Default, plan: fsdp2Plan, settings: fsdp2Settings,
		// Two units are gathered at a time.
		Memory: func(p Plan, _ int64, r Run) int64 { return 2 * largest(p) * r.param() },
	},
	{
		Name: "deepspeed", Title: "DeepSpeed", Aliases: []string{"zero"},
		Knob: "reduce_bucket_size", Unit: Elements, GradDtype: "bfloat16", Stages: []int{1, 2, 3}, InPlace: true,
		Default: func([]Param, Run) int64 { return deepSpeedDefault }, plan: deepSpeedPlan,
		// setup_buckets allocates the size, twice when communication overlaps.
		Memory: func(_ Plan, setting int64, r Run) int64 {
			if r.NoOverlap {
				return setting * r.grad()
			}
			return 2 * setting * r.grad()
		},
	},
	{
		Name: "xla", Title: "XLA (JAX)", Aliases: []string{"jax"},
		Knob: "xla_gpu_all_reduce_combine_threshold_bytes", Unit: Bytes, GradDtype: "bfloat16", Stages: []int{0, 1},
		Default: xlaThreshold, plan: xlaPlan,
		// A threshold on shards counts DP elements at a time.
		Granule: func(r Run) int64 {
			if r.Zero == 0 {
				return 1
			}
			return int64(r.DP)
		},
		// A combined call has a buffer of its own.
		Memory: func(p Plan, _ int64, r Run) int64 { return largest(p) * r.grad() },
	},
}

// unsimulated are frameworks that people ask for and whose calls are other than those
// of any trainer here, with what to do instead.
var unsimulated = map[string]string{
	"maxtext":       "it scans over the layers and lets XLA shard by itself (FSDP), so that calls are combined within one turn of a loop, which is not simulated; for a program that neither scans nor shards parameters ask for xla",
	"horovod":       "it fuses what became ready in a cycle, which no list of tensors tells",
	"megatron-fsdp": "its buckets are its own, which ddp_bucket_size does not cut; ask for megatron without --use-megatron-fsdp",
}

func largest(p Plan) int64 {
	n := int64(0)
	for _, b := range p.Buckets {
		n = max(n, b.Elements)
	}
	return n
}
