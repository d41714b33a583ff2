package trainer

import "slices"

// unit is the tensors from lo up to hi, which are sharded together.
type unit struct {
	lo, hi int
	// elements are of the dense tensors and of the experts, params how many there
	// are.
	elements [2]int64
	params   int
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

// blockRuns are the tensors as runs of neighbours of the same block, in the order of
// forward, prepared so that cutting them into units costs what the units do.
type blockRuns struct {
	// all are the runs; those outside of the blocks are left out where they are one
	// unit of their own, outside.
	all     []unit
	outside unit
	// before sums up the runs before each, and rising[i] is where the blocks from run i
	// on stop rising.
	before []unit
	rising []int
}

func newBlockRuns(params []Param, root bool) blockRuns {
	r := blockRuns{outside: unit{hi: len(params), kept: true}}
	for i, p := range params {
		if i == 0 || p.Block != params[i-1].Block {
			r.all = append(r.all, unit{lo: i, block: p.Block})
		}
		u := &r.all[len(r.all)-1]
		u.hi = i + 1
		u.add(p)
	}
	if root {
		r.all = slices.DeleteFunc(r.all, func(u unit) bool {
			if u.block == 0 {
				r.outside.join(u)
			}
			return u.block == 0
		})
	}
	r.before, r.rising = make([]unit, len(r.all)+1), make([]int, len(r.all))
	for i, u := range r.all {
		r.before[i+1] = r.before[i]
		r.before[i+1].join(u)
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
func (r blockRuns) units(blocks int) []unit {
	var all []unit
	if r.outside.params > 0 {
		all = append(all, r.outside)
	}
	for i := 0; i < len(r.all); {
		end := r.end(i, blocks)
		u := unit{lo: r.all[i].lo, hi: r.all[end-1].hi}
		u.kept = r.all[i].block == 0 && u.lo > 0
		u.params = r.before[end].params - r.before[i].params
		for kind := range u.elements {
			u.elements[kind] = r.before[end].elements[kind] - r.before[i].elements[kind]
		}
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

func (u *unit) join(r unit) {
	u.elements[0] += r.elements[0]
	u.elements[1] += r.elements[1]
	u.params += r.params
}

func (u *unit) add(p Param) {
	u.elements[kindOf(p.Expert)] += p.Elements
	u.params++
}

// calls appends one call for the dense tensors of the unit and one for its experts,
// the larger first.
func (u unit) calls(all []Message, name string, width int64, launch, wait int, run Run) []Message {
	first := len(all)
	for kind, n := range u.elements {
		ranks := run.ranks(kind == 1)
		if n > 0 && ranks > 1 {
			all = append(all, Message{
				Collective: name, Bytes: roundUp(n, int64(ranks)) * width, Ranks: ranks, Launch: launch, Wait: wait,
			})
		}
	}
	if mine := all[first:]; len(mine) == 2 && mine[1].Bytes > mine[0].Bytes {
		slices.Reverse(mine)
	}
	return all
}
