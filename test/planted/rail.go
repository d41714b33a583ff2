package planted

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"zbench/bench/run/record"
)

// railWorld is a world in which a slow or dead rail is looked for. The groups are the GPUs with the
// same number on all nodes; each group has a rail of its own.
type railWorld struct {
	nodes int
	sigma float64
}

var railWorlds = []railWorld{{8, 0.01}, {8, 0.05}}

func (w railWorld) String() string {
	return fmt.Sprintf("%d ranks in groups %d apart, noise %.0f %%", w.nodes*gpus, gpus, 100*w.sigma)
}

// railIsNamed plants a fault of a rail that draw returns. The group of this rail must be named as
// slow. The groups in alike may be named, too, and no others.
func railIsNamed(what string, w railWorld, draw func(rng *rand.Rand, node, rail int) (fault string, alike []int)) row {
	return row{name: what + ": " + w.String(), try: func(name string, seed int) (o outcome, err error) {
		rng := source(name, seed)
		node, rail := rng.IntN(w.nodes), rng.IntN(gpus)
		fault, alike := draw(rng, node, rail)
		coll := anyRing(rng)
		t := trial{nodes: w.nodes, seed: uint64(seed), collective: coll, strides: []int{gpus}, min: 1 << 20, max: 64 << 20} //nolint:gosec // small
		noise := fmt.Sprintf("noise:sigma=%g", w.sigma)
		t.faults = []string{fault, noise}
		slow, err := slowRails(t)
		if err != nil {
			return o, err
		}
		o.named = slices.Contains(slow, rail)
		o.wrong = slices.ContainsFunc(slow, func(r int) bool { return r != rail && !slices.Contains(alike, r) })
		t.faults = []string{noise}
		slow, err = slowRails(t)
		o.alarm = len(slow) > 0
		return o, err
	}}
}

func slowRail(rng *rand.Rand, node, rail int) (string, []int) {
	return fmt.Sprintf("slow_rail:node=%d,rail=%d,left=%g", node, rail, between(rng, 0.3, 0.8)), nil
}

func slowLeaf(rng *rand.Rand, _, rail int) (string, []int) {
	return fmt.Sprintf("slow_leaf:rail=%d,left=%g", rail, between(rng, 0.3, 0.8)), nil
}

// deadRail plants a dead rail. Its GPU uses the NIC of the neighbouring GPU, so that two groups
// share a rail. No time shows which of the two has lost its own rail.
func deadRail(_ *rand.Rand, node, rail int) (string, []int) {
	return fmt.Sprintf("dead_rail:node=%d,rail=%d", node, rail), []int{rail ^ 1}
}

// slowRails lists the rails whose groups the warnings of the record name.
func slowRails(t trial) ([]int, error) {
	rec, err := t.steady()
	if err != nil {
		return nil, err
	}
	var out []int
	for _, r := range rec.Results {
		if slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == "slow_group" }) {
			out = append(out, r.SlowestGroup.Slow...)
		}
	}
	return out, nil
}
