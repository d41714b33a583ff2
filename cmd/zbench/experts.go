package main

import (
	"fmt"
	"slices"

	"zbench/bench/plan"
	"zbench/bench/trainer"
)

// checkExperts refuses, before anything is measured, a question whose second curve
// the sweep will not have. Experts' gradients are reduced by the DP/EP ranks that
// hold the same experts, and those are EP apart (Megatron-Core, parallel_state.py,
// initialize_model_parallel: the order is tp-cp-ep-dp-pp; read 2026-11-21). A sweep
// has groups of neighbours only, and those inside a node do not meet the network.
func (u *setup) checkExperts(q *query) error {
	if q == nil || q.in.Model == nil || q.in.Run.EP < 2 || q.in.Rescale {
		return nil
	}
	if !slices.ContainsFunc(q.in.Model.Params, func(p trainer.Param) bool { return p.Expert && p.Elements > 0 }) {
		return nil
	}
	dp, ep := q.in.Run.DP, q.in.Run.EP
	if dp == 0 {
		dp = u.axes.Ranks
	}
	if dp%ep != 0 || dp == ep { // said elsewhere, or nobody to reduce with
		return nil
	}
	ranks := dp / ep
	if slices.ContainsFunc(u.axes.Cases(), func(c plan.Case) bool { return c.Ranks == ranks }) {
		return nil
	}
	// One group keeps its layout on its own: a rank of every EP-th GPU.
	gpus := max(1, u.world.GPUsPerNode/ep)
	hint := fmt.Sprintf("measure one such group, its GPUs as far apart: zbench collectives --nodes %d --gpus-per-node %d; then the whole world without --framework; "+
		"then zbench recommend with both folders and the flags of the model. --scale and --groups of %d ranks serve too, but are of neighbours: the confidence is then low",
		max(1, ranks/gpus), gpus, ranks)
	return usagef(hint, "with --ep %d the experts' gradients are reduced by groups of %d ranks, %d apart, and this sweep measures none", ep, ranks, ep)
}
