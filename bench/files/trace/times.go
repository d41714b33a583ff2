package trace

import (
	"cmp"
	"maps"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
)

// Waiting divides the time of matched calls' kernels between the ranks. Every rank's kernel ends
// when the data has been moved, and begins when that rank arrives, so the shortest is the last
// rank's: its time is the transfer, and the others' excess is waiting for it. No clocks are
// compared.
type Waiting struct {
	// Calls is the number of calls with times that all ranks of their group have in the files.
	Calls int `json:"calls"`
	// Ranks are the ranks' shares, by rank.
	Ranks []RankWaiting `json:"ranks"`
	calls []awaited
}

// awaited is a call with the others' median wait for its last rank, in seconds.
type awaited struct {
	rank    int
	seconds float64
}

// RankWaiting is one rank's share.
type RankWaiting struct {
	// Rank is its number.
	Rank int `json:"rank"`
	// Kernel is the time in which any of its kernels ran, in seconds.
	Kernel float64 `json:"kernel_seconds"`
	// Waited is the part spent waiting for a peer, in seconds; simultaneous waits count once.
	Waited float64 `json:"waited_seconds"`
	// Transfer is the rest, in seconds.
	Transfer float64 `json:"transfer_seconds"`
	// Last is the number of calls to which it came last.
	Last int `json:"last"`
	// MadeWait is the least wait of every other rank at those calls, in seconds.
	MadeWait float64 `json:"made_wait_seconds"`
}

// key identifies a call of a group on all ranks: by its number, or by the count of earlier calls of
// its kind.
type key struct {
	kind
	at int64
}

// ran is a call's kernel on a rank: its start, if known, and its duration.
type ran struct {
	*Span
	seconds float64
}

// took returns the kernels of every call by rank, for calls with a time in groups of several ranks;
// nil if some rank has no number of its own.
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

// tally sums the kernels' waits and transfers. Simultaneous waits on several streams count once,
// and a rank whose other stream moves data does not wait.
type tally struct {
	waits, moves []Span
	rest         float64 // of waits without a start
}

// add divides a kernel, which waits first.
func (t *tally) add(r ran, waits float64) {
	if r.Span == nil {
		t.rest += waits
		return
	}
	t.waits = append(t.waits, Span{r.Start, r.Start + waits})
	t.moves = append(t.moves, Span{r.Start + waits, r.End})
}

// waited returns the time of waiting, in seconds.
func (t *tally) waited() float64 {
	return t.rest + seconds(without(Merge(slices.Clone(t.waits)), Merge(slices.Clone(t.moves))))
}

func seconds(spans []Span) float64 {
	return slice.Sum(spans, Span.Seconds)
}

// shares sums up the matched calls of a rank.
type shares struct {
	tally
	kernels float64 // of those without a start
	last    int
	// made is the wait of each other rank at the calls to which this one came last.
	made map[int]*tally
}

// waiting divides the kernels of calls that all ranks of a group have; nil if there are none.
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

// mostWaiting is the share of all waiting that decides which rank is late: coming last to calls
// without waiting means nothing.
const mostWaiting = 0.9

// Latest returns the rank that came last to most of the calls with the most waiting, if that has a
// chance of at most 1 in 1,000 with equally likely ranks; nil if none stands out. It also returns
// the number of these calls.
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

// Alone summarises the kernels of one rank. It cannot separate waiting from transfer.
type Alone struct {
	// Kernel is the time of all kernels with known bytes, in seconds.
	Kernel float64 `json:"kernel_seconds"`
	// AtPeak is the time of their bytes at the rates for their sizes, in seconds.
	AtPeak float64 `json:"at_peak_seconds"`
	// Peak is the bus bandwidth over all of them at these rates, in bytes per second.
	Peak float64 `json:"peak"`
	// PeakOf is the source of the rates.
	PeakOf string `json:"peak_of"`
	// Share is the part of the kernels that these rates do not explain.
	Share float64 `json:"not_transfer"`
}

// Reach returns the time of a collective of a size over a number of ranks on a trace's device, in
// seconds, with its source; 0 if unknown.
type Reach func(collective string, bytes int64, ranks int) (seconds float64, by string)

// leastAlone is the share from which a rank's kernels are said to wait: the reference is a model,
// and a fabric may reach half of it.
const leastAlone = 0.5

// alone compares a rank's kernels with the rates for their sizes; nil if these are unknown, or
// explain them.
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

// Overlap says how much of a rank's collectives ran beside computation on its other streams.
type Overlap struct {
	// Rank is its number; -1 if unknown.
	Rank int `json:"rank"`
	// Busy is the time in which a collective's kernel ran, in seconds.
	Busy float64 `json:"busy_seconds"`
	// Hidden is the part beside a computing kernel, in seconds.
	Hidden float64 `json:"hidden_seconds"`
	// Exposed is the rest, in seconds.
	Exposed float64 `json:"exposed_seconds"`
	// Steps is the number of steps behind the times; 0 if unknown.
	Steps int `json:"steps"`
}

// overlap returns nil if the file lacks kernels' times, or some of them.
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

// Merge sorts spans and joins those that touch, in place.
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
