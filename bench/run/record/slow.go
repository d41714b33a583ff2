package record

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// slowest finds the slowest group by the mean of the passes' medians; nil if the passes have no groups, or
// have different groups.
func (s *samples) slowest(ranks, stride int) *SlowestGroup {
	if len(s.groups) == 0 || len(s.groups[0]) < 2 {
		return nil
	}
	sum := make([]float64, len(s.groups[0]))
	for _, pass := range s.groups {
		if len(pass) != len(sum) {
			return nil
		}
		for i, v := range pass {
			sum[i] += v / float64(len(s.groups))
		}
	}
	worst := slices.Max(sum)
	out := &SlowestGroup{
		FirstRank: firstRank(slices.Index(sum, worst), ranks, stride), Median: worst,
		Typical: stat.Quantile(sum, 0.5), Fastest: slices.Min(sum),
	}
	for g, median := range sum {
		if median > (1+slowGroupShare)*out.Typical {
			out.Slow = append(out.Slow, firstRank(g, ranks, stride))
		}
	}
	return out
}

// maxNamedGroups is the number of slow groups that a message names; the record has all.
const maxNamedGroups = 4

// slowGroups returns the warning about slow groups, with the remedy.
func (r *Result) slowGroups() (message, hint string) {
	g := r.SlowestGroup
	more := 100 * (g.Median/g.Typical - 1)
	hint = "check the links and GPUs of those ranks, and run again with --groups 2"
	if r.Stride > 0 && r.Nodes > 1 {
		hint = "check the NICs, cables and switch ports of those GPUs on every node, and run again with a larger --strides: its groups are on fewer nodes"
	}
	if len(g.Slow) < 2 {
		return fmt.Sprintf("the group of %s takes %.0f %% longer than the typical one", r.groupFrom(g.FirstRank), more), hint
	}
	names := slice.Map(g.Slow[:min(len(g.Slow), maxNamedGroups)], r.groupFrom)
	if rest := len(g.Slow) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	if len(g.Slow) == 2 && r.Stride > 0 && r.Nodes > 1 {
		hint = "two slow groups may share a NIC, for example after a NIC failure: " + hint
	}
	return fmt.Sprintf("%d of %d groups take up to %.0f %% longer than the typical one: %s", len(g.Slow), r.Groups, more, strings.Join(names, "; ")), hint
}

// groupFrom names the group with a given first rank.
func (r *Result) groupFrom(first int) string { return GroupText(first, r.Ranks, r.Stride) }

// GroupText names a group by its first rank, its number of ranks and its stride, which is 0 for neighbours.
func GroupText(first, ranks, stride int) string {
	switch last := first + max(stride, 1)*(ranks-1); {
	case stride > 0 && ranks == 2:
		return fmt.Sprintf("ranks %d and %d", first, last)
	case stride > 0:
		return fmt.Sprintf("ranks %d, %d, … %d", first, first+stride, last)
	default:
		return fmt.Sprintf("ranks %d to %d", first, last)
	}
}

// SlowTimes is the multiple of the median of its group and pass from which a launch counts as slow.
// With noise of 10 % one launch in 40,000 is that slow.
const SlowTimes = 1.5

// SlowLaunches counts the isolated launches of a case of at least 1.5 times (SlowTimes) the median.
// A flaky link does not change medians, but shows here.
type SlowLaunches struct {
	// Launches is the number of launches of each group, over all passes.
	Launches int `json:"launches" jsonschema:"minimum=1"`
	// Groups are the groups with slow launches, in the order of their ranks.
	Groups []SlowGroup `json:"groups"`
}

// SlowGroup is a group's number of slow launches.
type SlowGroup struct {
	// First rank of the group in the whole world.
	FirstRank int `json:"first_rank"`
	// Number of its slow launches.
	Count int `json:"count" jsonschema:"minimum=1"`
}

// CountSlow counts the launches that took at least SlowTimes their median.
func CountSlow(seconds []float64) int {
	if len(seconds) == 0 {
		return 0
	}
	limit := SlowTimes * stat.Quantile(seconds, 0.5)
	return slice.Count(seconds, func(s float64) bool { return s >= limit })
}

// slowCounts adds up the slow launches of all passes by group.
type slowCounts struct {
	launches int
	counts   []int
}

// add adds a pass. For a single communicator it counts the launches itself.
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

// Method `of` returns the count for a result, or nil if no launch was slow.
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

// firstRank returns the first rank of the g-th simultaneous group.
func firstRank(g, ranks, stride int) int {
	if stride > 0 {
		return g
	}
	return g * ranks
}
