package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/finding"
	"zbench/bench/slice"
	"zbench/bench/stat"
)

// Call is one rank's part in one collective of a running job.
type Call struct {
	Rank       int
	Collective string
	Bytes      int64
	// Start and Duration are in seconds. Clocks of ranks may differ.
	Start, Duration float64
}

// Arrival is what a rank's calls say of when it arrives.
type Arrival struct {
	// Rank with the index of its node, −1 where that is unknown.
	Rank, Node int
	// When is the median time in seconds by which it arrives after the median rank, over the
	// collectives at which it arrived last.
	When float64
	// Waited is the median share of the collective's time for which the median rank waits,
	// over the collectives at which it arrived last.
	Waited float64
	// Last of Calls times it arrived last. Collectives at which several arrived last do not
	// count.
	Last, Calls int
	// chance is how often it would arrive last if all ranks did equally often. late is by how much it was
	// late, as a share of the collective's time, at each collective at which it arrived last; when is that in
	// seconds.
	chance     float64
	late, when []float64
	// met is true of a rank with a collective that was compared.
	met bool
}

// Lateness is the answer for a running job. Its findings' components are ranks (Part
// Rank, A the rank) and nodes.
type Lateness struct {
	Verdict
	// Arrivals are all ranks, the one for which the others wait most first.
	Arrivals []Arrival
	// Collectives is the number of collectives that were compared, Typical the median
	// duration in seconds.
	Collectives int
	Typical     float64
	// Enough is how often a rank must arrive last, of Collectives, to be no chance.
	Enough int
	// limit is the share of a collective's time from which a rank is far behind.
	limit float64
}

// Rank is a rank of a running job.
const Rank Part = "rank"

const (
	// lastChance is the probability, over all ranks, below which arriving last so often is not
	// chance, farChance that below which being far behind so often is not.
	lastChance = 1e-4
	farChance  = 1e-6
	// lateShare of a collective's time is far behind, at least.
	lateShare = 0.05
	// leastWait is the share of the time that the others wait for a rank from which it is
	// named. Less is noted.
	leastWait = 0.005
	// leastCalls is the number of collectives from which a job is judged.
	leastCalls = 5
)

// Arrivals finds the ranks that arrive last at the collectives of a job. All ranks
// leave a collective together, so the one that arrives last has the shortest duration,
// whatever the clocks say. node gives a rank's node; nil is unknown.
//
// Which rank arrives last is tested against chance; how much is lost by it is stated apart.
//
// The k-th call of a collective and size is taken for the same one on all ranks, in the
// order of Start. A collective that less than half of the ranks have is left out.
func Arrivals(calls []Call, node map[int]int) *Lateness {
	l := &Lateness{}
	ranks := map[int]*Arrival{}
	for _, c := range calls {
		if ranks[c.Rank] == nil {
			ranks[c.Rank] = &Arrival{Rank: c.Rank, Node: -1}
			if n, known := node[c.Rank]; known {
				ranks[c.Rank].Node = n
			}
		}
	}
	var typical, off []float64
	for _, one := range match(calls) {
		if len(one) < 2 || 2*len(one) < len(ranks) {
			continue
		}
		middle, last, alone := lastOf(one)
		typical = append(typical, middle)
		for _, c := range one {
			ranks[c.Rank].met = true
			off = append(off, (middle-c.Duration)/max(middle, math.SmallestNonzeroFloat64))
			if alone {
				ranks[c.Rank].Calls++
				ranks[c.Rank].chance += 1 / float64(len(one))
			}
		}
		if a := ranks[last.Rank]; alone {
			a.Last++
			a.when = append(a.when, middle-last.Duration)
			a.late = append(a.late, (middle-last.Duration)/max(middle, math.SmallestNonzeroFloat64))
		}
	}
	l.Collectives = len(typical)
	if l.Collectives < leastCalls || len(ranks) < 3 {
		l.Unchecked = append(l.Unchecked, fmt.Sprintf("%d collectives of %d ranks: at least %d of 3 ranks are compared", l.Collectives, len(ranks), leastCalls))
		l.finish()
		return l
	}
	l.Typical, l.limit = median(typical), max(lateShare, sigmas*Deviation(off))
	l.collect(ranks)
	l.name()
	l.power(len(ranks))
	for _, a := range l.Arrivals {
		l.Ranking = append(l.Ranking, Ranked{Component{Part: Rank, Node: a.Node, A: a.Rank}, a.cost(), a.Last, a.Calls})
	}
	l.compared()
	l.finish()
	return l
}

// compared hands the gate the share of the time for which nobody waits for a rank. The limit is that of a
// rank which is far behind as often as chance does not explain.
func (l *Lateness) compared() {
	if l.Reference == "" {
		return
	}
	calls := slice.Most(l.Arrivals, func(a Arrival) int { return a.Calls })
	of := finding.Compared[Component]{Class: "ranks", Limit: max(leastWait, l.limit*float64(l.Enough)/float64(calls))}
	for _, a := range l.Arrivals {
		of.Figures = append(of.Figures, finding.Figure[Component]{Subject: Component{Part: Rank, Node: a.Node, A: a.Rank}, Rate: 1 - a.cost()})
	}
	l.Compared = append(l.Compared, of)
}

// lastOf is the median duration of a collective and the call of the rank that arrived last;
// alone is false where several have the shortest duration.
func lastOf(one []Call) (middle float64, last Call, alone bool) {
	durations := slice.Map(one, func(c Call) float64 { return c.Duration })
	last = slices.MinFunc(one, func(a, b Call) int { return cmp.Compare(a.Duration, b.Duration) })
	return median(durations), last, slice.Count(durations, func(d float64) bool { return d == last.Duration }) == 1
}

// collect fills in what the ranks' collectives say of them, the latest rank first.
func (l *Lateness) collect(ranks map[int]*Arrival) {
	for _, r := range slices.Sorted(maps.Keys(ranks)) {
		if a := ranks[r]; a.met {
			if a.Last > 0 {
				a.When, a.Waited = median(a.when), median(a.late)
			}
			l.Arrivals = append(l.Arrivals, *a)
		}
	}
	slices.SortStableFunc(l.Arrivals, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(b.cost(), a.cost()), cmp.Compare(b.Last, a.Last))
	})
}

// match groups the calls of all ranks that are one collective: of each rank the first of a kind, the second …
func match(calls []Call) [][]Call {
	type key struct {
		collective string
		bytes      int64
		k          int
	}
	sorted := slices.Clone(calls)
	slices.SortStableFunc(sorted, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	count := map[[2]any]int{}
	order, of := slice.Group(sorted, func(c Call) key {
		own := [2]any{c.Rank, key{c.Collective, c.Bytes, 0}}
		count[own]++
		return key{c.Collective, c.Bytes, count[own]}
	})
	return slice.Map(order, func(k key) []Call { return of[k] })
}

// cost is the share of all collectives' time for which the others wait for the rank.
func (a Arrival) cost() float64 {
	return min(1, a.Waited) * float64(a.Last) / float64(max(a.Calls, 1))
}

// byChance is the probability that chance makes a rank, or a node's ranks, last so often.
func byChance(last, calls int, chance float64) float64 {
	if calls == 0 {
		return 1
	}
	return stat.BinomialTail(last, calls, min(1, chance/float64(calls)))
}

// power says how often a rank must be last to be named. Where not even always is enough,
// nothing is known of the ranks.
func (l *Lateness) power(ranks int) {
	calls := slice.Most(l.Arrivals, func(a Arrival) int { return a.Calls })
	for l.Enough = 1; l.Enough <= calls; l.Enough++ {
		if byChance(l.Enough, calls, float64(calls)/float64(ranks))*float64(ranks) < lastChance {
			l.Reference = "chance"
			return
		}
	}
	most := slices.MaxFunc(l.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.Last, b.Last) })
	l.Unchecked = append(l.Unchecked, fmt.Sprintf("who arrives last: %d collectives of %d ranks are too few to say; rank %d was last at %d of them", calls, ranks, most.Rank, most.Last))
}

// name makes findings of ranks that arrive last too often, and of nodes whose ranks do.
func (l *Lateness) name() {
	_, nodes := slice.Group(l.Arrivals, func(a Arrival) int { return a.Node })
	named := map[int]bool{}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		if f, ok := l.node(node, nodes[node], len(nodes)); ok {
			named[node] = true
			l.Findings = append(l.Findings, f)
		}
	}
	for _, a := range l.Arrivals {
		p := byChance(a.Last, a.Calls, a.chance) * float64(len(l.Arrivals))
		if named[a.Node] || p >= lastChance && !l.oftenFar(a) {
			continue
		}
		c := Component{Part: Rank, Node: a.Node, A: a.Rank}
		says := fmt.Sprintf("arrives last at %d of %d collectives (chance: %.0f), then %s after the median rank", a.Last, a.Calls, a.chance, micros(a.When))
		if a.cost() < leastWait {
			l.Cleared = append(l.Cleared, Cleared{c, fmt.Sprintf("it %s, which costs %.2g %% of their time", says, 100*a.cost())})
			continue
		}
		l.Findings = append(l.Findings, Slow{
			Component: c, Lost: min(1, a.Waited), Intermittent: 2*a.Last < a.Calls,
			Confidence: sureOf(p), Reasons: []string{says},
		})
	}
}

// sureOf is a confidence that follows from a probability of chance.
func sureOf(p float64) float64 {
	if p < farChance {
		return 0.95
	}
	return 0.8
}

// node is the finding of a node of which some rank arrives last too often, but none more often
// than the others of the node.
func (l *Lateness) node(node int, ranks []Arrival, nodes int) (f Slow, ok bool) {
	if node < 0 || nodes < 2 || len(ranks) < 2 {
		return f, false
	}
	last, most, calls, chance, cost := 0, 0, 0, 0.0, 0.0
	var waited, when []float64
	for _, a := range ranks {
		last, chance = last+a.Last, chance+a.chance
		most, calls = max(most, a.Last), max(calls, a.Calls)
		cost += a.cost()
		waited, when = append(waited, a.late...), append(when, a.When)
	}
	p := byChance(last, calls, chance) * float64(nodes)
	one := stat.BinomialTail(most, last, 1/float64(len(ranks))) * float64(len(ranks))
	if p >= lastChance || one < lastChance || cost < leastWait {
		return f, false
	}
	return Slow{
		Component: Component{Part: Node, Node: node}, Lost: min(1, median(waited)), Intermittent: 2*last < calls, Confidence: sureOf(p),
		Reasons: []string{fmt.Sprintf("one of its %d ranks arrives last at %d of %d collectives (chance: %.0f), up to %s after the median rank", len(ranks), last, calls, chance, micros(slices.Max(when)))},
	}, true
}

// oftenFar tells whether a rank is far behind, and last, in at least a tenth of its
// collectives, and more often than chance explains at the rate of the other ranks.
func (l *Lateness) oftenFar(a Arrival) bool {
	others, calls := 0, 0
	for _, o := range l.Arrivals {
		if o.Rank != a.Rank {
			others, calls = others+o.beyond(l.limit), calls+o.Calls
		}
	}
	far := a.beyond(l.limit)
	rate := float64(max(others, 1)) / float64(max(calls, 1))
	return 10*far >= a.Calls && far > 1 && stat.BinomialTail(far, a.Calls, rate)*float64(len(l.Arrivals)) < farChance
}

// beyond counts the collectives at which a rank is last, and late by more than a limit.
func (a Arrival) beyond(limit float64) int {
	return slice.Count(a.late, func(late float64) bool { return late > limit })
}

func micros(seconds float64) string { return fmt.Sprintf("%.3g µs", seconds*1e6) }
