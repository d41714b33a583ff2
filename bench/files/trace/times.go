package trace

import (
	"cmp"
	"maps"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
)

// Waiting divides the kernel times of matched calls into waiting and transfer, for each rank. The
// kernels of a call begin when their rank arrives, and all end when the data have been moved. So
// the shortest kernel belongs to the last rank, its duration is the transfer, and all longer
// kernels waited for the difference. No clocks are compared.
type Waiting struct {
	// Calls is the number of calls with times that every rank of their group has in the files.
	Calls int `json:"calls"`
	// Ranks are the waiting and the transfer of each rank.
	Ranks []RankWaiting `json:"ranks"`
	calls []awaited
}

// awaited is a call with the rank that came last and the median wait of the other ranks, in
// seconds.
type awaited struct {
	rank    int
	seconds float64
}

// RankWaiting is the share of one rank.
type RankWaiting struct {
	// Rank is the number of the rank.
	Rank int `json:"rank"`
	// Kernel is the time in which at least one of its kernels ran, in seconds.
	Kernel float64 `json:"kernel_seconds"`
	// Waited is the part of that time spent waiting for another rank, in seconds. Simultaneous
	// waits count once.
	Waited float64 `json:"waited_seconds"`
	// Transfer is the rest of that time, in seconds.
	Transfer float64 `json:"transfer_seconds"`
	// Last is the number of calls to which this rank came last.
	Last int `json:"last"`
	// MadeWait is the least time, in seconds, that any other rank waited at those calls.
	MadeWait float64 `json:"made_wait_seconds"`
}

// key identifies a call of a group on all ranks. Field `at` is the number of the call, or the
// number of earlier calls of its kind.
type key struct {
	kind
	at int64
}

// Type ran is the kernel of a call on one rank: its duration, and its start and end if known.
type ran struct {
	*Span
	seconds float64
}

// Method took returns the kernels of every call, by rank. It includes calls with a time in groups
// of several ranks. It returns nil unless every rank has a number of its own.
func (t *Trace) took() map[key]map[int]ran {
	if !t.numbered() {
		return nil
	}
	all := map[key]map[int]ran{}
	for _, r := range t.Ranks {
		seen := map[kind]int64{}
		for i := range r.Calls {
			c := &r.Calls[i]
			k := key{kindOf(c), seen[kindOf(c)]}
			seen[k.kind]++
			one := ran{c.Kernel, c.Took}
			if c.Kernel != nil {
				one.seconds = c.Kernel.Seconds()
			}
			if one.seconds <= 0 || t.Groups[c.Group].Size < 2 {
				continue
			}
			if c.Sequence >= 0 {
				k.at = c.Sequence
			}
			if all[k] == nil {
				all[k] = map[int]ran{}
			}
			all[k][r.Rank] = one
		}
	}
	return all
}

// tally adds up the waits and transfers of kernels. Simultaneous waits on several streams count
// once. While another stream of the rank moves data, the rank does not count as waiting.
type tally struct {
	waits, moves []Span
	rest         float64 // seconds of waits with an unknown start
}

// add divides a kernel into its wait, which comes first, and its transfer.
func (t *tally) add(r ran, waits float64) {
	if r.Span == nil {
		t.rest += waits
		return
	}
	t.waits = append(t.waits, Span{r.Start, r.Start + waits})
	t.moves = append(t.moves, Span{r.Start + waits, r.End})
}

// waited returns the time spent waiting, in seconds.
func (t *tally) waited() float64 {
	return t.rest + seconds(without(Merge(slices.Clone(t.waits)), Merge(slices.Clone(t.moves))))
}

func seconds(spans []Span) float64 {
	return slice.Sum(spans, Span.Seconds)
}

// shares adds up the matched calls of a rank.
type shares struct {
	tally
	kernels float64 // seconds of kernels with an unknown start
	last    int
	// Field made maps each other rank to the time that it waited at calls to which this rank came
	// last.
	made map[int]*tally
}

// waiting divides the kernel times of calls that all ranks of a group have. It returns nil if there
// are no such calls.
func (t *Trace) waiting() *Waiting {
	w := &Waiting{}
	ranks := map[int]*shares{}
	for k, of := range t.took() {
		if len(of) != t.Groups[k.group].Size {
			continue
		}
		w.Calls++
		order := slices.SortedFunc(maps.Keys(of), func(a, b int) int { return cmp.Or(cmp.Compare(of[a].seconds, of[b].seconds), cmp.Compare(a, b)) })
		for _, rank := range order {
			if ranks[rank] == nil {
				ranks[rank] = &shares{made: map[int]*tally{}}
			}
		}
		last := ranks[order[0]]
		last.last++
		w.calls = append(w.calls, awaited{order[0], of[order[(len(order)+1)/2]].seconds - of[order[0]].seconds})
		for _, rank := range order {
			wait := of[rank].seconds - of[order[0]].seconds
			ranks[rank].add(of[rank], wait)
			if of[rank].Span == nil {
				ranks[rank].kernels += of[rank].seconds
			}
			if rank == order[0] {
				continue
			}
			if last.made[rank] == nil {
				last.made[rank] = &tally{}
			}
			last.made[rank].add(of[rank], wait)
		}
	}
	if w.Calls == 0 {
		return nil
	}
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		of := ranks[rank]
		r := RankWaiting{Rank: rank, Kernel: of.kernels + seconds(Merge(slices.Concat(of.waits, of.moves))), Waited: of.waited(), Last: of.last}
		r.Transfer = max(r.Kernel-r.Waited, 0)
		for _, other := range slices.Sorted(maps.Keys(of.made)) {
			if made := of.made[other].waited(); r.MadeWait == 0 || made < r.MadeWait {
				r.MadeWait = made
			}
		}
		w.Ranks = append(w.Ranks, r)
	}
	return w
}

// mostWaiting selects the calls that decide which rank is late: the calls with the longest waits,
// up to this share of all waiting. If no rank waited at a call, it does not matter which rank came
// last.
const mostWaiting = 0.9

// Latest returns the rank that came last to most of the calls with the longest waits, and the
// number of these calls. The rank is nil unless it stands out: if all ranks were equally likely to
// come last, the result must have a probability of at most 1 in 1,000.
func (w *Waiting) Latest() (late *RankWaiting, last, of int) {
	heavy := slices.SortedFunc(slices.Values(w.calls), func(a, b awaited) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.rank, b.rank))
	})
	left := mostWaiting * slice.Sum(heavy, func(c awaited) float64 { return c.seconds })
	count := map[int]int{}
	for ; of < len(heavy) && left > 0; of++ {
		left -= heavy[of].seconds
		count[heavy[of].rank]++
	}
	worst := slices.MaxFunc(w.Ranks, func(a, b RankWaiting) int { return cmp.Compare(count[a.Rank], count[b.Rank]) })
	if n := len(w.Ranks); n < 2 || stat.BinomialTail(count[worst.Rank], of, 1/float64(n))*float64(n) > 1e-3 {
		return nil, 0, 0
	}
	return &worst, count[worst.Rank], of
}

// Alone compares the kernels of one rank with the rates for their sizes. One rank alone cannot show
// how much of the time is waiting.
type Alone struct {
	// Kernel is the time of all kernels with known bytes, in seconds.
	Kernel float64 `json:"kernel_seconds"`
	// AtPeak is the time, in seconds, that their bytes take at the rates for their sizes.
	AtPeak float64 `json:"at_peak_seconds"`
	// Peak is the bus bandwidth of all kernels together at these rates, in bytes per second.
	Peak float64 `json:"peak"`
	// PeakOf is the source of the rates.
	PeakOf string `json:"peak_of"`
	// Share is the share of the kernel time that these rates do not explain.
	Share float64 `json:"not_transfer"`
}

// Reach returns the time, in seconds, of a collective with a size over a number of ranks, on the
// device of a trace, and the source of the time. The time is 0 if unknown.
type Reach func(collective string, bytes int64, ranks int) (seconds float64, by string)

// leastAlone is the share from which zbench says that a rank's kernels wait. It is large, because
// the reference is a model, and a real fabric may reach only half of it.
const leastAlone = 0.5

// Method alone compares the kernels of a rank with the rates for their sizes. It returns nil if
// these rates are unknown or explain the times.
func (t *Trace) alone(r *Rank, reach Reach) *Alone {
	a, moved := &Alone{}, 0.0
	for i := range r.Calls {
		c := &r.Calls[i]
		k, err := collective.ByName(c.Collective)
		n := t.Groups[c.Group].Size
		if err != nil || c.Kernel == nil || c.Bytes <= 0 || n < 2 {
			continue
		}
		seconds, by := reach(c.Collective, c.Bytes, n)
		if seconds <= 0 {
			continue
		}
		a.Kernel += c.Kernel.Seconds()
		a.AtPeak += seconds
		moved += float64(c.Bytes) * k.BusFactor(n)
		a.PeakOf = by
	}
	if a.Kernel <= 0 || a.AtPeak > a.Kernel {
		return nil
	}
	if a.Peak, a.Share = moved/a.AtPeak, 1-share(a.AtPeak, a.Kernel); a.Share < leastAlone {
		return nil
	}
	return a
}

// Overlap says how much of a rank's collectives ran during computation on its other streams.
type Overlap struct {
	// Rank is the number of the rank; -1 if unknown.
	Rank int `json:"rank"`
	// Busy is the time, in seconds, in which a kernel of a collective ran.
	Busy float64 `json:"busy_seconds"`
	// Hidden is the part of Busy in which another kernel computed, in seconds.
	Hidden float64 `json:"hidden_seconds"`
	// Exposed is the rest of Busy, in seconds.
	Exposed float64 `json:"exposed_seconds"`
	// Steps is the number of steps in these times; 0 if unknown.
	Steps int `json:"steps"`
}

// overlap returns nil if some kernel times are missing.
func (r *Rank) overlap() *Overlap {
	if !r.Whole || len(r.Computing) == 0 {
		return nil
	}
	busy := kernelsOf(r.Calls)
	if len(busy) == 0 {
		return nil
	}
	o := &Overlap{Rank: r.Rank}
	j := 0
	for _, s := range busy {
		o.Busy += s.Seconds()
		for j > 0 && r.Computing[j-1].End > s.Start {
			j--
		}
		for ; j < len(r.Computing) && r.Computing[j].Start < s.End; j++ {
			o.Hidden += max(min(s.End, r.Computing[j].End)-max(s.Start, r.Computing[j].Start), 0)
		}
	}
	o.Exposed = max(o.Busy-o.Hidden, 0)
	return o
}

// Merge sorts spans and joins spans that touch. It works in place.
func Merge(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
