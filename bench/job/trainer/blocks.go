package trainer

import (
	"maps"
	"slices"
)

// blockUnit holds the tensors from index lo up to, but not including, hi. FSDP2 shards these
// tensors together.
type blockUnit struct {
	lo, hi int
	// held is the number of elements with padding. reduced is the part of held that belongs to
	// trained tensors. padding is the padding in reduced. Index 0 is for dense tensors, and index 1
	// is for experts. params is the number of tensors.
	held, reduced, padding [2]int64
	params                 int
	// block is the block number of the first tensor.
	block int
	// Field kept is true if the unit is not freed after forward. This holds for the unit of the
	// root and for the unit of the tensors after the blocks.
	kept bool
}

// blockSize returns the median number of elements of a block, or 0 without blocks.
func blockSize(params []Param) int64 {
	sizes := map[int]int64{}
	for _, p := range params {
		if p.Block > 0 {
			sizes[p.Block] += p.Held()
		}
	}
	all := slices.Sorted(maps.Values(sizes))
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

// blocksPerUnit returns the number of blocks per unit for a setting in elements, at least 1.
func blocksPerUnit(size, setting int64) int64 {
	if size == 0 {
		return 1
	}
	return max(1, (setting+size/2)/size)
}

// blockRuns holds the tensors as runs of neighbours in the same block, in forward order. Its sums
// let units be cut in time proportional to their number.
type blockRuns struct {
	// The list `all` has the runs in forward order. If the tensors outside the blocks form one
	// unit, this unit is in outside and not in all.
	all     []blockUnit
	outside blockUnit
	// before[i] has the sums of all runs before run i. rising[i] is the first run after i at which
	// block numbers no longer increase.
	before []blockUnit
	rising []int
}

func newBlockRuns(params []Param, run Run) blockRuns {
	r := blockRuns{outside: blockUnit{hi: len(params), kept: true}}
	for i, p := range params {
		if i == 0 || p.Block != params[i-1].Block {
			r.all = append(r.all, blockUnit{lo: i, block: p.Block})
		}
		u := &r.all[len(r.all)-1]
		u.hi = i + 1
		u.add(p, run)
	}
	if oneOutside(params, run) {
		r.all = slices.DeleteFunc(r.all, func(u blockUnit) bool {
			if u.block == 0 {
				r.outside.join(u, 1)
			}
			return u.block == 0
		})
	}
	r.before, r.rising = make([]blockUnit, len(r.all)+1), make([]int, len(r.all))
	for i, u := range r.all {
		r.before[i+1] = r.before[i]
		r.before[i+1].join(u, 1)
	}
	for i := len(r.all) - 1; i >= 0; i-- {
		r.rising[i] = i + 1
		if i+1 < len(r.all) && r.all[i+1].block > r.all[i].block {
			r.rising[i] = r.rising[i+1]
		}
	}
	return r
}

// units returns the units in forward order, each with the given number of blocks. The unit of the
// root, if any, comes first and spans all tensors.
func (r blockRuns) units(blocks int) []blockUnit {
	var all []blockUnit
	if r.outside.params > 0 {
		all = append(all, r.outside)
	}
	for i := 0; i < len(r.all); {
		end := r.end(i, blocks)
		u := r.before[end]
		u.join(r.before[i], -1)
		u.lo, u.hi = r.all[i].lo, r.all[end-1].hi
		u.kept = r.all[i].block == 0 && u.lo > 0
		all = append(all, u)
		i = end
	}
	return all
}

// end returns the first run after the run from that belongs to another unit.
func (r blockRuns) end(from, blocks int) int {
	number := func(i int) int { // number of the unit; 0 outside the blocks
		if r.all[i].block == 0 {
			return 0
		}
		return 1 + (r.all[i].block-1)/blocks
	}
	end := from + 1
	for end < len(r.all) && number(end) == number(from) {
		rising := end
		end += nearest(r.rising[end]-end, func(k int) bool { return number(rising+k) != number(from) })
	}
	return end
}

// join adds the sums of another unit, or subtracts them if sign is −1.
func (u *blockUnit) join(r blockUnit, sign int64) {
	for kind := range u.held {
		u.held[kind] += sign * r.held[kind]
		u.reduced[kind] += sign * r.reduced[kind]
		u.padding[kind] += sign * r.padding[kind]
	}
	u.params += int(sign) * r.params
}

func (u *blockUnit) add(p Param, run Run) {
	kind := kindOf(p.Expert)
	n := paddedRows(p, int64(run.shardRanks(p.Expert)))
	u.held[kind] += n
	if p.Elements > 0 {
		u.reduced[kind] += n
		u.padding[kind] += n - p.Elements
	}
	u.params++
}

// paddedRows returns the number of elements of a tensor after padding. Its rows are divided among
// the ranks, and every share becomes as large as the largest. Without a shape every element counts
// as a row.
func paddedRows(p Param, ranks int64) int64 {
	rows := p.Held()
	if len(p.Shape) > 0 && p.Shape[0] > 0 {
		rows = p.Shape[0]
	}
	if rows == 0 {
		return 0
	}
	return roundUp(rows, ranks) * (p.Held() / rows)
}

// calls appends one call for the dense tensors and one for the experts, the larger one first.
// Gathers and reductions are on separate streams.
func calls(all []Message, name string, elements [2]int64, width int64, launch, wait int, run Run) []Message {
	first, stream := len(all), 0
	if name == reduceScatter {
		stream = 1
	}
	for kind, n := range elements {
		ranks := run.shardRanks(kind == 1)
		if n > 0 && ranks > 1 {
			all = append(all, Message{Collective: name, Bytes: n * width, Ranks: ranks, Launch: launch, Wait: wait, Stream: stream})
		}
	}
	if mine := all[first:]; len(mine) == 2 && mine[1].Bytes > mine[0].Bytes {
		slices.Reverse(mine)
	}
	return all
}
