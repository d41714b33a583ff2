package planted

import (
	"fmt"
	"math/rand/v2"

	"zbench/bench/answers/judge"
	"zbench/bench/run/record"
)

// flakyIsNamed plants a node whose links are slow in a part of the launches. The group of this node
// must be reported as unstable, and no other group.
func flakyIsNamed(w linkWorld, part float64) row {
	return row{name: fmt.Sprintf("link slow %.0f %% of the time: %s", 100*part, w), try: func(name string, seed int) (o outcome, err error) {
		rng := source(name, seed)
		node := rng.IntN(w.nodes)
		t := trial{nodes: w.nodes, seed: uint64(seed), collective: anyRing(rng), groups: []int{w.group}, min: 64 << 10, max: 64 << 20, factor: 4} //nolint:gosec // small
		noise := fmt.Sprintf("noise:sigma=%g", w.sigma)
		t.faults = []string{fmt.Sprintf("flaky_link:node=%d,part=%g,times=%g", node, part, between(rng, 2, 8)), noise}
		unstable, err := unstableIn(t)
		if err != nil {
			return o, err
		}
		for _, g := range unstable {
			holds := g.first <= node*gpus && node*gpus < g.first+g.ranks
			o.named = o.named || holds && g.ranks == w.group
			o.wrong = o.wrong || !holds
		}
		t.faults = []string{noise}
		unstable, err = unstableIn(t)
		o.alarm = len(unstable) > 0
		return o, err
	}}
}

// anyRing draws one of the collectives with which trainers reduce gradients.
func anyRing(rng *rand.Rand) string {
	return []string{"all_reduce", "reduce_scatter", "all_gather"}[rng.IntN(3)]
}

// unstableIn lists the groups that the report names as unstable.
func unstableIn(t trial) (out []group, err error) {
	rec, err := t.run()
	if err != nil {
		return nil, err
	}
	for _, u := range judge.Unstable(rec) {
		out = append(out, group{u.FirstRank, u.Ranks})
	}
	return out, nil
}

// steady runs a trial without such a fault. It returns an error if any group is named as unstable.
func (t trial) steady() (*record.Record, error) {
	rec, err := t.run()
	if err != nil {
		return nil, err
	}
	if u := judge.Unstable(rec); len(u) > 0 {
		return nil, fmt.Errorf("named as unstable: %+v", u)
	}
	return rec, nil
}
