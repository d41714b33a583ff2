package planted

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"zbench/bench/run/record"
)

// slowLink draws a link between two GPUs of a node, and the share of its bandwidth that is left.
func slowLink(nodes int, rng *rand.Rand) (fault string, a, b int) {
	node, x, y := rng.IntN(nodes), rng.IntN(gpus), rng.IntN(gpus-1)
	if y >= x {
		y++
	}
	return linkFault(node, x, y, rng), node*gpus + x, node*gpus + y
}

func linkFault(node, x, y int, rng *rand.Rand) string {
	return fmt.Sprintf("slow_link:node=%d,a=%d,b=%d,left=%g", node, x, y, between(rng, 0.3, 0.8))
}

// linkWorld is a world in which a slow link is looked for, with groups of one size. Exactly one
// group contains the link, and no smaller group does.
type linkWorld struct {
	nodes, group int
	sigma        float64
}

// linkWorlds are the worlds with a slow link. Groups of two find a link within a pair. Groups of
// four find a link within half a node. Comparing nodes finds any other link.
var linkWorlds = []linkWorld{
	{1, 2, 0.01},
	{1, 2, 0.05},
	{8, 2, 0.05},
	{8, 4, 0.05},
	{8, 8, 0.01},
	{8, 8, 0.05},
}

func (w linkWorld) String() string {
	return fmt.Sprintf("%d ranks in groups of %d, noise %.0f %%", w.nodes*gpus, w.group, 100*w.sigma)
}

// slowLinkIsNamed plants a link that keeps 30 to 80 % of its bandwidth. The group that contains the
// link must be named as slow.
func slowLinkIsNamed(w linkWorld) row {
	return row{name: "slow link, 30 to 80 % left: " + w.String(), try: func(name string, seed int) (o outcome, err error) {
		rng := source(name, seed)
		node, first := rng.IntN(w.nodes), w.group*rng.IntN(gpus/w.group)
		// With one end in each half of the group, no smaller group contains the link.
		a, b := first+rng.IntN(w.group/2), first+w.group/2+rng.IntN(w.group/2)
		coll := anyRing(rng)
		t := trial{nodes: w.nodes, seed: uint64(seed), collective: coll, groups: []int{2, 4, 8}, min: 1 << 20, max: 64 << 20} //nolint:gosec // small
		noise := fmt.Sprintf("noise:sigma=%g", w.sigma)
		t.faults = []string{linkFault(node, a, b, rng), noise}
		slow, err := slowIn(t)
		if err != nil {
			return o, err
		}
		for g := range slow {
			holds := g.first <= node*gpus+first && node*gpus+first+w.group <= g.first+g.ranks
			o.named = o.named || holds && g.ranks == w.group
			o.wrong = o.wrong || !holds
		}
		t.faults = []string{noise}
		slow, err = slowIn(t)
		o.alarm = len(slow) > 0
		return o, err
	}}
}

// group is a run of consecutive ranks that was reported as slow.
type group struct{ first, ranks int }

// slowIn lists the groups that the warnings of the record name.
func slowIn(t trial) (map[group]bool, error) {
	rec, err := t.steady()
	if err != nil {
		return nil, err
	}
	out := map[group]bool{}
	for _, r := range rec.Results {
		if slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == "slow_group" }) {
			for _, first := range r.SlowestGroup.Slow {
				out[group{first, r.Ranks}] = true
			}
		}
	}
	return out, nil
}
