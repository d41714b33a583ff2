package trainer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
)

// DeepSpeed's rules, read at edaa7221. The defaults are in runtime/zero/config.py.
// runtime/zero/stage_1_and_2.py, reduce_independent_p_g_buckets_and_remove_grads: a bucket is
// reduced before a gradient would exceed the size, and a larger tensor is a bucket of its own;
// average_tensor: computation waits for the previous reduction; allreduce_and_scatter: with the
// default settings it calls all_reduce. Stage 3 is in runtime/zero/stage3.py. runtime/utils.py,
// all_gather_dp_groups: parameters are gathered in one call.
const (
	deepSpeedDefault  = 500_000_000
	deepSpeedPrefetch = 50_000_000
)

func init() {
	register(Trainer{
		listed: 4, Name: "deepspeed", Title: "DeepSpeed", Aliases: []string{"zero"},
		Knob: "reduce_bucket_size", Unit: Elements, GradDtype: "bfloat16", Stages: []int{1, 2, 3}, InPlace: true,
		Collectives: []string{allReduce, reduceScatter, allGather},
		Default:     func([]Param, Run) int64 { return deepSpeedDefault }, plan: deepSpeedPlan,
		// setup_buckets allocates the bucket size in the element type of the parameters, and twice
		// if communication overlaps. Stage 3 allocates it once, in the type on the wire.
		Memory: func(_ Plan, setting int64, r Run) int64 {
			switch {
			case r.Zero == 3:
				return setting * r.GradBytes()
			case r.NoOverlap:
				return setting * r.param()
			}
			return 2 * setting * r.param()
		},
		switches: []runSwitch{overlapSwitch("overlap_comm")},
		forms:    deepSpeedForms,
		reads:    []readable{{"DeepSpeed JSON", "DeepSpeed's zero_optimization"}},
		keys:     deepSpeedKeys, beside: deepSpeedBeside, others: deepSpeedOthers, conclude: deepSpeedConclusions,
		chosenBy: func() []choice {
			return slices.Concat(chosen("", distributedType, "DEEPSPEED"), chosen("", strategy, "DeepSpeedStrategy", "deepspeed", "deepspeed_stage_1", "deepspeed_stage_2", "deepspeed_stage_3", "deepspeed_stage_2_offload", "deepspeed_stage_3_offload"))
		}, begin: lightningDeepSpeed,
	})
}

func deepSpeedPlan(in *prepared, setting int64, run Run) Plan {
	params := in.params
	if setting == 0 {
		setting = deepSpeedDefault
	}
	plan := deepSpeedReductions(in, setting, run)
	plan.EachBackward = run.Zero > 1
	if run.Zero == 3 {
		deepSpeedGathers(&plan, in, run)
		return plan
	}
	if total := elements(params); run.DP > 1 && total > 0 {
		plan.After = []Message{{Collective: allGather, Bytes: total * run.param(), Ranks: run.DP, Wait: Never}}
	}
	return plan
}

// deepSpeedReductions returns the reductions. A bucket is launched when the next gradient no longer
// fits. The last bucket is launched at the end of backward. Computation then waits for the previous
// reduction, or in stage 3 for the third reduction before this one.
func deepSpeedReductions(in *prepared, setting int64, run Run) Plan {
	name, ahead := allReduce, 1
	switch {
	case run.Zero == 3:
		name, ahead = reduceScatter, deepSpeedAhead
	case run.OwnerReduce:
		name = reduce
	}
	filled := in.ofZero(run).filled(setting)
	launch := func(j int) int {
		if j+1 < len(filled) && !run.afterBackward() {
			return filled[j+1][0]
		}
		return 0
	}
	plan := Plan{Buckets: make([]Bucket, 0, len(filled)), Backward: make([]Message, 0, len(filled))}
	for j, tensors := range filled {
		wait := Never
		switch {
		case run.NoOverlap:
			wait = launch(j)
		case j+ahead < len(filled):
			wait = launch(j + ahead)
		}
		for _, call := range in.calls(tensors, setting, run) {
			plan.Buckets = append(plan.Buckets, call)
			if n := run.Ranks(call.Expert); n > 1 {
				plan.Backward = append(plan.Backward, Message{Collective: name, Bytes: call.Elements * run.GradBytes(), Ranks: n, Launch: launch(j), Wait: wait})
			}
		}
	}
	return plan
}

// deepSpeedGathers adds the gathers of parameters in stage 3. They run before the computation of
// each pass, and the setting does not change them.
func deepSpeedGathers(plan *Plan, in *prepared, run Run) {
	plan.EachForward = true
	units := both(in.kinds, func(p packing, _ bool) []Bucket { return p.atMost(deepSpeedPrefetch) })
	plan.Forward = chain(units, run)
	plan.Backward = append(backwardChain(units, run), plan.Backward...)
	slices.SortStableFunc(plan.Backward, func(a, b Message) int { return cmp.Compare(b.Launch, a.Launch) })
}

// backwardChain gathers units in backward order. Each gather overlaps with the computation of the
// previous unit.
func backwardChain(units []Bucket, run Run) []Message {
	var all []Message
	for _, expert := range []bool{false, true} {
		at := -1
		for _, u := range units {
			if n := run.Ranks(expert); u.Expert == expert && n > 1 {
				at = max(at, u.Last+1)
				all = append(all, Message{Collective: allGather, Bytes: u.Elements * run.param(), Ranks: n, Launch: at, Wait: u.Last + 1})
				at = u.Last + 1
			}
		}
	}
	return all
}

func elements(params []Param) int64 {
	return slice.Sum(params, func(p Param) int64 { return p.Elements })
}

var deepSpeedForms = []form{
	{"DeepSpeed JSON", "json", func(s Spelling) string {
		zero, other := deepSpeedArguments(s)
		return "# do not let Accelerate or Hugging Face set \"auto\": that is the square of the hidden size\n" +
			"# compare the loss after changing the size: it has affected convergence (deepspeedai/DeepSpeed#6351)\n" +
			s.fresh(slices.Concat(zero, other), bare) + gatherTrap(s) +
			"{\n  \"zero_optimization\": {\n" + inJSON(zero, "    %q: %s,\n") + "    \"contiguous_gradients\": true\n  }" + inJSON(other, ",\n  %q: %s") + "\n}\n" +
			"# check with: \"wall_clock_breakdown\": true, \"comms_logger\": {\"enabled\": true} print the calls and their sizes\n"
	}},
}

// inJSON formats settings as in DeepSpeed's file.
func inJSON(all arguments, format string) string {
	return strings.Join(slice.Map(all, func(a argument) string { return fmt.Sprintf(format, a.key, a.value) }), "")
}

// gatherTrap warns about the other bucket size of stages 1 and 2.
func gatherTrap(s Spelling) string {
	if s.Run.Zero == 3 {
		return ""
	}
	return "# allgather_bucket_size has no effect where torch has all_gather_into_tensor\n"
}

// deepSpeedArguments returns the settings that affect DeepSpeed's buckets and their times. The list
// zero has the settings below zero_optimization, and the list `other` has the rest.
func deepSpeedArguments(s Spelling) (zero, other arguments) {
	r := s.Run
	zero.add(true, "stage", fmt.Sprint(r.Zero), func(c *Config) bool { return is(c.Zero, r.Zero) })
	zero.add(true, "reduce_bucket_size", fmt.Sprint(s.Setting), func(c *Config) bool { return is(c.Elements, s.Setting) })
	zero.add(r.OwnerReduce, "use_multi_rank_bucket_allreduce", "false", func(c *Config) bool { return c.OwnerReduce })
	zero.add(true, "overlap_comm", fmt.Sprint(!r.NoOverlap), func(c *Config) bool { return is(c.Overlap, !r.NoOverlap) })
	other.add(r.Accum > 1, "gradient_accumulation_steps", fmt.Sprint(r.Accum), func(c *Config) bool { return is(c.Accum, r.Accum) })
	enabled := map[string]string{"half": "fp16", "bfloat16": "bf16"}[r.ParamDtype]
	other.add(enabled != "", enabled, `{"enabled": true}`, func(c *Config) bool { return c.ParamDtype == r.ParamDtype })
	name := map[string]string{"half": "fp16", "float": "fp32", "bfloat16": "bf16"}[r.GradDtype]
	other.add(r.GradDtype != r.ParamDtype && name != "", "communication_data_type", `"`+name+`"`, func(c *Config) bool { return c.GradDtype == r.GradDtype })
	return zero, other
}

var deepSpeedKeys = []key{
	{"reduce_bucket_size", into(func(c *Config) **int64 { return &c.Elements }, 1)},
	{"stage zero_stage", small(func(c *Config) **int { return &c.Zero })},
	{"overlap_comm", flag(func(c *Config) **bool { return &c.Overlap })},
	{"bf16.enabled bfloat16.enabled", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"fp16.enabled", isOn(func(c *Config) *bool { return &c.fp16 })},
	{"communication_data_type", dtype(func(c *Config) *string { return &c.GradDtype })},
	{"grad_accum_dtype offload_optimizer.device use_multi_rank_bucket_allreduce reduce_scatter contiguous_gradients round_robin_gradients", nil},
	{"allgather_bucket_size", func(c *Config, _ string) error {
		c.Notes = append(c.Notes, "allgather_bucket_size has no effect where torch has all_gather_into_tensor")
		return nil
	}},
	{"pipe_parallel_size", func(c *Config, value string) error { // GPT-NeoX; 0 means no pipeline engine
		if value != "0" {
			c.refused = errors.New("GPT-NeoX's pipe_parallel_size above 0 is DeepSpeed's pipeline engine, which reduces after backward")
		}
		return nil
	}},
	{"optimizer.type", func(c *Config, value string) error {
		if name := strings.ToLower(value); strings.HasPrefix(name, "onebit") || strings.HasPrefix(name, "zeroone") || name == "muon" {
			c.refused = fmt.Errorf("the optimizer %s calls other collectives", value)
		}
		return nil
	}},
}

// deepSpeedBeside are settings of programs that start DeepSpeed.
var deepSpeedBeside = []key{
	{distributedType, nil},
	{strategy, nil},
	{"mixed_precision precision", nil},
	{"accumulate_grad_batches", small(func(c *Config) **int { return &c.Accum })},
}

// deepSpeedOthers are settings that replace DeepSpeed's usual collectives (read at edaa7221).
var deepSpeedOthers = []other{
	{"zero_quantized_gradients", "ZeRO++ reduces gradients by two hops of all_to_all in 4 or 8 bits"},
	{"zero_quantized_weights", "ZeRO++ gathers parameters in 8 bits"},
	{"zero_hpz_partition_size", "ZeRO++ gathers backward's parameters within so many ranks"},
	{"mics_shard_size", "MiCS shards within so many ranks and reduces across them"},
	{"model_parallel_size", "so many ranks of GPT-NeoX are tensor parallel: give one rank's list to a file without it, and --dp"},
	{"autotp_size", "so many ranks are tensor parallel: neither the tensors nor the ranks are those of the world; give one rank's list to a file without it, and --dp"},
	{"sequence_parallel_size", "so many ranks share a sequence, with all_to_all in each layer"},
	{"deepcompile", "DeepCompile places the calls by itself"},
	{"topk_ratio", "ZenFlow reduces a part of the gradients"},
}

// lightningDeepSpeed fills in the defaults of Lightning's DeepSpeedStrategy, which differ from
// DeepSpeed's defaults (pytorch-lightning at 7f0c3436, strategies/deepspeed.py).
func lightningDeepSpeed(c *Config, found []Setting) {
	for _, p := range found {
		if p.Key != strategy || !strings.HasPrefix(strings.ToLower(p.Value), "deepspeed") {
			continue
		}
		c.Zero, c.Elements, c.Overlap = new(2), new(int64(200_000_000)), new(true)
		if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(p.Value, "deepspeed_stage_"), "_offload")); err == nil {
			*c.Zero = n
		}
		c.Notes = append(c.Notes, "what it does not set has the default of Lightning's DeepSpeedStrategy: stage 2, reduce_bucket_size 200000000, overlap_comm on")
	}
}

// handedOver are settings of any trainer that name another file with the real settings.
var handedOver = []other{
	{"deepspeed deepspeed_config deepspeed_config_file", "DeepSpeed reduces the gradients, as the JSON says that it gets: give that file to --config"},
}

// hiddenSize returns the width of a model: the width of its embedding, or else of its first norm.
func hiddenSize(params []Param) int64 {
	for _, p := range params {
		if lookedUp(p.Name) && len(p.Shape) == 2 {
			return p.Shape[1]
		}
	}
	for _, p := range params {
		if p.Block > 0 && strings.Contains(p.Name, "norm") && strings.HasSuffix(p.Name, "weight") && len(p.Shape) < 2 {
			return p.Elements
		}
	}
	return 0
}

// deepSpeedConclusions fills in the defaults of the file.
func deepSpeedConclusions(c *Config, _ []Setting) {
	// Accelerate, and through it Hugging Face, uses the square of the model's hidden size
	// (huggingface/accelerate at 16cb6eb8, src/accelerate/accelerator.py, _prepare_deepspeed).
	if c.auto = strings.EqualFold(c.said["reduce_bucket_size"], "auto"); c.auto {
		c.Notes = append(c.Notes, `reduce_bucket_size "auto" is the square of the model's hidden size under Accelerate and Hugging Face; DeepSpeed alone refuses it`)
	}
	orElse(&c.Zero, 0)
	orElse(&c.Overlap, *c.Zero == 3)
	deepSpeedPaths(c)
	// Accelerate, Lightning and GPT-NeoX write bf16 and fp16 into the JSON.
	precision := cmp.Or(c.said["mixed_precision"], c.said["precision"])
	c.bf16, c.fp16 = c.bf16 || strings.HasPrefix(precision, "b"), c.fp16 || strings.HasPrefix(strings.TrimPrefix(precision, "fp"), "16")
	auto := strings.EqualFold(c.said["bf16.enabled"], "auto") || strings.EqualFold(c.said["fp16.enabled"], "auto")
	switch {
	case c.fp16:
		c.ParamDtype = "half"
	case c.bf16:
		c.ParamDtype = "bfloat16"
	case auto:
		c.Notes = append(c.Notes, `bf16 or fp16 "auto" is what Hugging Face's or Accelerate's mixed precision says: bfloat16 is taken (--param-dtype)`)
		return
	default: // _configure_distributed_model in engine.py refuses parameters of another type
		c.ParamDtype = "float"
	}
	c.GradDtype = cmp.Or(c.GradDtype, c.ParamDtype)
}

// deepSpeedPaths handles unusual settings. Sources: runtime/engine.py, _do_optimizer_sanity_check
// and allreduce_gradients; zero/stage_1_and_2.py, average_tensor and reduce_ipg_grads;
// zero/stage3.py, __reduce_and_partition_ipg_grads.
func deepSpeedPaths(c *Config) {
	off := func(key string) bool { return strings.EqualFold(c.said[key], "false") }
	fp32 := slices.Contains([]string{"torch.float32", "fp32", "float32", "float"}, c.said["grad_accum_dtype"])
	if *c.Zero == 1 && c.bf16 && fp32 && c.said["offload_optimizer.device"] != "cpu" {
		c.refused = errors.New("stage 1 with bf16 and grad_accum_dtype fp32 is DeepSpeed's BF16_Optimizer, which reduces after backward in calls of 500000000 elements: " +
			"reduce_bucket_size has no effect there. Take stage 2 or leave grad_accum_dtype out to set one")
	}
	note := func(when bool, text string) {
		if when {
			c.Notes = append(c.Notes, text)
		}
	}
	early := *c.Zero < 3
	c.OwnerReduce = early && off("use_multi_rank_bucket_allreduce")
	note(c.OwnerReduce, "with use_multi_rank_bucket_allreduce off a bucket is reduced to each rank that owns a part of it: "+
		"no call is larger than a rank's part of the model, and a larger reduce_bucket_size only makes calls later")
	for _, key := range []string{"reduce_scatter", "contiguous_gradients"} {
		note(off(key) && (early || key == "reduce_scatter"), key+" is off: DeepSpeed then reduces each bucket by one all_reduce; the answer is for its default, on")
	}
	note(early && c.on("round_robin_gradients"), "with round_robin_gradients a tensor above the size is cut elsewhere: the answer is for the order of the list")
}

// DeepSpeed's calls, read at edaa7221: runtime/zero/stage_1_and_2.py and stage3.py,
// runtime/engine.py allreduce_gradients, moe/utils.py.
const (
	deepSpeedAlign   = 2           // nccl_start_alignment_factor, in elements of a partition
	deepSpeedExperts = 178_956_971 // max_group_size, in elements of a group of experts' parameters
	deepSpeedAhead   = 3           // max_param_reduce_events, plus the call itself
)

// zeroLists is the part of DeepSpeed's plans that all settings share.
type zeroLists struct {
	// orders are lists of tensors, each in the order of its gradients. Each list is cut into
	// buckets separately.
	orders []packing
	flat   []place
}

// place is the offset of a tensor in its flat group of parameters. share is the group's number of
// elements per rank.
type place struct{ at, share int64 }

// ofZero returns the lists, which are made once.
func (in *prepared) ofZero(run Run) *zeroLists {
	if in.zero != nil {
		return in.zero
	}
	in.zero = &zeroLists{orders: []packing{in.reverse}}
	switch {
	case run.Zero == 3:
		in.zero.orders = spans(in.reverse)
		return in.zero
	case run.afterBackward(): // as in reduce_gradients: the dense group comes first, and each group is in forward order
		order := append(indexes(in.params, false, false), indexes(in.params, true, false)...)
		in.zero.orders = []packing{newPacking(in.params, order)}
	}
	in.zero.flat = places(in.params, run)
	return in.zero
}

// afterBackward reports whether DeepSpeed reduces only after backward, as stage 1 does without
// overlap.
func (r Run) afterBackward() bool { return r.Zero == 1 && r.NoOverlap }

// spans divides an order into parts that the same ranks reduce, because stage 3 does not mix ranks
// in a bucket.
func spans(p packing) []packing {
	var all []packing
	for from, k := 0, 1; k <= len(p.order); k++ {
		if k == len(p.order) || p.params[p.order[k]].Expert != p.params[p.order[from]].Expert {
			part := p
			part.order, part.sum = p.order[from:k], p.sum[from:k+1]
			all = append(all, part)
			from = k
		}
	}
	return all
}

// places lays out the tensors in the flat groups of the optimizer: one group for the dense tensors,
// and groups of limited size for the experts.
func places(params []Param, run Run) []place {
	all := make([]place, len(params))
	var groups [2][]int
	var held [2]int64
	lay := func(kind int) {
		ranks, at := int64(run.Ranks(kind == 1)), int64(0)
		share := roundUp(held[kind], deepSpeedAlign*ranks) / ranks
		for _, i := range groups[kind] {
			all[i] = place{at, share}
			at += params[i].Elements
		}
		groups[kind], held[kind] = nil, 0
	}
	for i, p := range params {
		kind := kindOf(p.Expert)
		if p.Expert && held[kind]+p.Elements > deepSpeedExperts {
			lay(kind)
		}
		groups[kind], held[kind] = append(groups[kind], i), held[kind]+p.Elements
	}
	lay(0)
	lay(1)
	return all
}

// filled returns the tensors of each bucket, in the order of reduction.
func (z *zeroLists) filled(setting int64) [][]int {
	var all [][]int
	for _, p := range z.orders {
		from := 0
		for _, b := range p.atMost(setting) {
			all = append(all, p.order[from:from+b.Params])
			from += b.Params
		}
	}
	return all
}

// calls returns the calls that reduce the tensors of a bucket.
func (in *prepared) calls(tensors []int, setting int64, run Run) []Bucket {
	switch first := in.params[tensors[0]]; {
	case run.Zero < 3 && run.OwnerReduce:
		return in.toOwners(tensors)
	case run.Zero < 3 && first.Elements > setting:
		return in.slices(tensors[0], setting)
	default:
		all := []Bucket{in.ofRanks(tensors, first.Expert, run), in.ofRanks(tensors, !first.Expert, run)}
		return slices.DeleteFunc(all, func(b Bucket) bool { return b.Params == 0 })
	}
}

// ofRanks returns the tensors of a bucket that the same ranks reduce. Stage 3 pads each tensor to
// equal parts (reduce_scatter_coalesced).
func (in *prepared) ofRanks(tensors []int, expert bool, run Run) Bucket {
	b := Bucket{Expert: expert}
	for _, i := range tensors {
		p := in.params[i]
		if p.Expert != expert {
			continue
		}
		if b.Params == 0 {
			b.First, b.Last = i, i
		}
		b.First, b.Last = min(b.First, i), max(b.Last, i)
		b.Params++
		b.Elements += p.Elements
		if run.Zero == 3 {
			more := roundUp(p.Elements, int64(run.Ranks(expert))) - p.Elements
			b.Elements += more
			b.Padding += more
		}
	}
	return b
}

// slices divides a tensor above the bucket size at the ends of the ranks' parts. A call takes
// slices until they exceed the bucket size.
func (in *prepared) slices(i int, setting int64) []Bucket {
	var all []Bucket
	flat, p := in.zero.flat[i], in.params[i]
	from, end := flat.at, flat.at+p.Elements
	for at := from; at < end; {
		if at = min(end, (at/flat.share+1)*flat.share); at-from > setting || at == end {
			all = append(all, Bucket{Elements: at - from, First: i, Last: i, Expert: p.Expert})
			from = at
		}
	}
	all[0].Params = 1
	return all
}

// toOwners returns one call for each rank that owns a part of the bucket.
func (in *prepared) toOwners(tensors []int) []Bucket {
	type owner struct {
		expert bool
		rank   int64
	}
	var all []Bucket
	at := map[owner]int{}
	for _, i := range tensors {
		p, flat := in.params[i], in.zero.flat[i]
		for from, end := flat.at, flat.at+p.Elements; from < end; {
			to := min(end, (from/flat.share+1)*flat.share)
			who := owner{p.Expert, from / flat.share}
			k, has := at[who]
			if !has {
				k = len(all)
				at[who] = k
				all = append(all, Bucket{First: i, Last: i, Expert: p.Expert})
			}
			b := &all[k]
			b.First, b.Last = min(b.First, i), max(b.Last, i)
			b.Elements += to - from
			if from == flat.at {
				b.Params++
			}
			from = to
		}
	}
	return all
}
