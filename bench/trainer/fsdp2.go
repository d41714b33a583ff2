package trainer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/slice"
)

// FSDP2's rules: fully_shard makes one unit of the modules it is given, and a
// unit is one all-gather and one reduce-scatter (torchtitan docs/fsdp.md and
// torchtitan/distributed/fsdp.py at b5bcd76c: every block, the tensors before
// the blocks, and those after them, which are not freed after forward). Each tensor's
// rows are padded to a multiple of the ranks. A gather of forward begins when the unit
// two before it does, one of backward one unit ahead; computation waits for a
// reduce-scatter before the next (PyTorch 2.6 and 2.14, run by scripts/torch-layouts.py).
// Frozen tensors are gathered, and not reduced. The setting is blocks per unit times the
// elements of a block.

func init() {
	register(Trainer{
		listed: 3, Name: "fsdp2", Title: "PyTorch FSDP2", Aliases: []string{"fsdp", "torchtitan"},
		Knob: "blocks per fully_shard", Flag: "fully_shard", Unit: Blocks, GradDtype: "float", Stages: []int{3}, Collectives: []string{reduceScatter, allGather},
		Default: fsdp2Default, plan: fsdp2Plan, Settings: fsdp2Settings,
		Memory: fsdp2Memory, MemoryIs: "two units' parameters and their gather, one unit's gradients, and one reduce-scatter",
		Changes: []Change{
			{
				"keep_params", "keep parameters between forward and backward, if memory allows (reshard_after_forward=False)",
				func(r Run) bool { return !r.KeepParams }, func(r *Run) { r.KeepParams = true },
			},
			{
				"hsdp", "hybrid sharding: shard within a node and replicate across, for rings of fewer ranks",
				func(Run) bool { return true }, nil,
			},
		},
		forms: []form{{"PyTorch FSDP2", "python", fsdp2Text}},
		keys: []key{
			{"blocks_per_unit", into(func(c *Config) **int64 { return &c.Blocks }, 1)},
			{"keep_params", flag(func(c *Config) **bool { return &c.KeepParams })},
			{"unit_before_blocks", nil},
			{"unit_after_blocks", nil},
			{distributedType, nil},
			{"use_torch_fsdp2", nil},
			{"fsdp_version", nil},
			{"fsdp_reshard_after_forward", func(c *Config, value string) error {
				c.KeepParams = new(strings.EqualFold(value, "false"))
				return nil
			}},
		},
		beside:   []key{{"mixed_precision", nil}, {"gradient_accumulation_steps", small(func(c *Config) **int { return &c.Accum })}},
		chosenBy: []Setting{{Key: distributedType, Value: "FSDP"}},
		doubts: func(c *Config, params []Param) []string {
			if isTrue(c.RootUnit) || !oneOutside(params, Run{}) {
				return nil
			}
			return []string{"it shards the embedding apart from the output layer that shares its weight: PyTorch 2.13 and later refuse that, older ones train two weights; it is computed as one unit, as the printed lines make it"}
		},
		conclude: func(c *Config, _ []Setting) {
			if _, accelerate := c.said[distributedType]; accelerate {
				if c.said["fsdp_version"] != "2" {
					c.refused = errors.New("fsdp_version 1 of Accelerate is FSDP1, whose flat parameters are not simulated; fsdp_version: 2 is FSDP2")
				}
				if types := map[string]string{"bf16": "bfloat16", "fp16": "half", "no": "float"}[c.said["mixed_precision"]]; types != "" {
					c.GradDtype, c.ParamDtype = types, types // accelerate/utils/dataclasses.py, set_mixed_precision
				}
			}
			orElse(&c.RootUnit, !c.on("unit_before_blocks") && !c.on("unit_after_blocks"))
		},
	})
}

func fsdp2Default(params []Param, _ Run) int64 { return max(1, blockSize(params)) }

// fsdp2Settings is every number of blocks per unit.
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
	var scattered []int // the messages for which the next reduce-scatter waits
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
		if len(plan.Backward) == n {
			continue
		}
		for _, i := range scattered {
			plan.Backward[i].Wait = u.lo
		}
		scattered = scattered[:0]
		for i := n; i < len(plan.Backward); i++ {
			scattered = append(scattered, i)
		}
	}
	behind, at := 0, 0
	for _, u := range all {
		plan.Forward = gather(plan.Forward, u, behind, u.lo)
		behind, at = at, u.lo
	}
	return plan
}

// fsdp2Memory is while a unit's backward runs: its parameters, the next unit's gather, its
// gradients, and the reduce-scatter of the unit before. Parameters that stay are the
// trainer's own.
func fsdp2Memory(p Plan, _ int64, r Run) int64 {
	if r.KeepParams {
		return largest(p) * max(2*r.param(), r.param()+r.GradBytes())
	}
	return largest(p) * (3*r.param() + r.GradBytes())
}

// oneOutside tells that all tensors outside of the blocks are one unit: the run says so, or
// the list has an embedding and no output layer of its own, which then has the embedding's
// weight. Two units of one weight are refused by PyTorch from 2.13 on
// (_fsdp_state.py, _validate_no_duplicate_params); older ones make two weights of it.
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

// fsdp2Text shards as the simulation does: the modules before the blocks are one
// unit, so many blocks at a time one each, and the modules after them one that is
// not freed after forward. What fully_shard(model) then adds holds no parameter.
func fsdp2Text(s Spelling) string {
	before, blocks, after := modules(s.Params)
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
	b.WriteString(first + last + "sharded = dict(mesh=mesh, mp_policy=mp_policy)\n")
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

// modules are the names of the modules that hold the tensors before the blocks and
// after them, and of the one whose children are the blocks, as the list names them.
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

// module is a tensor's name without its last part.
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
