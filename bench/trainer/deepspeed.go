package trainer

import (
	"cmp"
	"slices"
)

// DeepSpeed's rules, read at edaa7221: runtime/zero/config.py (defaults),
// runtime/zero/stage_1_and_2.py reduce_independent_p_g_buckets_and_remove_grads
// (a bucket is reduced before a gradient would take it over the size; a larger
// tensor is one by itself), average_tensor (computation waits for the reduction
// before), allreduce_and_scatter (all_reduce with the default settings),
// runtime/zero/stage3.py, runtime/utils.py all_gather_dp_groups (one call).
const (
	deepSpeedDefault  = 500_000_000
	deepSpeedPrefetch = 50_000_000
)

func deepSpeedPlan(in *prepared, setting int64, run Run) Plan {
	params := in.params
	if setting == 0 {
		setting = deepSpeedDefault
	}
	// One buffer takes dense and expert gradients alike; each group of ranks then
	// reduces its own part.
	plan := Plan{Buckets: in.reverse.atMost(setting, false)}
	plan.Backward = deepSpeedReductions(in, plan.Buckets, run)
	plan.EachBackward = run.Zero > 1
	if run.Zero == 3 {
		deepSpeedGathers(&plan, in, run)
		return plan
	}
	if total := elements(params); run.DP > 1 && total > 0 {
		plan.After = []Message{{Collective: allGather, Bytes: total * run.param(), Ranks: run.DP, Wait: Never}}
	}
	return plan
}

// deepSpeedReductions are launched when the gradient comes that no longer fits,
// the last at the end of backward.
func deepSpeedReductions(in *prepared, buckets []Bucket, run Run) []Message {
	name := allReduce
	if run.Zero == 3 {
		name = reduceScatter
	}
	all := make([]Message, 0, len(buckets))
	wide := run.grad()
	for j, b := range buckets {
		launch, next := 0, 0
		if j+1 < len(buckets) {
			launch = buckets[j+1].Last
		}
		if j+2 < len(buckets) {
			next = buckets[j+2].Last
		}
		wait := next
		switch {
		case run.NoOverlap:
			wait = launch
		case run.Zero == 3 || j+1 == len(buckets):
			wait = Never
		}
		for _, part := range in.parts(b) {
			if n := run.ranks(part.Expert); n > 1 && part.Elements > 0 {
				all = append(all, Message{Collective: name, Bytes: part.Elements * wide, Ranks: n, Launch: launch, Wait: wait})
			}
		}
	}
	return all
}

// parts splits a bucket by the ranks that reduce it; one of them may be empty.
func (in *prepared) parts(b Bucket) [2]Bucket {
	dense, expert := b, b
	dense.Expert, expert.Expert = false, true
	expert.Elements = in.experts[b.Last+1] - in.experts[b.First]
	dense.Elements -= expert.Elements
	return [2]Bucket{dense, expert}
}

// deepSpeedGathers adds the gathers of parameters of stage 3, which the setting
// does not change, before each pass's computation.
func deepSpeedGathers(plan *Plan, in *prepared, run Run) {
	plan.EachForward = true
	units := both(in.kinds, func(p packing, _ bool) []Bucket { return p.atMost(deepSpeedPrefetch, false) })
	plan.Forward = chain(units, run)
	plan.Backward = append(backwardChain(units, run), plan.Backward...)
	slices.SortStableFunc(plan.Backward, func(a, b Message) int { return cmp.Compare(b.Launch, a.Launch) })
}

// backwardChain gathers units in the order of backward, each while the one
// before computes.
func backwardChain(units []Bucket, run Run) []Message {
	var all []Message
	for _, expert := range []bool{false, true} {
		at := -1
		for _, u := range units {
			if n := run.ranks(expert); u.Expert == expert && n > 1 {
				at = max(at, u.Last+1)
				all = append(all, Message{Collective: allGather, Bytes: u.Elements * run.param(), Ranks: n, Launch: at, Wait: u.Last + 1})
				at = u.Last + 1
			}
		}
	}
	return all
}

func elements(params []Param) int64 {
	n := int64(0)
	for _, p := range params {
		n += p.Elements
	}
	return n
}
