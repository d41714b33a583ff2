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

// FSDP2's rules. fully_shard makes one unit of its modules. A unit has one all-gather and one
// reduce-scatter. The units are those of torchtitan (docs/fsdp.md and
// torchtitan/distributed/fsdp.py at b5bcd76c): every block, the tensors before the blocks, and the
// tensors after them, which are not freed after forward. The rows of each tensor are padded to a
// multiple of the ranks.
//
// A gather in forward begins together with the computation of the unit two places earlier. A gather
// in backward begins one unit ahead. Before a reduce-scatter, computation waits for the previous
// one (PyTorch 2.6 and 2.14, run by scripts/torch-layouts.py). Frozen tensors are gathered but not
// reduced. The setting is the number of blocks per unit times the elements of a block.

func init() {
	register(Trainer{
		listed: 3, Name: "fsdp2", Title: "PyTorch FSDP2", Aliases: []string{"fsdp"},
		Knob: "blocks per fully_shard", Flag: "fully_shard", Unit: Blocks, GradDtype: "float", Stages: []int{3}, Collectives: []string{reduceScatter, allGather, allReduce},
		Default: fsdp2Default, plan: fsdp2Plan, Settings: fsdp2Settings,
		Memory: fsdp2Memory, MemoryIs: "two units' parameters and their gather, one unit's gradients, and one reduce-scatter",
		Changes: []Change{
			{
				"keep_params", "keep parameters between forward and backward, if memory allows (reshard_after_forward=False)",
				func(r Run) bool { return !r.KeepParams }, func(r *Run) { r.KeepParams = true },
			},
			{
				"hsdp", "hybrid sharding: shard within a node and replicate across, for rings of fewer ranks",
				func(r Run) bool { return r.Instances < 2 }, nil,
			},
		},
		forms:     []form{{"PyTorch FSDP2", "python", fsdp2Text}, {"torchtitan", "python", torchtitanText}},
		frontEnds: []frontEnd{{"torchtitan", []string{torchtitan}, func(Run) string { return "fully_shard" }, nil}},
		reads:     []readable{{"torchtitan's file", "torchtitan's data_parallel_shard_degree"}},
		keys:      fsdp2Keys, beside: fsdp2Beside,
		others: []other{{"enable_fsdp_float8_all_gather", "parameters of linear layers are gathered in 8 bits"}},
		chosenBy: func() []choice {
			return slices.Concat(chosen("", distributedType, "FSDP"), chosen(torchtitan, primusFramework, torchtitan))
		},
		doubts: func(c *Config, params []Param) []string {
			if isTrue(c.RootUnit) || !oneOutside(params, Run{}) {
				return nil
			}
			return []string{"it shards the embedding apart from the output layer that shares its weight: PyTorch 2.13 and later refuse that, older ones train two weights; it is computed as one unit, as the printed lines make it"}
		},
		conclude: fsdp2Conclusions,
	})
}

// fsdp2Keys are the keys in the lines that zbench prints, and the keys of Accelerate and
// torchtitan. fsdp2Beside are keys that are too common to identify a file.
var fsdp2Keys = []key{
	{"blocks_per_unit", into(func(c *Config) **int64 { return &c.Blocks }, 1)},
	{"keep_params", flag(func(c *Config) **bool { return &c.KeepParams })},
	{"unit_before_blocks unit_after_blocks fsdp_version use_torch_fsdp2 fsdp_auto_wrap_policy", nil},
	{distributedType, nil},
	{reshard, func(c *Config, value string) error {
		c.KeepParams = new(slices.Contains([]string{"false", "never"}, strings.ToLower(value)))
		return nil
	}},
	{replicas + " parallelism_config_dp_replicate_size", small(func(c *Config) **int { return &c.Instances })},
	{shardDegree + " parallelism_config_dp_shard_size", shards},
}

var fsdp2Beside = []key{
	{"mixed_precision", nil},
	{"bf16", isOn(func(c *Config) *bool { return &c.bf16 })},
	{"fp16", isOn(func(c *Config) *bool { return &c.fp16 })},
	{"tensor_parallel_size tensor_parallel_degree parallelism_config_tp_size", small(func(c *Config) **int { return &c.TP })},
	{"context_parallel_size context_parallel_degree parallelism_config_cp_size", small(func(c *Config) **int { return &c.CP })},
	{"dp_replicate_size", small(func(c *Config) **int { return &c.Instances })},
	{"dp_shard_size", shards},
	{"pipeline_parallel_degree", small(func(c *Config) **int { return &c.PP })},
	{"expert_parallel_degree", small(func(c *Config) **int { return &c.EP })},
	{"expert_tensor_parallel_degree", small(func(c *Config) **int { return &c.ETP })},
	{"mixed_precision_param", dtype(func(c *Config) *string { return &c.ParamDtype })},
	{"mixed_precision_reduce", dtype(func(c *Config) *string { return &c.GradDtype })},
	{"local_batch_size", plainForm(func(c *Config) *int64 { return &c.micro })},
	{"seq_len", plainForm(func(c *Config) *int64 { return &c.seq })},
}

// torchtitan is the name of the front end. Its keys for degrees, or Primus, identify its files.
// Read at b5bcd76c: config/configs.py (names and defaults), distributed/fsdp.py
// (apply_fsdp_to_decoder), distributed/parallel_dims.py.
const (
	torchtitan  = "torchtitan"
	replicas    = "data_parallel_replicate_degree"
	shardDegree = "data_parallel_shard_degree"
	reshard     = "fsdp_reshard_after_forward"
)

// shards stores the number of ranks that shard together. -1 means that the number of available
// ranks decides.
func shards(c *Config, value string) error {
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		c.shards = n
	}
	return nil
}

func fsdp2Conclusions(c *Config, found []Setting) {
	_, accelerate := c.said[distributedType]
	switch policy := c.said["fsdp_auto_wrap_policy"]; {
	case accelerate && c.said["fsdp_version"] != "2":
		c.refused = errors.New("fsdp_version 1 of Accelerate is FSDP1, whose flat parameters are not simulated; fsdp_version: 2 is FSDP2")
	case policy != "" && policy != "TRANSFORMER_BASED_WRAP":
		c.refused = errors.New("fsdp_auto_wrap_policy " + policy + ": its units are not blocks")
	}
	precision := c.said["mixed_precision"]
	if c.said["fsdp_version"] == "2" && !accelerate { // Hugging Face's Trainer gives Accelerate its own switches
		accelerate, precision = true, map[bool]string{c.bf16: "bf16", c.fp16: "fp16"}[true]
	}
	if types := map[string]string{"bf16": "bfloat16", "fp16": "half", "no": "float"}[precision]; accelerate && types != "" {
		c.GradDtype, c.ParamDtype = types, types // set_mixed_precision in accelerate/utils/dataclasses.py
	}
	if titan := slices.ContainsFunc(found, func(p Setting) bool { return p.Key == replicas || p.Key == shardDegree }); titan || c.FrontEnd == torchtitan {
		c.FrontEnd = torchtitan
		c.titan()
	}
	if n := c.Instances; n != nil && *n > 1 && c.shards == 1 {
		c.refused = fmt.Errorf("%d replicas and no shards are DDP, whose buckets fully_shard does not cut: --framework ddp asks for that", *n)
	}
	orElse(&c.RootUnit, c.FrontEnd != torchtitan && !c.on("unit_before_blocks") && !c.on("unit_after_blocks"))
}

// titan fills in torchtitan's defaults.
func (c *Config) titan() {
	pipelined := c.PP != nil && *c.PP > 1
	if policy := c.said[reshard]; pipelined && (policy == "" || policy == "default") {
		c.KeepParams = new(true) // otherwise every microbatch would gather, without overlap
	}
	if pipelined {
		c.uneven = "torchtitan gives the first pipeline stage fewer layers, or those of module_fqns_per_model_part"
	}
	c.ParamDtype, c.GradDtype = cmp.Or(c.ParamDtype, "bfloat16"), cmp.Or(c.GradDtype, "float")
	c.tokens()
	if c.micro > 0 && c.global == 0 && c.Accum == nil {
		c.Accum = new(1) // without a global batch, a step has one microbatch on all ranks
	}
}

func fsdp2Default(params []Param, _ Run) int64 { return max(1, blockSize(params)) }

// fsdp2Settings returns one setting for each possible number of blocks per unit.
func fsdp2Settings(params []Param, _ Run) []int64 {
	all := make([]int64, max(1, slice.Most(params, func(p Param) int { return p.Block })))
	block := fsdp2Default(params, Run{})
	for k := range all {
		all[k] = int64(k+1) * block
	}
	return all
}

func fsdp2Plan(in *prepared, setting int64, run Run) Plan {
	if setting == 0 {
		setting = max(1, in.block)
	}
	all := in.blocks.units(int(blocksPerUnit(in.block, setting)))
	plan := Plan{EachBackward: true, EachForward: !run.KeepParams}
	freed := func(u blockUnit) bool { return !run.KeepParams && !u.kept }
	gather := func(messages []Message, u blockUnit, launch, wait int) []Message {
		return calls(messages, allGather, u.held, run.param(), launch, wait, run)
	}
	if last := all[len(all)-1]; freed(last) {
		plan.Backward = gather(nil, last, len(in.params), last.hi)
	}
	var scattered []int // messages for which the next reduce-scatter waits
	for j, u := range slices.Backward(all) {
		for kind, n := range u.reduced {
			if n > 0 {
				plan.Buckets = append(plan.Buckets, Bucket{Elements: n, Padding: u.padding[kind], Params: u.params, First: u.lo, Last: u.hi - 1, Expert: kind == 1})
			}
		}
		if j > 0 && freed(all[j-1]) {
			plan.Backward = gather(plan.Backward, all[j-1], u.hi, all[j-1].hi)
		}
		n := len(plan.Backward)
		plan.Backward = calls(plan.Backward, reduceScatter, u.reduced, run.GradBytes(), u.lo, Never, run)
		for i := n; i < len(plan.Backward); i++ {
			if i == n { // before a unit's first reduce-scatter, wait for the reduce-scatters of the previous unit
				for _, k := range scattered {
					plan.Backward[k].Wait = u.lo
				}
				scattered = scattered[:0]
			}
			scattered = append(scattered, i)
		}
		plan.Backward = acrossReplicas(plan.Backward, u, run)
	}
	behind, at := 0, 0
	for _, u := range all {
		plan.Forward = gather(plan.Forward, u, behind, u.lo)
		behind, at = at, u.lo
	}
	return plan
}

// acrossReplicas adds the all_reduce of each unit's shards across the replicas of hybrid sharding.
// It follows the unit's reduce_scatter and has a stream of its own
// (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce).
func acrossReplicas(all []Message, u blockUnit, run Run) []Message {
	for kind, n := range u.reduced {
		if n > 0 && run.instances() > 1 {
			share := n * run.GradBytes() / int64(run.shardRanks(kind == 1))
			all = append(all, Message{Collective: allReduce, Bytes: share, Ranks: run.instances(), Launch: u.lo, Wait: Never, Stream: 2, Follows: true})
		}
	}
	return all
}

// fsdp2Memory returns the memory while the backward pass of a unit runs: its parameters, the
// gathered parameters of the next unit, its gradients, and the reduce-scatter of the previous unit.
// Parameters that are never freed do not count as additional memory.
func fsdp2Memory(p Plan, _ int64, r Run) int64 {
	if r.KeepParams {
		return largest(p) * max(2*r.param(), r.param()+r.GradBytes())
	}
	return largest(p) * (3*r.param() + r.GradBytes())
}

// oneOutside reports whether all tensors outside the blocks form one unit. They do if the run says
// so, or if the list has an embedding but no separate output layer: the output layer then shares
// the weight of the embedding. PyTorch from 2.13 on refuses two units with one weight
// (_fsdp_state.py, _validate_no_duplicate_params); older versions make two weights of it.
func oneOutside(params []Param, run Run) bool {
	looked, inside := false, false
	for _, p := range params {
		switch {
		case p.Block > 0:
			inside = true
		case !inside:
			looked = looked || lookedUp(p.Name)
		case len(p.Shape) > 1 || p.Shape == nil && p.Held() > 0 && !contains(strings.ToLower(p.Name), vectors):
			return run.RootUnit
		}
	}
	return run.RootUnit || looked && inside
}

// fsdp2Text returns code that shards as in the simulation: one unit for the modules before the
// blocks, one per group of blocks, and one for the modules after them, which is not freed after
// forward. The final fully_shard(model) adds no parameter.
func fsdp2Text(s Spelling) string {
	before, blocks, after := modules(s.Params)
	return shardText(s, "dict(mesh=mesh, mp_policy=mp_policy)", before, blocks, after)
}

// torchtitanText returns the same code for torchtitan, whose decoders always have the same module
// names.
func torchtitanText(s Spelling) string {
	before, _, after := modules(s.Params)
	if len(before) > 0 {
		before = []string{"tok_embeddings"}
	}
	if len(after) > 0 {
		after = []string{"norm", "lm_head"}
	}
	return "# into apply_fsdp_to_decoder of torchtitan/distributed/fsdp.py (apply_fsdp of the model before 2026), in the place of its calls of fully_shard\n" +
		shardText(s, "fsdp_config", before, "layers", after)
}

// shardText returns code that calls fully_shard for the modules. sharded has the arguments that all
// calls share.
func shardText(s Spelling, sharded string, before []string, blocks string, after []string) string {
	one := oneOutside(s.Params, s.Run)
	var b strings.Builder
	fmt.Fprintf(&b, "BLOCKS_PER_UNIT = %d\nKEEP_PARAMS = %s\n", blocksPerUnit(blockSize(s.Params), s.Setting), python(s.Run.KeepParams))
	ends := func(name string, modules []string, keep string) (assigned, call string) {
		if len(modules) == 0 || one {
			return "", ""
		}
		return fmt.Sprintf("%s = [%s]\n", name, quoted(modules)),
			fmt.Sprintf("fully_shard([model.get_submodule(n) for n in %s], reshard_after_forward=%s, **sharded)\n", name, keep)
	}
	first, shardFirst := ends("UNIT_BEFORE_BLOCKS", before, "not KEEP_PARAMS")
	last, shardLast := ends("UNIT_AFTER_BLOCKS", after, "False")
	b.WriteString(first + last + "sharded = " + sharded + "\n")
	fmt.Fprintf(&b, "blocks = list(model.get_submodule(%q).children())\n", blocks)
	b.WriteString(shardFirst + "for i in range(0, len(blocks), BLOCKS_PER_UNIT):\n" +
		"    fully_shard(blocks[i : i + BLOCKS_PER_UNIT], reshard_after_forward=not KEEP_PARAMS, **sharded)\n" +
		shardLast)
	if one && !s.Run.RootUnit {
		b.WriteString("# one unit, since the list shows no output layer beside the embedding's weight: apart, PyTorch 2.13 refuses, and older ones train two weights\n")
	}
	b.WriteString("fully_shard(model, **sharded)  # what is in no unit yet\n")
	return b.String() +
		"# check with: print([sum(p.numel() for b in blocks[i : i + BLOCKS_PER_UNIT] for p in b.parameters()) for i in range(0, len(blocks), BLOCKS_PER_UNIT)])  # elements\n"
}

// modules returns names of modules as the list spells them. before and after name the modules whose
// tensors lie before and after the blocks, and blocks names the parent of the blocks.
func modules(params []Param) (before []string, blocks string, after []string) {
	blocks = "layers"
	inside := false
	for _, p := range params {
		switch {
		case p.Block > 0:
			if m := numbered.FindStringSubmatchIndex(p.Name); m != nil && !inside {
				blocks = p.Name[:m[2]-1]
			}
			inside = true
		case p.Elements == 0:
		case inside:
			after = append(after, module(p.Name))
		default:
			before = append(before, module(p.Name))
		}
	}
	return slices.Compact(before), blocks, slices.Compact(after)
}

// module returns the name of a tensor without its last part.
func module(name string) string {
	if i := strings.LastIndex(name, "."); i > 0 {
		return name[:i]
	}
	return name
}

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
