package trainer

import (
	"cmp"
	"slices"

	"zbench/bench/base/slice"
)

// prepared is the part of a plan that is the same for all settings. It is computed once per list of
// tensors and run, so that a plan only costs its buckets.
type prepared struct {
	params []Param
	// kinds are the dense tensors and the experts, in backward order.
	kinds [2]packing
	// matrices and rest are the two parts of kinds if matrices have buffers of their own. This is
	// so with the layer-wise rule, and for storage in 8 bits.
	matrices, rest [2]packing
	pieces         [2][]piece
	// Field ahead has the same tensors as kinds, in forward order, for a trainer that cuts buckets
	// in that order.
	ahead  [2]packing
	packed [2][]packed
	floor  *LayerWiseFloor
	// reverse has all tensors with elements, the last one first.
	reverse packing
	// zero has the lists for DeepSpeed; nil until they are needed.
	zero *zeroLists
	// block is the number of elements in a transformer block. blocks has the tensors by block. Both
	// are for a trainer whose setting counts blocks.
	block  int64
	blocks blockRuns
}

// Planner makes plans for many settings of the same tensors. It is not safe for concurrent use.
type Planner struct {
	t      Trainer
	params []Param
	// The map made caches the prepared part of each run. Its keys leave out fields that do not
	// affect where a bucket ends.
	made map[Run]*prepared
}

// Planner returns a planner for these tensors, which are in forward order.
func (t Trainer) Planner(params []Param) *Planner {
	return &Planner{t: t, params: params, made: map[Run]*prepared{}}
}

// Plan returns the same as [Trainer.Plan] for the planner's tensors.
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
	in := &prepared{params: params}
	var order []int
	for kind := range in.kinds {
		in.kinds[kind] = newPacking(params, indexes(params, kind == 1, true))
		order = append(order, in.kinds[kind].order...)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(b, a) })
	in.reverse = newPacking(params, order)
	if run.FindUnused {
		for kind := range in.ahead {
			in.ahead[kind] = newPacking(params, indexes(params, kind == 1, false))
		}
	}
	if !run.LayerWise && !run.FP8Gather {
		return in
	}
	matrix := slice.Map(params, func(p Param) bool { return Matrix(p) && (run.LayerWise || quantized(p)) })
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
