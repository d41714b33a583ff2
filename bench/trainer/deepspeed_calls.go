package trainer

import "slices"

// DeepSpeed's calls, read at edaa7221: runtime/zero/stage_1_and_2.py and stage3.py,
// runtime/engine.py allreduce_gradients, moe/utils.py.
const (
	deepSpeedAlign   = 2           // nccl_start_alignment_factor: elements of a partition
	deepSpeedExperts = 178_956_971 // max_group_size: elements of a group of experts' parameters
	deepSpeedAhead   = 3           // max_param_reduce_events and the call itself
)

// zeroLists is what DeepSpeed's plans of all settings share.
type zeroLists struct {
	// orders are cut apart, each in the order in which gradients are taken.
	orders []packing
	flat   []place
}

// place is where a tensor lies in its flat group of parameters, and how many elements of
// the group each rank owns.
type place struct{ at, share int64 }

// ofZero makes the lists once.
func (in *prepared) ofZero(run Run) *zeroLists {
	if in.zero != nil {
		return in.zero
	}
	in.zero = &zeroLists{orders: []packing{in.reverse}}
	switch {
	case run.Zero == 3:
		in.zero.orders = spans(in.reverse)
		return in.zero
	case run.afterBackward(): // the loop of reduce_gradients: the dense group first, each forward
		order := append(indexes(in.params, false, false), indexes(in.params, true, false)...)
		in.zero.orders = []packing{newPacking(in.params, order)}
	}
	in.zero.flat = places(in.params, run)
	return in.zero
}

// afterBackward tells that DeepSpeed reduces nothing before the end of backward: stage 1
// does so without overlap.
func (r Run) afterBackward() bool { return r.Zero == 1 && r.NoOverlap }

// spans are the parts of an order that the same ranks reduce: stage 3 mixes no ranks.
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

// places lays tensors out as the optimizer's flat groups: the dense ones, and experts in
// groups of a bounded size.
func places(params []Param, run Run) []place {
	all := make([]place, len(params))
	var groups [2][]int
	var held [2]int64
	lay := func(kind int) {
		ranks, at := int64(run.ranks(kind == 1)), int64(0)
		share := roundUp(held[kind], deepSpeedAlign*ranks) / ranks
		for _, i := range groups[kind] {
			all[i] = place{at, share}
			at += params[i].Elements
		}
		groups[kind], held[kind] = nil, 0
	}
	for i, p := range params {
		kind := 0
		if p.Expert {
			kind = 1
			if held[kind]+p.Elements > deepSpeedExperts {
				lay(kind)
			}
		}
		groups[kind], held[kind] = append(groups[kind], i), held[kind]+p.Elements
	}
	lay(0)
	lay(1)
	return all
}

// filled are the tensors that are collected together, in the order of the reductions.
func (z *zeroLists) filled(setting int64) [][]int {
	var all [][]int
	for _, p := range z.orders {
		from := 0
		for _, b := range p.atMost(setting, false) {
			all = append(all, p.order[from:from+b.Params])
			from += b.Params
		}
	}
	return all
}

// calls splits what is collected into what one call reduces.
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

// ofRanks is the tensors of a bucket that the same ranks reduce. Stage 3 pads each to
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
			more := roundUp(p.Elements, int64(run.ranks(expert))) - p.Elements
			b.Elements += more
			b.Padding += more
		}
	}
	return b
}

// slices is a tensor above the size, which goes in slices that end where a rank's part
// does; a call takes as many as bring it over the size.
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

// toOwners is one call for each rank that owns a part of the bucket.
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
