package trainer

import (
	"fmt"
	"slices"
	"strings"
)

// fsdp2Text shards as the simulation does: the modules before the blocks are one
// unit, so many blocks at a time one each, and the modules after them one that is
// not freed after forward. What fully_shard(model) then adds holds no parameter.
func fsdp2Text(s Spelling) string {
	before, blocks, after := modules(s.Params)
	var b strings.Builder
	fmt.Fprintf(&b, "BLOCKS_PER_UNIT = %d\nKEEP_PARAMS = %s\n", BlocksPerUnit(s.Params, s.Setting), python(s.Run.KeepParams))
	ends := func(name string, modules []string, keep string) (assigned, call string) {
		if len(modules) == 0 || s.Run.RootUnit {
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
		shardLast + "fully_shard(model, **sharded)  # what is in no unit yet\n")
	return b.String() +
		"# read back: print([sum(p.numel() for b in blocks[i : i + BLOCKS_PER_UNIT] for p in b.parameters()) for i in range(0, len(blocks), BLOCKS_PER_UNIT)])  # elements\n"
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
