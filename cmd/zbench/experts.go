package main

import (
	"fmt"
	"slices"

	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/trainer"
)

// experts is the number of expert-parallel groups whose gradients the question
// has a curve of their own for; 0 where all are reduced alike.
func (q *query) experts() int {
	if q == nil || q.in.Model == nil || q.in.Run.EP < 2 ||
		!slices.ContainsFunc(q.in.Model.Params, func(p trainer.Param) bool { return p.Expert && p.Elements > 0 }) {
		return 0
	}
	return q.in.Run.EP
}

// dataRanks is the number of data-parallel ranks in a world of so many.
func (q *query) dataRanks(world int) int {
	if q.in.Run.DP > 0 {
		return q.in.Run.DP
	}
	return world
}

// withExperts adds the stride that experts need to those asked for. Their
// gradients are reduced by the DP/EP ranks that hold the same experts, and those
// are EP apart where data-parallel ranks follow each other (Megatron-Core,
// parallel_state.py, initialize_model_parallel: the order is tp-cp-ep-dp-pp; read
// 2026-11-21). Of a model that is spread over more ranks nobody said how. A sweep
// that goes on keeps the cases that it has.
func withExperts(o collectivesOptions, q *query, w fabric.World) []int {
	ep := q.experts()
	if ep == 0 || o.resume != "" || q.dataRanks(w.Ranks()) != w.Ranks() || ep >= w.Ranks() || !w.Divides(ep) || slices.Contains(o.strides, ep) {
		return o.strides
	}
	return append(slices.Clone(o.strides), ep)
}

// checkExperts refuses, before anything is measured, a question whose second curve
// the sweep will not have.
func (u *setup) checkExperts(q *query) error {
	ep := q.experts()
	if ep == 0 || q.in.Rescale {
		return nil
	}
	dp := q.dataRanks(u.axes.Ranks)
	if dp%ep != 0 || dp == ep { // said elsewhere, or nobody to reduce with
		return nil
	}
	ranks := dp / ep
	if slices.ContainsFunc(u.axes.Cases(), func(c plan.Case) bool { return c.Ranks == ranks }) {
		return nil
	}
	hint := "choose numbers of nodes and GPUs that --ep divides"
	if replica := u.axes.Ranks / dp; replica > 1 {
		hint = fmt.Sprintf("where the %d ranks that share a copy of the model are neighbours, as with tensor parallelism: add --strides %d,%d", replica, replica, replica*ep)
	}
	return usagef(hint, "with --ep %d the experts' gradients are reduced by groups of %d ranks, and this sweep measures none", ep, ranks)
}
