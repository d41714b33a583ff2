package trainer

import (
	"cmp"
	"slices"
)

// FSDP2's rules: fully_shard makes one unit of the modules it is given, and a
// unit is one all-gather and one reduce-scatter (torchtitan docs/fsdp.md and
// torchtitan/distributed/fsdp.py at b5bcd76c: every block, the tensors before
// the blocks, and those after them, which are not freed after forward). The
// setting is blocks per unit times the elements of a block.

// unit is tensors from lo up to hi that are sharded together.
type unit struct {
	lo, hi int
	// elements are of the dense tensors and of the experts, params how many there
	// are.
	elements [2]int64
	params   int
	// block is that of the first tensor.
	block int
	// kept tells that it is not freed after forward: the root's, and the one of the
	// tensors after the blocks.
	kept bool
}

// blockSize is the elements of the middle block by size, 0 where there are no
// blocks.
func blockSize(params []Param) int64 {
	sizes := map[int]int64{}
	for _, p := range params {
		if p.Block > 0 {
			sizes[p.Block] += p.Elements
		}
	}
	all := make([]int64, 0, len(sizes))
	for _, n := range sizes {
		all = append(all, n)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// BlocksPerUnit is the number of blocks a setting means, at least 1.
func BlocksPerUnit(params []Param, setting int64) int64 {
	return blocksPerUnit(blockSize(params), setting)
}

func blocksPerUnit(size, setting int64) int64 {
	if size == 0 {
		return 1
	}
	return max(1, (setting+size/2)/size)
}

func fsdp2Default(params []Param, _ Run) int64 { return max(1, blockSize(params)) }

// fsdp2Settings is every number of blocks per unit.
func fsdp2Settings(params []Param, _ Run) []int64 {
	last := 1
	for _, p := range params {
		last = max(last, p.Block)
	}
	all := make([]int64, last)
	block := fsdp2Default(params, Run{})
	for k := range all {
		all[k] = int64(k+1) * block
	}
	return all
}

// blockRuns are neighbours of the same block, in the order of forward.
func blockRuns(params []Param) []unit {
	var all []unit
	for i, p := range params {
		if i == 0 || p.Block != params[i-1].Block {
			all = append(all, unit{lo: i, block: p.Block})
		}
		u := &all[len(all)-1]
		u.hi = i + 1
		u.add(p)
	}
	return all
}

// units are in the order of forward. With root the tensors outside of the blocks
// are one, which comes first and spans all.
func units(runs []unit, blocks int, root bool) []unit {
	var all []unit
	outside := unit{kept: true}
	group := func(block int) int {
		if block == 0 {
			return 0
		}
		return 1 + (block-1)/blocks
	}
	last := -1
	for _, r := range runs {
		outside.hi = r.hi
		if root && r.block == 0 {
			outside.join(r)
			continue
		}
		if group(r.block) != last {
			last = group(r.block)
			all = append(all, unit{lo: r.lo, kept: last == 0 && r.lo > 0})
		}
		u := &all[len(all)-1]
		u.hi = r.hi
		u.join(r)
	}
	if outside.params > 0 {
		all = slices.Insert(all, 0, outside)
	}
	return all
}

func (u *unit) join(r unit) {
	u.elements[0] += r.elements[0]
	u.elements[1] += r.elements[1]
	u.params += r.params
}

func (u *unit) add(p Param) {
	kind := 0
	if p.Expert {
		kind = 1
	}
	u.elements[kind] += p.Elements
	u.params++
}

func fsdp2Plan(in *prepared, setting int64, run Run) Plan {
	params := in.params
	if setting == 0 {
		setting = max(1, in.block)
	}
	all := units(in.blocks, int(blocksPerUnit(in.block, setting)), run.RootUnit)
	plan := Plan{EachBackward: true, EachForward: !run.KeepParams}
	if last := all[len(all)-1]; !run.KeepParams && !last.kept {
		plan.Backward = last.calls(allGather, run.param(), len(params), last.hi, run)
	}
	for j, u := range slices.Backward(all) {
		for kind, n := range u.elements {
			if n > 0 {
				b := Bucket{Elements: roundUp(n, int64(run.ranks(kind == 1))), Params: u.params, First: u.lo, Last: u.hi - 1, Expert: kind == 1}
				b.Padding = b.Elements - n
				plan.Buckets = append(plan.Buckets, b)
			}
		}
		if j > 0 && !run.KeepParams && !all[j-1].kept {
			before := all[j-1]
			plan.Backward = append(plan.Backward, before.calls(allGather, run.param(), u.hi, before.hi, run)...)
		}
		plan.Backward = append(plan.Backward, u.calls(reduceScatter, run.grad(), u.lo, Never, run)...)
	}
	at := 0
	for _, u := range all {
		plan.Forward = append(plan.Forward, u.calls(allGather, run.param(), at, u.lo, run)...)
		at = u.lo
	}
	return plan
}

// calls is one call for the dense tensors of the unit and one for its experts.
func (u unit) calls(name string, width int64, launch, wait int, run Run) []Message {
	var all []Message
	for kind, n := range u.elements {
		ranks := run.ranks(kind == 1)
		if n > 0 && ranks > 1 {
			all = append(all, Message{
				Collective: name, Bytes: roundUp(n, int64(ranks)) * width, Ranks: ranks, Launch: launch, Wait: wait,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Message) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}
