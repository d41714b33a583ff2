package trainer

import (
	"cmp"
	"slices"
	"sort"
)

// prepared is the common part of the plans of all settings. It is computed once for a
// list of tensors and a run, so that the cost of a plan is that of its buckets.
type prepared struct {
	params []Param
	// kinds are the dense tensors and those of experts, in the order of backward.
	kinds [2]packing
	// matrices and rest are the same of what the layer-wise rule, or 8-bit storage, divides.
	matrices, rest [2]packing
	pieces         [2][]piece
	// ahead is kinds in the order of forward, where a trainer cuts so.
	ahead  [2]packing
	packed [2][]packed
	floor  *LayerWiseFloor
	// reverse is all tensors that have elements, the last first, and experts the
	// elements of experts before each tensor of the list.
	reverse packing
	experts []int64
	// zero is DeepSpeed's own lists, where they were asked for.
	zero *zeroLists
	// block is the elements of a transformer block, and blocks the tensors by block:
	// for a trainer that is set in blocks.
	block  int64
	blocks blockRuns
}

// Planner makes the plans of many settings of the same tensors. It is not safe for
// concurrent use.
type Planner struct {
	t      Trainer
	params []Param
	// made is by the run, without what has no part in where buckets end.
	made map[Run]*prepared
}

// Planner makes plans of these tensors, which are in forward order.
func (t Trainer) Planner(params []Param) *Planner {
	return &Planner{t: t, params: params, made: map[Run]*prepared{}}
}

// Plan is [Trainer.Plan].
func (p *Planner) Plan(setting int64, run Run) Plan { return p.t.plan(p.prepared(run), setting, run) }

func (p *Planner) prepared(run Run) *prepared {
	cut := run
	cut.GradDtype, cut.ParamDtype, cut.Accum = "", "", 0
	in := p.made[cut]
	if in == nil {
		in = prepare(grouped(p.params, run), run)
		if p.t.Unit == Blocks {
			in.block, in.blocks = blockSize(p.params), newBlockRuns(in.params, run)
		}
		p.made[cut] = in
	}
	return in
}

func prepare(params []Param, run Run) *prepared {
	in := &prepared{params: params, experts: make([]int64, len(params)+1)}
	var order []int
	for kind := range in.kinds {
		in.kinds[kind] = newPacking(params, indexes(params, kind == 1, true))
		order = append(order, in.kinds[kind].order...)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(b, a) })
	in.reverse = newPacking(params, order)
	for i, p := range params {
		in.experts[i+1] = in.experts[i]
		if p.Expert {
			in.experts[i+1] += p.Elements
		}
	}
	if run.FindUnused {
		for kind := range in.ahead {
			in.ahead[kind] = newPacking(params, indexes(params, kind == 1, false))
		}
	}
	if !run.LayerWise && !run.FP8Gather {
		return in
	}
	matrix := make([]bool, len(params))
	for i, p := range params {
		matrix[i] = Matrix(p) && (run.LayerWise || quantized(p))
	}
	for kind, all := range in.kinds {
		some := func(matrices bool) packing {
			return newPacking(params, slices.DeleteFunc(slices.Clone(all.order), func(i int) bool { return matrix[i] != matrices }))
		}
		in.matrices[kind], in.rest[kind] = some(true), some(false)
		if run.LayerWise {
			in.pieces[kind] = in.matrices[kind].pieces()
		}
	}
	return in
}

// newPacking sums the tensors up, as they are and aligned.
func newPacking(params []Param, order []int) packing {
	p := packing{params: params, order: order, alone: slices.IndexFunc(order, func(i int) bool { return params[i].Alone }), sum: make([]int64, len(order)+1), aligned: make([]int64, len(order)+1), scratch: new([]Bucket)}
	for k, i := range order {
		p.largest = max(p.largest, params[i].Elements)
		p.sum[k+1] = p.sum[k] + params[i].Elements
		p.aligned[k+1] = p.aligned[k] + roundUp(params[i].Elements, megatronAlign)
	}
	return p
}

// atLeast closes a bucket as soon as it holds limit elements, so that the last
// tensor overshoots. The first bucket has a limit of its own. A limit of 0 never
// closes. A bucket's end is a multiple of what starts are aligned to, so that sums
// of aligned tensors say where one closes.
func (p packing) atLeast(first, limit int64) []Bucket {
	all := *p.scratch
	starts := p.sum
	if p.align > 1 {
		starts = p.aligned
	}
	for from := 0; from < len(p.order); first = limit {
		last := len(p.order) - 1
		held := func(k int) int64 { return starts[k] - starts[from] + p.sum[k+1] - p.sum[k] }
		if first > 0 {
			last = min(last, from+nearest(last+1-from, func(k int) bool { return held(from+k) >= first }))
		}
		if p.align > 1 && p.alone >= from && p.alone <= last {
			last = max(from, p.alone-1)
		}
		b := Bucket{
			Elements: roundUp(held(last), p.divisor), Params: last + 1 - from, First: p.order[last], Last: p.order[from],
			Expert: p.params[p.order[from]].Expert,
		}
		b.Padding = b.Elements - (p.sum[last+1] - p.sum[from])
		all = append(all, b)
		from = last + 1
	}
	return p.kept(all)
}

// kept is what was appended to the scratch space, in no more memory than it takes.
func (p packing) kept(all []Bucket) []Bucket {
	*p.scratch = all[:0]
	return slices.Clone(all)
}

// nearest is sort.Search for answers that are usually near 0.
func nearest(n int, is func(k int) bool) int {
	lo, step := 0, 1
	for lo+step < n && !is(lo+step-1) {
		lo, step = lo+step, 2*step
	}
	return lo + sort.Search(min(step, n-lo), func(k int) bool { return is(lo + k) })
}

// atMostBySums is atMost for an order with all tensors.
func (p packing) atMostBySums(limit int64) []Bucket {
	all := *p.scratch
	for from := 0; from < len(p.order); {
		n := nearest(len(p.order)-from, func(k int) bool { return p.sum[from+k+1]-p.sum[from] > limit })
		if p.most > 0 {
			n = min(n, p.most)
		}
		last := from + max(1, n) - 1
		all = append(all, Bucket{
			Elements: p.sum[last+1] - p.sum[from], Params: last + 1 - from, First: p.order[last], Last: p.order[from],
			Expert: p.params[p.order[last]].Expert,
		})
		from = last + 1
	}
	return p.kept(all)
}
