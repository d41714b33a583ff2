package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

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
	// Late is the median time in seconds by which it arrives after the median rank, When
	// the same over the collectives at which it arrived last.
	Late, When float64
	// late are its latenesses.
	late []float64
	// Last of Calls times it arrived last.
	Last, Calls int
}

// Lateness is the answer for a running job. Its findings' components are ranks (Part
// Rank, A the rank) and nodes.
type Lateness struct {
	Verdict
	// Arrivals are all ranks, the latest first.
	Arrivals []Arrival
	// Collectives is the number of collectives that were compared, Typical the median
	// duration in seconds.
	Collectives int
	Typical     float64
	// limit is the lateness in seconds from which a rank is late.
	limit float64
}

// waited is the share of the typical duration that the others wait for a rank.
func (l *Lateness) waited(a Arrival) float64 {
	if l.Typical <= 0 {
		return 0
	}
	return min(1, max(0, a.Late)/l.Typical)
}

// Rank is a rank of a running job.
const Rank Part = "rank"

const (
	// lateShare of the typical duration is the least lateness that is named, lateChance
	// the probability over all ranks below which arriving last is not chance.
	lateShare  = 0.05
	lateChance = 1e-6
	// leastCalls is the number of collectives from which a job is judged.
	leastCalls = 5
)

// Arrivals finds the ranks that arrive last at the collectives of a job. All ranks
// leave a collective together, so the one that arrives last has the shortest duration,
// whatever the clocks say. node gives a rank's node; nil is unknown.
//
// The k-th call of a collective and size is taken for the same one on all ranks, in the
// order of Start. A collective that less than half of the ranks have is left out.
func Arrivals(calls []Call, node map[int]int) *Lateness {
	l := &Lateness{}
	together := match(calls)
	ranks := map[int]*Arrival{}
	late, when := map[int][]float64{}, map[int][]float64{}
	var typical []float64
	for _, c := range calls {
		if ranks[c.Rank] == nil {
			ranks[c.Rank] = &Arrival{Rank: c.Rank, Node: nodeOf(node, c.Rank)}
		}
	}
	for _, one := range together {
		if len(one) < 2 || 2*len(one) < len(ranks) {
			continue
		}
		durations := make([]float64, len(one))
		last := one[0]
		for i, c := range one {
			durations[i] = c.Duration
			if c.Duration < last.Duration {
				last = c
			}
		}
		middle := median(durations)
		typical = append(typical, middle)
		for _, c := range one {
			late[c.Rank] = append(late[c.Rank], middle-c.Duration)
			ranks[c.Rank].Calls++
		}
		ranks[last.Rank].Last++
		when[last.Rank] = append(when[last.Rank], middle-last.Duration)
	}
	l.Collectives = len(typical)
	if l.Collectives < leastCalls || len(ranks) < 3 {
		l.Unchecked = append(l.Unchecked, fmt.Sprintf("%d collectives of %d ranks: at least %d of 3 ranks are compared", l.Collectives, len(ranks), leastCalls))
		l.finish()
		return l
	}
	l.Reference, l.Typical = "the median rank of each collective", median(typical)
	l.collect(ranks, late, when)
	l.name()
	for _, a := range l.Arrivals {
		l.Ranking = append(l.Ranking, Ranked{Component{Part: Rank, Node: a.Node, A: a.Rank}, l.waited(a), a.Last, a.Calls})
	}
	l.finish()
	return l
}

// collect fills in what the ranks' collectives say of them, the latest rank first.
func (l *Lateness) collect(ranks map[int]*Arrival, late, when map[int][]float64) {
	for _, r := range slices.Sorted(maps.Keys(ranks)) {
		if a := ranks[r]; a.Calls > 0 {
			a.late, a.Late = late[r], median(late[r])
			if a.Last > 0 {
				a.When = median(when[r])
			}
			l.Arrivals = append(l.Arrivals, *a)
		}
	}
	slices.SortStableFunc(l.Arrivals, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(b.Late, a.Late), cmp.Compare(b.Last, a.Last))
	})
}

func nodeOf(node map[int]int, rank int) int {
	if n, known := node[rank]; known {
		return n
	}
	return -1
}

// match groups the calls of all ranks that are one collective.
func match(calls []Call) [][]Call {
	type key struct {
		collective string
		bytes      int64
		k          int
	}
	sorted := slices.Clone(calls)
	slices.SortStableFunc(sorted, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	count := map[[2]any]int{}
	at := map[key]int{}
	var out [][]Call
	for _, c := range sorted {
		own := [2]any{c.Rank, key{c.Collective, c.Bytes, 0}}
		k := key{c.Collective, c.Bytes, count[own]}
		count[own]++
		if _, known := at[k]; !known {
			at[k] = len(out)
			out = append(out, nil)
		}
		out[at[k]] = append(out[at[k]], c)
	}
	return out
}

// name makes findings of late ranks, and of nodes whose ranks are late.
func (l *Lateness) name() {
	var off []float64
	for _, a := range l.Arrivals {
		off = append(off, a.Late)
	}
	limit := max(lateShare*l.Typical, sigmas*deviation(off))
	l.limit = limit
	late := map[int]int{}
	all := map[int]int{}
	var found []Arrival
	for _, a := range l.Arrivals {
		all[a.Node]++
		if a.Late > limit || l.oftenLast(a) {
			late[a.Node]++
			found = append(found, a)
		}
	}
	named := map[int]bool{}
	for _, a := range found {
		whole := a.Node >= 0 && all[a.Node] > 1 && len(all) > 1 && float64(late[a.Node]) >= most*float64(all[a.Node])
		if whole && named[a.Node] {
			continue
		}
		f := Finding{
			Component: Component{Part: Rank, Node: a.Node, A: a.Rank}, Lost: min(1, max(a.Late, a.When)/max(l.Typical, math.SmallestNonzeroFloat64)), Intermittent: a.Late <= limit,
			SlowRounds: a.Last, Rounds: a.Calls, Confidence: l.confidence(a, limit),
			Reasons: []string{fmt.Sprintf("arrives last at %d of %d collectives, %s after the median rank", a.Last, a.Calls, micros(max(a.Late, a.When)))},
		}
		if whole {
			named[a.Node] = true
			f.Component = Component{Part: Node, Node: a.Node}
			f.Reasons = []string{fmt.Sprintf("%d of its %d ranks are late, up to %s after the median rank", late[a.Node], all[a.Node], micros(max(a.Late, a.When)))}
		}
		l.Findings = append(l.Findings, f)
	}
}

// oftenLast tells whether a rank is late by more than the limit in at least a tenth of its
// collectives, and more often than chance explains at the rate of the other ranks.
func (l *Lateness) oftenLast(a Arrival) bool {
	others, calls := 0, 0
	for _, o := range l.Arrivals {
		if o.Rank != a.Rank {
			others, calls = others+o.beyond(l.limit), calls+o.Calls
		}
	}
	far := a.beyond(l.limit)
	rate := float64(max(others, 1)) / float64(max(calls, 1))
	return 10*far >= a.Calls && far > 1 && stat.BinomialTail(far, a.Calls, rate)*float64(len(l.Arrivals)) < lateChance
}

// beyond counts the collectives at which a rank is late by more than a limit.
func (a Arrival) beyond(limit float64) int {
	n := 0
	for _, late := range a.late {
		if late > limit {
			n++
		}
	}
	return n
}

func (l *Lateness) confidence(a Arrival, limit float64) float64 {
	return confidence(a.Calls, a.Calls) * min(1, 0.6+0.2*max(a.Late, a.When)/max(limit, math.SmallestNonzeroFloat64))
}

func micros(seconds float64) string { return fmt.Sprintf("%.3g µs", seconds*1e6) }
