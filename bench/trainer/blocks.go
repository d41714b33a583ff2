package trainer

import (
	"maps"
	"slices"
)

// blockUnit is the tensors from lo up to hi, which are sharded together.
type blockUnit struct {
	lo, hi int
	// held are the padded elements of the dense tensors and of the experts, reduced those that are
	// trained, and padding is how many of reduced are padding. params is the number of tensors.
	held, reduced, padding [2]int64
	params                 int
	// block is that of the first tensor.
	block int
	// kept is true if it is not freed after forward: the root's, and that of the tensors
	// after the blocks.
	kept bool
}

// blockSize is the median number of elements of a block, 0 without blocks.
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

// blocksPerUnit is the number of blocks a setting means, at least 1.
func blocksPerUnit(size, setting int64) int64 {
	if size == 0 {
		return 1
	}
	return max(1, (setting+size/2)/size)
}

// blockRuns are the tensors as runs of neighbours of the same block, in the order of
// forward, prepared so that cutting them into units costs what the units do.
type blockRuns struct {
	// all are the runs; those outside of the blocks are left out where they are one
	// unit of their own, outside.
	all     []blockUnit
	outside blockUnit
	// before sums up the runs before each, and rising[i] is where the blocks from run i
	// on stop rising.
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

// units are in the order of forward, each of so many blocks. The root's comes first
// and spans all.
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

// end is the first run after one that belongs to another unit.
func (r blockRuns) end(from, blocks int) int {
	number := func(i int) int { // of the unit; 0 outside of the blocks
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

// join adds the sums of another unit, or takes them away.
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

// paddedRows is the elements of a tensor whose rows are divided between so many ranks, all
// shares as large as the largest. Without a shape every element is a row.
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

// calls appends one call of the dense tensors' elements and one of the experts', the larger
// first. Gathers have a stream, and so have reductions.
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
