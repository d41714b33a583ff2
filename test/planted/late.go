package planted

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"zbench/bench/answers/judge"
)

// allWait are the collectives in which every rank waits for every other rank. Only these show which
// rank is late.
var allWait = []string{"all_reduce", "reduce_scatter", "all_gather", "all_to_all"}

// lateWorld is a world in which a late GPU is looked for.
type lateWorld struct {
	nodes        int
	sigma        float64
	jitter, tick float64
	// `most` is the largest size in bytes; 0 means 4 MiB.
	most int64
}

func (w lateWorld) String() string {
	s := fmt.Sprintf("%d ranks, noise %.0f %%", w.nodes*gpus, 100*w.sigma)
	if w.most > 0 {
		s += ", one size"
	}
	if w.jitter > 0 {
		s += fmt.Sprintf(", ranks see the end up to %.0f µs apart", 1e6*w.jitter)
	}
	if w.tick > 0 {
		s += fmt.Sprintf(", a clock of %.0f ns", 1e9*w.tick)
	}
	return s
}

// lateWorlds are quiet and noisy worlds of one node and of eight. In some of them GPUs do not see
// the end at the same time, on a clock that ticks like the MI300X's (100 MHz) or slower.
var lateWorlds = []lateWorld{
	{nodes: 1, sigma: 0.01},
	{nodes: 1, sigma: 0.05},
	{nodes: 8, sigma: 0.01},
	{nodes: 8, sigma: 0.05},
	{nodes: 1, sigma: 0.05, jitter: 5e-6, tick: 10e-9},
	{nodes: 8, sigma: 0.05, jitter: 5e-6, tick: 10e-9},
	{nodes: 8, sigma: 0.05, jitter: 5e-6, tick: 1e-6},
}

// lateNodeWorlds are worlds in which a late node is looked for. In a world of two nodes, one half
// is always earlier. The first world has so few launches that no single GPU comes last beyond
// chance.
var lateNodeWorlds = []lateWorld{
	{nodes: 2, sigma: 0.01, most: 64 << 10},
	{nodes: 2, sigma: 0.05},
	{nodes: 2, sigma: 0.05, jitter: 5e-6, tick: 1e-6},
	{nodes: 4, sigma: 0.05},
	lateWorlds[3],
	lateWorlds[5],
}

func (w lateWorld) trial(coll string, seed int, faults ...string) trial {
	return trial{
		nodes: w.nodes, seed: uint64(seed), jitter: w.jitter, tick: w.tick, collective: coll, min: 64 << 10, max: cmp.Or(w.most, 4<<20), //nolint:gosec // small
		faults: append(faults, fmt.Sprintf("noise:sigma=%g", w.sigma)),
	}
}

// lateGPU plants late GPUs. count is their number, and each is late by lo to hi seconds. All must
// be named.
func lateGPU(w lateWorld, count int, lo, hi float64) row {
	what := "late GPU"
	if count > 1 {
		what = fmt.Sprintf("%d late GPUs", count)
	}
	return late(what, w, lo, hi, func(rng *rand.Rand) (planted, faults []string) {
		for _, rank := range rng.Perm(w.nodes * gpus)[:count] {
			planted = append(planted, fmt.Sprintf("rank %d", rank))
			faults = append(faults, fmt.Sprintf("late_gpu:node=%d,gpu=%d,seconds=%g", rank/gpus, rank%gpus, between(rng, lo, hi)))
		}
		return planted, faults
	})
}

// lateNode plants a late node. The node must be named, and none of its GPUs.
func lateNode(w lateWorld, lo, hi float64) row {
	return late("late node", w, lo, hi, func(rng *rand.Rand) (planted, faults []string) {
		node := rng.IntN(w.nodes)
		return []string{fmt.Sprintf("node %d", node)}, []string{fmt.Sprintf("late_node:node=%d,seconds=%g", node, between(rng, lo, hi))}
	})
}

// late returns the row for the faults that draw returns. draw also returns the names of the late
// GPUs or nodes.
func late(what string, w lateWorld, lo, hi float64, draw func(*rand.Rand) (planted, faults []string)) row {
	name := fmt.Sprintf("%s, %.3g to %.3g µs: %s", what, 1e6*lo, 1e6*hi, w)
	return row{name: name, try: func(name string, seed int) (o outcome, err error) {
		rng := source(name, seed)
		coll := allWait[rng.IntN(len(allWait))]
		planted, faults := draw(rng)
		found, err := lateIn(w.trial(coll, seed, faults...))
		if err != nil {
			return o, err
		}
		hits := 0
		for _, r := range found {
			hits += one(slices.Contains(planted, r))
		}
		o.named, o.wrong = hits == len(planted), hits < len(found)
		found, err = lateIn(w.trial(coll, seed))
		o.alarm = len(found) > 0
		return o, err
	}}
}

// slowLinkNamesNoRank plants a slow link, which delays all ranks equally, so that no rank must be
// named as late.
func slowLinkNamesNoRank(w lateWorld) row {
	return row{name: "slow link, no late rank: " + w.String(), kind: namesNoRank, try: func(name string, seed int) (o outcome, err error) {
		rng := source(name, seed)
		coll := allWait[rng.IntN(len(allWait))]
		fault, _, _ := slowLink(w.nodes, rng)
		found, err := lateIn(w.trial(coll, seed, fault))
		o.wrong = len(found) > 0
		return o, err
	}}
}

// lateIn lists the ranks and nodes that the report names, or "candidates" if the report cannot
// distinguish them.
func lateIn(t trial) ([]string, error) {
	rec, err := t.steady()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, world := range judge.Late(rec) {
		for _, l := range world.Late {
			if l.Rank < 0 {
				out = append(out, fmt.Sprintf("node %d", l.Node))
			} else {
				out = append(out, fmt.Sprintf("rank %d", l.Rank))
			}
		}
		if len(world.Candidates) > 0 {
			out = append(out, "candidates")
		}
	}
	return out, nil
}
