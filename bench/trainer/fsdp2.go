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
	// elements are of the dense tensors and of the experts.
	elements [2]int64
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
	size := blockSize(params)
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
	var all []int64
	for k := range last {
		all = append(all, int64(k+1)*fsdp2Default(params, Run{}))
	}
	return all
}

func units(params []Param, blocks int) []unit {
	var all []unit
	group := func(p Param) int {
		if p.Block == 0 {
			return 0
		}
		return 1 + (p.Block-1)/blocks
	}
	for i, p := range params {
		if i == 0 || group(p) != group(params[i-1]) {
			all = append(all, unit{lo: i})
		}
		u := &all[len(all)-1]
		u.hi = i + 1
		kind := 0
		if p.Expert {
			kind = 1
		}
		u.elements[kind] += p.Elements
	}
	return all
}

func fsdp2Plan(params []Param, setting int64, run Run) Plan {
	if setting == 0 {
		setting = fsdp2Default(params, run)
	}
	all := units(params, int(BlocksPerUnit(params, setting)))
	plan := Plan{EachBackward: true, EachForward: !run.KeepParams}
	for j, u := range slices.Backward(all) {
		for kind, n := range u.elements {
			if n > 0 {
				b := Bucket{Elements: roundUp(n, int64(run.ranks(kind == 1))), Params: u.hi - u.lo, First: u.lo, Last: u.hi - 1, Expert: kind == 1}
				b.Padding = b.Elements - n
				plan.Buckets = append(plan.Buckets, b)
			}
		}
		if j > 0 && !run.KeepParams {
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
