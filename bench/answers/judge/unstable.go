package judge

import (
	"fmt"
	"maps"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/record"
)

// A group is unstable if at least UnstableShare of its launches are slow, and if chance does not explain so many
// slow launches. The test assumes that UsualSlow of all launches are slow; quiet machines have fewer.
const (
	UsualSlow     = 0.01
	UnstableShare = 0.04
)

// Instability is a communicator whose launches took record.SlowTimes times the median or longer, more often than
// chance explains. One of its components is sometimes slow.
type Instability struct {
	// FirstRank is the communicator's first rank. Ranks is the number of its ranks, and Stride is their distance (0
	// for neighbours). Groups is the number of such communicators that run at once.
	FirstRank, Ranks, Stride, Groups int
	// Launches is the number of examined launches, and Slow is the number of slow ones. Looked is the number of
	// examined cases, and Cases is the number of cases with slow launches.
	Slow, Launches, Cases, Looked int
	// Example is a case with slow launches.
	Example string
}

// splitOf identifies the communicators of a result.
type splitOf struct{ ranks, stride, groups, nodes, perProcess int }

// Unstable returns the communicators that are sometimes slow, over all cases of a record: one case
// has too few launches.
func Unstable(rec *record.Record) []Instability {
	order, pooled := communicators(rec)
	return slices.Concat(slice.Map(order, func(s splitOf) []Instability { return s.unstable(pooled[s]) })...)
}

// communicators groups the results with isolated launches by communicator.
func communicators(rec *record.Record) (order []splitOf, pooled map[splitOf][]*record.Result) {
	alone := slice.Where(rec.Each(), func(r *record.Result) bool {
		return r.Status == record.OK && r.Isolated != nil && r.Isolated.MaxOfRanks != nil
	})
	return slice.Group(alone, func(r *record.Result) splitOf {
		return splitOf{r.Ranks, r.Stride, max(r.Groups, 1), r.Nodes, r.GPUsPerProcess}
	})
}

// `unstable` returns the groups of a split whose launches are slow beyond chance.
func (s splitOf) unstable(results []*record.Result) []Instability {
	all, launches := s.slowLaunches(results)
	return slice.Where(all, func(one Instability) bool {
		return float64(one.Slow)/float64(launches) >= UnstableShare && stat.BinomialTail(one.Slow, launches, UsualSlow)*float64(s.groups) < beyond
	})
}

// slowLaunches pools the results of one split. It returns the communicators with slow launches, and the number of
// launches of each.
func (s splitOf) slowLaunches(results []*record.Result) (out []Instability, launches int) {
	found := map[int]*Instability{}
	for _, r := range results {
		launches += r.Isolated.MaxOfRanks.N
		if r.SlowLaunches == nil {
			continue
		}
		for _, g := range r.SlowLaunches.Groups {
			if g.FirstRank < 0 || g.Count < 1 || g.Count > r.Isolated.MaxOfRanks.N {
				continue // an edited file
			}
			one := found[g.FirstRank]
			if one == nil {
				one = &Instability{FirstRank: g.FirstRank, Ranks: s.ranks, Stride: s.stride, Groups: s.groups, Looked: len(results)}
				found[g.FirstRank] = one
			}
			one.Slow += g.Count
			one.Cases++
			one.Example = r.Collective + " " + unit.Bytes(r.Bytes)
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(found)) {
		found[rank].Launches = launches
		out = append(out, *found[rank])
	}
	return out, launches
}

// `who` names the group.
func (i Instability) who() string {
	if i.Groups > 1 {
		return "the group of " + record.GroupText(i.FirstRank, i.Ranks, i.Stride)
	}
	return "all " + unit.Count(i.Ranks, "rank")
}

// Text names the group and the cases in a sentence.
func (i Instability) Text() string {
	return fmt.Sprintf("%s: %s of %s took %g times the median or more, in %d of %s (%s for one)", i.who(),
		unit.Percent(float64(i.Slow)/float64(i.Launches)), unit.Count(i.Launches, "launch"), record.SlowTimes, i.Cases, unit.Count(i.Looked, "case"), i.Example)
}

// UnstableRemedy returns the remedy for a group that is sometimes slow.
func UnstableRemedy(rec *record.Record) string {
	return "look at the error counters of the links and NICs of those ranks (retries, link flaps, those of " + backend.ToolOf(rec.Source.Backend) + ") and for other jobs there; " +
		"run it again with --groups 2,4,8 and --strides to see which ranks share it"
}
