package judge

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
)

// Smallest wait for a late rank that is worth naming: in seconds, or as a share of a launch's time.
const (
	lateSeconds = 1e-6
	lateShare   = 0.02
)

// World identifies the ranks of a result.
type World struct{ Ranks, Nodes, GPUsPerProcess int }

// Lateness has the late ranks of one world.
type Lateness struct {
	World World
	// Launches and Results are the numbers of examined launches and results. Spread is the median
	// difference between the slowest and the fastest rank, in seconds. Skew is the largest such
	// difference as a share of a launch, over the results with the warning skew.
	Launches, Results int
	Spread, Skew      float64
	// Late are the units that came last more often than chance explains and kept the others waiting, the most
	// frequent first; usually none. Candidates came last more often than chance explains only as a set; the
	// launches do not decide which of them are late.
	Late, Candidates []LateUnit
	// tool is the program of the GPUs' vendor.
	tool string
	// counts has for each rank the number of launches in which it came last. shares has the spreads in
	// these launches, as shares of a launch.
	counts []int
	shares [][]weighted
}

// LateUnit is the cause of waiting: a rank, or a node as a whole.
type LateUnit struct {
	// Rank, Node and GPU count from 0. Rank is -1 for a node. Node is -1 if unknown. GPU is -1 if unknown, and for
	// a node.
	Rank, Node, GPU int
	// Ranks is the number of ranks of the unit.
	Ranks int
	Host  string
	// Share is the share of launches in which the unit came last. Wait is the median spread between the
	// ranks in those launches, in seconds; WaitShare is that spread as a share of a launch.
	Share, Wait, WaitShare float64
}

// Late returns the ranks and nodes that come last too often for chance and by enough to matter, in every world of
// the record. It only uses collectives in which every rank waits for all others: in other collectives the late
// rank does not have the shortest interval.
func Late(rec *record.Record) []Lateness {
	waited := slice.Where(rec.Each(), func(r *record.Result) bool {
		return r.Status == record.OK && r.Ranks > 1 && r.Groups < 2 && len(lateCounts(r)) > 0 && waitsForAll(r.Collective)
	})
	order, pooled := slice.Group(waited, func(r *record.Result) World { return World{r.Ranks, r.Nodes, r.GPUsPerProcess} })
	return slice.Map(order, func(w World) Lateness {
		l := lateness(w, pooled[w], rec.World)
		l.tool = backend.ToolOf(rec.Source.Backend)
		return l
	})
}

// waitsForAll reports whether no rank can finish a collective before every rank has begun, because each rank
// receives data from every rank.
func waitsForAll(name string) bool {
	c, err := collective.ByName(name)
	if err != nil {
		return false
	}
	const ranks = 4
	for rank := range ranks {
		r := c.Result(rank, ranks, 0)
		if r.Blocks == 0 || !r.Reduced && (r.Blocks < ranks || r.Step == 0) {
			return false
		}
	}
	return true
}

// lateCounts returns a result's valid counts of late ranks; nil if the spread is unknown.
func lateCounts(r *record.Result) []record.LateCount {
	t := r.Isolated
	if t == nil || t.MaxOfRanks == nil || t.Spread == nil || !(t.MaxOfRanks.Median > 0) || !(t.Spread.Median >= 0) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Late), func(c record.LateCount) bool {
		return c.Rank < 0 || c.Rank >= r.Ranks || c.Count <= 0
	})
}

// lateness pools the results of one world.
func lateness(w World, results []*record.Result, where record.World) Lateness {
	l := Lateness{World: w, Results: len(results)}
	counts := make([]int, w.Ranks)
	waits, shares := make([][]weighted, w.Ranks), make([][]weighted, w.Ranks)
	var all []weighted
	for _, r := range results {
		spread := r.Isolated.Spread.Median
		share := spread / r.Isolated.MaxOfRanks.Median
		if share >= lateShare && r.Warned(warnSkew) {
			l.Skew = max(l.Skew, share)
		}
		launches := 0
		for _, c := range lateCounts(r) {
			launches += c.Count
			counts[c.Rank] += c.Count
			waits[c.Rank] = append(waits[c.Rank], weighted{spread, c.Count})
			shares[c.Rank] = append(shares[c.Rank], weighted{share, c.Count})
		}
		l.Launches += launches
		all = append(all, weighted{spread, launches})
	}
	l.Spread = weightedMedian(all)
	units := func(of parts) (out []LateUnit) {
		for _, ranks := range of {
			u := located(ranks, w, where)
			var wait, share []weighted
			for _, rank := range ranks {
				wait, share = append(wait, waits[rank]...), append(share, shares[rank]...)
			}
			u.Share = float64(lastOf(ranks, counts)) / float64(l.Launches)
			if u.Wait, u.WaitShare = weightedMedian(wait), weightedMedian(share); u.Wait >= lateSeconds || u.WaitShare >= lateShare {
				out = append(out, u)
			}
		}
		slices.SortStableFunc(out, func(a, b LateUnit) int {
			return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Rank, b.Rank))
		})
		return out
	}
	late, candidates := lateParts(counts, perNode(w, where))
	l.Late, l.Candidates = units(late), units(candidates)
	l.counts, l.shares = counts, shares
	return l
}

// `enough` reports whether a rank that always came last would be named.
func (l Lateness) enough() bool { return beyondChance(l.Launches, l.Launches, l.World.Ranks) }

// perNode returns the number of ranks per node, 0 if unknown. Ranks are numbered node by node.
func perNode(w World, where record.World) int {
	if where.GPUsPerNode <= 0 && w.Nodes > 0 && w.Ranks%w.Nodes == 0 {
		return w.Ranks / w.Nodes
	}
	return max(where.GPUsPerNode, 0)
}

// located returns the place of a rank, or of all ranks of a node.
func located(ranks []int, w World, where record.World) LateUnit {
	l := LateUnit{Rank: ranks[0], Node: -1, GPU: -1, Ranks: len(ranks)}
	if per := perNode(w, where); per > 0 {
		l.Node, l.GPU = l.Rank/per, l.Rank%per
		if len(where.Hosts) > l.Node {
			l.Host = where.Hosts[l.Node]
		}
	}
	if l.whole() {
		l.Rank, l.GPU = -1, -1
	}
	return l
}

// `whole` reports whether the unit is a node.
func (l LateUnit) whole() bool { return l.Ranks > 1 }

// Name returns the rank with its place, as far as known.
func (l LateUnit) Name() string {
	switch {
	case l.whole() && l.Host != "":
		return "All " + unit.Count(l.Ranks, "GPU") + " of " + l.Host
	case l.whole():
		return fmt.Sprintf("All %s of node %d", unit.Count(l.Ranks, "GPU"), l.Node)
	}
	s := fmt.Sprintf("Rank %s", unit.Comma(l.Rank))
	switch {
	case l.Host != "":
		s += fmt.Sprintf(" (%s, GPU %d)", l.Host, l.GPU)
	case l.Node >= 0:
		s += fmt.Sprintf(" (node %d, GPU %d)", l.Node, l.GPU)
	}
	return s
}

// subject returns the rank or the node as a finding's subject.
func (l LateUnit) subject() *finding.Subject {
	s := &finding.Subject{Kind: finding.Rank, Name: plain.Lower(l.Name())}
	if l.whole() {
		s.Kind = finding.Node
	}
	if l.Host != "" {
		s.Nodes = []string{l.Host}
	}
	return s
}

// text returns a sentence about the late unit, without its full stop.
func (l LateUnit) text() string {
	subject, it := l.Name()+" came last in ", "it"
	if l.whole() {
		subject, it = l.Name()+": one of them came last in ", "that node"
	}
	return subject + fmt.Sprintf("%s of the launches; the others wait %s for %s, %s of the time of a launch",
		unit.Percent(l.Share), unit.Seconds(l.Wait), it, unit.SmallPercent(l.WaitShare))
}

// Texts returns the sentences of a world: the late units, or the candidates.
func (l Lateness) Texts() (out []string) {
	out = slice.Map(l.Late, func(u LateUnit) string { return u.text() + "." })
	if len(l.Candidates) > 0 {
		out = append(out, l.unclear())
	}
	return out
}

// unclear says that some of the candidates are late.
func (l Lateness) unclear() string {
	names := slice.Map(l.Candidates, func(u LateUnit) string { return plain.Lower(u.Name()) })
	share := slice.Sum(l.Candidates, func(u LateUnit) float64 { return u.Share })
	wait := slice.Most(l.Candidates, func(u LateUnit) float64 { return u.Wait })
	which := "ranks"
	if l.Candidates[0].whole() {
		which = "nodes"
	}
	return fmt.Sprintf("Unclear which %s are late: one of the candidates came last in %s of the launches, more than chance explains, and the others wait %s. Candidates: %s.",
		which, unit.Percent(min(share, 1)), unit.Seconds(wait), unit.FirstFew(names, mostCandidates))
}

// Each candidate is named if there are at most mostCandidates candidates.
const mostCandidates = 16

// lateRemedy is the remedy for a late rank, with the tool of its GPU's vendor.
const lateRemedy = "look at that GPU's clocks, temperature and throttling (%s), at other processes on it, " +
	"and at its host process's CPU and NUMA binding; then swap it with another GPU and see whether the lateness moves along. " +
	"Run it again when it is mended: of several late GPUs only the latest comes last."

// lateNodeRemedy is the remedy for a node that is late as a whole: its GPUs share the host that
// launches them.
const lateNodeRemedy = "look at that node's host first, not at one GPU: its CPU clocks and governor, power limits, NUMA binding and other processes " +
	"(compare with another node); then its GPUs' clocks. Run it again when it is mended."

// unclearRemedy is the way to decide between candidates.
const unclearRemedy = "run it again with more launches (--precision 0.001 --max-time 4): the late ones keep coming last, chance does not"

// NoneText states in how many launches no rank was late, and by how much the ranks of a launch differ.
func (l Lateness) NoneText(looked string) string {
	begin, end := "No rank is late. ", ""
	if l.Skew > 0 || !l.enough() {
		begin = "No rank is named. "
	}
	if l.Skew > 0 {
		end = fmt.Sprintf(", in some results by %s of the time of a launch", unit.Percent(l.Skew))
	}
	if !l.enough() {
		end += "; so few launches would not tell a late rank from chance"
	}
	return fmt.Sprintf("%sIn %s no rank came last more often than chance explains while the others waited at least %s or %s of the launch. The ranks of a launch differ by %s (median)%s.",
		begin, looked, fmt.Sprintf("%.3g µs", 1e6*lateSeconds), unit.Percent(lateShare), unit.Seconds(l.Spread), end)
}

// Remedy returns the remedy for the late units.
func (l Lateness) Remedy() string {
	switch {
	case len(l.Late) == 0:
		return unclearRemedy
	case l.Late[0].whole():
		return lateNodeRemedy
	}
	return fmt.Sprintf(lateRemedy, l.tool)
}
