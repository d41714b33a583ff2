package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// What the others must wait for a late rank to be worth a name: in seconds, or
// as a share of the time of a launch.
const (
	lateSeconds = 1e-6
	lateShare   = 0.02
)

// World tells the ranks of one result from those of another.
type World struct{ Ranks, Nodes, GPUsPerProcess int }

// Lateness says who came last in one world of ranks.
type Lateness struct {
	World World
	// Launches and Results are how much was looked at; Spread is the median
	// difference between the slowest and the fastest rank, in seconds.
	Launches, Results int
	Spread            float64
	// Late are the ranks that came last beyond chance and kept the others
	// waiting, the most frequent first. Nearly always there is none.
	Late []LateRank
}

// LateRank is a rank the others wait for.
type LateRank struct {
	// Node and GPU count from 0; -1 where the record does not tell.
	Rank, Node, GPU int
	Host            string
	// Share is the part of the launches in which it came last. Wait is the
	// median spread between the ranks in those launches, in seconds, WaitShare
	// the same over the time of a launch.
	Share, Wait, WaitShare float64
}

// Late names the ranks that come last too often to be chance and by enough to
// matter, in every world of the record. Only collectives in which every rank
// waits for every other are looked at: elsewhere the shortest interval is not
// the late rank's.
func Late(rec *record.Record) []Lateness {
	var order []World
	pooled := map[World][]*record.Result{}
	for i := range rec.Results {
		r := &rec.Results[i]
		if r.Status != record.OK || r.Ranks < 2 || r.Groups > 1 || len(lateCounts(r)) == 0 || !waitsForAll(r.Collective) {
			continue
		}
		w := World{r.Ranks, r.Nodes, r.GPUsPerProcess}
		if pooled[w] == nil {
			order = append(order, w)
		}
		pooled[w] = append(pooled[w], r)
	}
	out := make([]Lateness, len(order))
	for i, w := range order {
		out[i] = lateness(w, pooled[w], rec.World)
	}
	return out
}

// waitsForAll reports whether no rank is done before every rank has begun: what
// each receives is made of something from every rank.
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

// lateCounts are a result's counts, without those that cannot be, and nothing
// where the spread that goes with them is not known.
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
	counts := map[int]int{}
	waits, shares := map[int][]weighted{}, map[int][]weighted{}
	var all []weighted
	for _, r := range results {
		spread := r.Isolated.Spread.Median
		launches := 0
		for _, c := range lateCounts(r) {
			launches += c.Count
			counts[c.Rank] += c.Count
			waits[c.Rank] = append(waits[c.Rank], weighted{spread, c.Count})
			shares[c.Rank] = append(shares[c.Rank], weighted{spread / r.Isolated.MaxOfRanks.Median, c.Count})
		}
		l.Launches += launches
		all = append(all, weighted{spread, launches})
	}
	l.Spread = weightedMedian(all)
	for _, rank := range slices.Sorted(maps.Keys(counts)) {
		late := located(rank, w, where)
		late.Share = float64(counts[rank]) / float64(l.Launches)
		late.Wait, late.WaitShare = weightedMedian(waits[rank]), weightedMedian(shares[rank])
		if beyondChance(counts[rank], l.Launches, w.Ranks) && (late.Wait >= lateSeconds || late.WaitShare >= lateShare) {
			l.Late = append(l.Late, late)
		}
	}
	slices.SortStableFunc(l.Late, func(a, b LateRank) int { return cmp.Compare(b.Share, a.Share) })
	return l
}

// located finds a rank's node and GPU: ranks are numbered node by node.
func located(rank int, w World, where record.World) LateRank {
	l := LateRank{Rank: rank, Node: -1, GPU: -1}
	per := where.GPUsPerNode
	if per <= 0 && w.Nodes > 0 && w.Ranks%w.Nodes == 0 {
		per = w.Ranks / w.Nodes
	}
	if per > 0 {
		l.Node, l.GPU = rank/per, rank%per
		if len(where.Hosts) > l.Node {
			l.Host = where.Hosts[l.Node]
		}
	}
	return l
}

// name is the rank with its place, as far as that is known.
func (l LateRank) name() string {
	s := fmt.Sprintf("Rank %s", comma(int64(l.Rank)))
	switch {
	case l.Host != "":
		s += fmt.Sprintf(" (%s, GPU %d)", l.Host, l.GPU)
	case l.Node >= 0:
		s += fmt.Sprintf(" (node %d, GPU %d)", l.Node, l.GPU)
	}
	return s
}

// text says who is late in a sentence.
func (l LateRank) text() string {
	return l.name() + fmt.Sprintf(" came last in %s of the launches; the others wait %s for it, %s of the time of a launch",
		percent(l.Share), unit.Seconds(l.Wait), smallPercent(l.WaitShare))
}

// lateRemedy is what to do about a late rank.
const lateRemedy = "look at that GPU's clocks, temperature and throttling (amd-smi metric), at other processes on it, " +
	"and at its host process's CPU and NUMA binding; then swap it with another GPU and see whether the lateness moves along. " +
	"Run it again when it is mended: of several late GPUs only the latest comes last."

// lateBlocks say who is late, and of how many launches that holds.
func lateBlocks(rec *record.Record) []Block {
	var out []Block
	worlds := Late(rec)
	for _, l := range worlds {
		if len(worlds) > 1 {
			out = append(out, Heading{said(strings.Join([]string{
				plural(int64(l.World.Ranks), "rank"), plural(int64(l.World.Nodes), "node"),
				plural(int64(l.World.GPUsPerProcess), "GPU") + " per process",
			}, " · "))})
		}
		looked := fmt.Sprintf("%s of %s", plural(int64(l.Launches), "launch"), plural(int64(l.Results), "result"))
		if len(l.Late) == 0 {
			out = append(out, Paragraph{Text: said(fmt.Sprintf("Nobody: %s were looked at, and no rank came last more often than chance explains while the others waited %s or %s of the time. "+
				"The ranks differ by %s (median).", looked, timeLabel(lateSeconds), percent(lateShare), unit.Seconds(l.Spread)))})
			continue
		}
		out = append(out, Paragraph{Text: said(looked + " were looked at; by chance every rank comes last in " + percent(1/float64(l.World.Ranks)) + " of them.")})
		var ranks []string
		for _, rank := range l.Late {
			ranks = append(ranks, rank.text()+".")
		}
		out = append(append(out, listed("", ranks)...), whatToDo(lateRemedy))
	}
	return out
}
