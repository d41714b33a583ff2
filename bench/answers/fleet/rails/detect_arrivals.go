package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// Call is one rank's part in one collective of a running job.
type Call struct {
	Rank       int
	Collective string
	Bytes      int64
	// Start and Duration are in seconds. Clocks of ranks may differ.
	Start, Duration float64
}

// Arrival summarises a rank's arrival times from its calls.
type Arrival struct {
	// Node is the index of the rank's node, −1 if unknown.
	Rank, Node int
	// When is the median delay in seconds behind the median rank, over the collectives at which the
	// rank arrived last.
	When float64
	// Waited is the median share of the collective's time that the median rank waits, over the
	// collectives at which the rank arrived last.
	Waited float64
	// Last is the number of collectives at which the rank arrived last, of the Calls that it took part in.
	// Last and Calls leave out collectives at which several ranks arrived last.
	Last, Calls int
	// `chance` is the expected number of last arrivals if all ranks arrived last equally often. `late` holds
	// the delay at each collective at which the rank arrived last, as a share of the collective's time.
	// `when` holds the same delays in seconds.
	chance     float64
	late, when []float64
	// `met` is true if the rank took part in a compared collective.
	met bool
}

// Lateness is the result for a running job. The components of its findings are nodes and ranks. For a rank,
// Part is Rank and A is the number of the rank.
type Lateness struct {
	Verdict
	// Arrivals are all ranks, starting with the rank for which the other ranks wait most.
	Arrivals []Arrival
	// Collectives is the number of compared collectives. Typical is their median duration in seconds.
	Collectives int
	Typical     float64
	// Enough is the number of last arrivals, of Collectives, that excludes chance.
	Enough int
	// A rank is far behind if its delay exceeds the share `limit` of a collective's time.
	limit float64
}

// Rank is a rank of a running job.
const Rank Part = "rank"

const (
	// lastChance is the probability, over all ranks, below which a number of last arrivals is not taken for
	// chance. farChance is the same probability for a number of arrivals far behind.
	lastChance = 1e-4
	farChance  = 1e-6
	// lateShare is the smallest share of a collective's time that counts as far behind.
	lateShare = 0.05
	// leastWait is the share of the time that the other ranks must wait for a rank to be named. A rank with
	// a smaller share is only noted.
	leastWait = 0.005
	// leastCalls is the least number of collectives of a job that is judged.
	leastCalls = 5
)

// Arrivals finds the ranks that arrive last at the collectives of a job. All ranks leave a collective
// together, so the last rank to arrive has the shortest duration, whatever the clocks say. `node` gives the
// node of each rank; nil if unknown.
//
// A test against chance decides which rank arrives last; the lost time is stated separately.
//
// The k-th calls of a collective and size on all ranks, in the order of Start, are assumed to be one
// collective. A collective that less than half of the ranks have is left out.
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

// `compared` gives the gate, for each rank, the share of the time that is not spent on waiting for that rank.
// The limit is the share lost to a rank that is far behind at just enough collectives to exclude chance.
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

// lastOf returns the median duration of a collective and the call of the last rank; `alone` is false if
// several ranks share the shortest duration.
func lastOf(one []Call) (middle float64, last Call, alone bool) {
	durations := slice.Map(one, func(c Call) float64 { return c.Duration })
	last = slices.MinFunc(one, func(a, b Call) int { return cmp.Compare(a.Duration, b.Duration) })
	return median(durations), last, slice.Count(durations, func(d float64) bool { return d == last.Duration }) == 1
}

// collect summarises the ranks' collectives, the latest rank first.
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

// match groups the calls of all ranks into collectives. The first calls of a collective and size on all
// ranks form one group, the second calls form the next group, and so on.
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

// cost returns the share of all collectives' time that the other ranks wait for the rank.
func (a Arrival) cost() float64 {
	return min(1, a.Waited) * float64(a.Last) / float64(max(a.Calls, 1))
}

// byChance returns the probability that a rank, or a node's ranks, arrive last so often by chance.
func byChance(last, calls int, chance float64) float64 {
	if calls == 0 {
		return 1
	}
	return stat.BinomialTail(last, calls, min(1, chance/float64(calls)))
}

// power sets Enough. If even a rank that is last at every collective could be chance, the ranks are not
// checked.
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

// name makes findings of ranks that arrive last too often, and of nodes with such ranks.
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

// sureOf converts a probability of chance into a confidence.
func sureOf(p float64) float64 {
	if p < farChance {
		return 0.95
	}
	return 0.8
}

// node returns the finding of a node whose ranks together arrive last too often, if no single rank causes
// it.
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

// oftenFar reports whether a rank is far behind, and last, in at least a tenth of its collectives,
// and more often than chance explains at the rate of the other ranks.
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

// `beyond` counts the collectives at which a rank is last and its delay exceeds a limit.
func (a Arrival) beyond(limit float64) int {
	return slice.Count(a.late, func(late float64) bool { return late > limit })
}

func micros(seconds float64) string { return fmt.Sprintf("%.3g µs", seconds*1e6) }
