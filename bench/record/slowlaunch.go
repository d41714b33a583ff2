package record

import "zbench/bench/stat"

// SlowTimes is how many times the median of its group and pass a launch takes
// that counts as slow. Noise of 10 % makes one launch in 40,000 that slow.
const SlowTimes = 1.5

// SlowLaunches counts the isolated launches of a case that took 1.5 times (SlowTimes) the
// median or more. A flaky link does not change medians, but shows here.
type SlowLaunches struct {
	// Launches is how many each group made, over all passes.
	Launches int `json:"launches" jsonschema:"minimum=1"`
	// Groups are those with slow launches, in the order of their ranks.
	Groups []SlowGroup `json:"groups"`
}

// SlowGroup is how many of a group's launches were slow.
type SlowGroup struct {
	// First rank of the group in the whole world.
	FirstRank int `json:"first_rank"`
	// Its slow launches.
	Count int `json:"count" jsonschema:"minimum=1"`
}

// CountSlow counts the launches that took SlowTimes their median or more.
func CountSlow(seconds []float64) int {
	if len(seconds) == 0 {
		return 0
	}
	limit, n := SlowTimes*stat.Quantile(seconds, 0.5), 0
	for _, s := range seconds {
		if s >= limit {
			n++
		}
	}
	return n
}

// slowCounts gathers them over the passes, by group.
type slowCounts struct {
	launches int
	counts   []int
}

// add takes a pass. That of one communicator has its launches themselves.
func (c *slowCounts) add(b *IsolatedSamples) {
	slow := b.Slow
	if len(b.Groups) == 0 {
		slow = []int{CountSlow(b.Max)}
	}
	c.launches += len(b.Max)
	for g, n := range slow {
		if g == len(c.counts) {
			c.counts = append(c.counts, 0)
		}
		c.counts[g] += n
	}
}

// of is the result's, nil where no launch was slow.
func (c *slowCounts) of(ranks, stride int) *SlowLaunches {
	out := &SlowLaunches{Launches: c.launches}
	for g, n := range c.counts {
		if n > 0 {
			out.Groups = append(out.Groups, SlowGroup{FirstRank: firstRank(g, ranks, stride), Count: n})
		}
	}
	if len(out.Groups) == 0 {
		return nil
	}
	return out
}

// firstRank is the first rank of the g-th of the groups that run at once.
func firstRank(g, ranks, stride int) int {
	if stride > 0 {
		return g
	}
	return g * ranks
}
