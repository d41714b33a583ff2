package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Matched compares the calls of a group's ranks, which must make the same calls in the same order.
// It leaves out groups whose ranks are uncertain, sends and receives, and sizes that may differ.
type Matched struct {
	// Ranks is the number of compared ranks.
	Ranks int `json:"ranks"`
	// Calls is the number of compared calls, made by at least two ranks.
	Calls int `json:"calls"`
	// Alike is the number of compared calls that are equal on all ranks that have them.
	Alike int `json:"alike"`
	// OnAll is the number of equal calls that every rank of the group in the input has.
	OnAll int `json:"on_all"`
	// Differ has the first differing call of each group.
	Differ []Difference `json:"differ"`
	// Pending has, for each group, the first call that has not ended on all ranks. It is empty if
	// the files do not show the end of calls.
	Pending []Pending `json:"pending"`
	// recorded is true for dumps of a flight recorder, which end where their ranks stopped. Other
	// files may end earlier than their rank.
	recorded    bool
	notCompared finding.List
}

// Difference is a call of a group that differs between ranks.
type Difference struct {
	// Group is the group's title.
	Group string `json:"group"`
	// Number is the number of the call in the file, or its index in the group's calls, from 1.
	Number int64 `json:"number"`
	// Ranks are the ranks whose call differs from the call of the majority; empty if the file has
	// no rank numbers.
	Ranks []int `json:"ranks"`
	// Call is the call of these ranks; empty if they make no further call.
	Call string `json:"call"`
	// Others are the other ranks; empty if the file has no rank numbers.
	Others []int `json:"others"`
	// OthersCall is the call of the other ranks.
	OthersCall string `json:"others_call"`
	// Field `who` has the names of Ranks, and field `others` has the names of Others. They are
	// names of processes if the file has no rank numbers.
	who, others string
}

// matched compares the calls of the ranks. It returns nil if no two ranks share a group that is
// certain.
func (t *Trace) matched() *Matched {
	numbered := t.numbered() || t.Recorded && len(t.Ranks) == 1
	if !numbered && slices.ContainsFunc(t.Ranks, func(r *Rank) bool { return r.PID == 0 || r.Device < 0 }) {
		return nil
	}
	lists := make([]map[int][]*Call, len(t.Groups))
	for place, r := range t.Ranks {
		for i := range r.Calls {
			c := &r.Calls[i]
			if c.Collective == "send_recv" || !t.certain(c.Group) {
				continue
			}
			if lists[c.Group] == nil {
				lists[c.Group] = map[int][]*Call{}
			}
			lists[c.Group][place] = append(lists[c.Group][place], c)
		}
	}
	m := &Matched{Differ: []Difference{}, Pending: []Pending{}, recorded: t.Recorded}
	ranks := map[int]bool{}
	for g, of := range lists {
		if p := pending(t.Groups[g], of); p != nil {
			m.Pending = append(m.Pending, *p)
		}
		if len(of) < 2 {
			continue
		}
		for rank := range of {
			ranks[rank] = true
		}
		if last, from := t.ended(of); len(last) > 0 {
			m.notCompared = append(m.notCompared, notCompared(t.Groups[g], last, from))
		}
		m.group(t.Groups[g], of, !numbered || t.Recorded || len(of) == t.Groups[g].Size)
	}
	if m.Ranks = len(ranks); m.Ranks == 0 && len(m.Pending) == 0 {
		return nil
	}
	for i := range m.Differ {
		d := &m.Differ[i]
		d.who, d.Ranks = t.at(d.Ranks)
		d.others, d.Others = t.at(d.Others)
	}
	return m
}

// Method `at` returns the names of the ranks with these indices, and the known rank numbers among
// them.
func (t *Trace) at(places []int) (names string, numbers []int) {
	ranks := slice.Map(places, func(i int) *Rank { return t.Ranks[i] })
	known := slice.Where(ranks, func(r *Rank) bool { return r.Rank >= 0 })
	return NamesOf(ranks), jsonfile.Filled(slice.Map(known, func(r *Rank) int { return r.Rank }))
}

// Method certain reports whether a group's name means the same ranks on all ranks. This is so if
// the file lists the group's ranks, or if the group contains all ranks of the job.
func (t *Trace) certain(group int) bool {
	g := t.Groups[group]
	return g.Size > 1 && !g.Doubtful && (len(g.Ranks) == g.Size || g.Size >= t.World && len(t.Ranks) <= g.Size)
}

// Type told says which facts the files of all ranks state about a call, besides its collective. A
// fact that one rank lacks does not count as a difference. An example is the size of a call at the
// end of a profile.
type told struct{ bytes, dtype, op bool }

func toldOf(calls map[int]*Call) told {
	t := told{true, true, true}
	for _, c := range calls {
		t.bytes, t.dtype, t.op = t.bytes && c.Bytes >= 0, t.dtype && c.Dtype != "", t.op && c.Op != ""
	}
	return t
}

// Method called returns the facts of a call that must be equal on all ranks, as text.
func (t told) called(c *Call) string {
	text := c.Collective
	if t.bytes && !unequal[c.Collective] {
		text += " of " + unit.Comma(c.Bytes) + " B"
	}
	if t.dtype {
		text += ", " + c.Dtype
	}
	if t.op {
		text += ", " + c.Op
	}
	return text
}

// group compares the calls of a group, by rank. If ends is true, a rank without a further call
// differs, too.
func (m *Matched) group(g Group, of map[int][]*Call, ends bool) {
	all, numbered := callsBy(of, func(_ int, c *Call) int64 { return c.Sequence })
	if !numbered {
		all, _ = callsBy(of, func(place int, _ *Call) int64 { return int64(place) })
	}
	last := map[int]int64{} // number of each rank's last call
	for n, calls := range all {
		for rank := range calls {
			last[rank] = max(last[rank], n)
		}
	}
	found := false
	for _, n := range slices.Sorted(maps.Keys(all)) {
		kinds, tell := map[string][]int{}, toldOf(all[n])
		for _, rank := range slices.Sorted(maps.Keys(of)) {
			switch c := all[n][rank]; {
			case c != nil:
				kinds[tell.called(c)] = append(kinds[tell.called(c)], rank)
			case n > last[rank] && ends:
				kinds[""] = append(kinds[""], rank)
			}
		}
		if len(all[n]) < 2 && (!m.recorded || len(kinds) < 2) {
			continue // nothing to compare
		}
		m.Calls++
		if len(kinds) == 1 {
			m.Alike++
			if len(all[n]) == len(of) {
				m.OnAll++
			}
			continue
		}
		if found {
			continue
		}
		found = true
		order := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
			return cmp.Or(-cmp.Compare(len(kinds[a]), len(kinds[b])), cmp.Compare(kinds[a][0], kinds[b][0]))
		})
		d := Difference{Group: g.Title(), Number: n, OthersCall: order[0], Others: kinds[order[0]], Call: order[1], Ranks: kinds[order[1]]}
		if d.OthersCall == "" { // most ranks have ended
			d.Call, d.Ranks, d.OthersCall, d.Others = d.OthersCall, d.Others, d.Call, d.Ranks
		}
		if !numbered {
			d.Number++
		}
		m.Differ = append(m.Differ, d)
	}
}

// callsBy returns calls by number and rank. It returns false if two calls of a rank have the same
// number, or if the ranks have no number in common.
func callsBy(of map[int][]*Call, number func(place int, c *Call) int64) (all map[int64]map[int]*Call, shared bool) {
	all = map[int64]map[int]*Call{}
	for rank, calls := range of {
		for i, c := range calls {
			n := number(i, c)
			if n < 0 || all[n][rank] != nil {
				return nil, false
			}
			if all[n] == nil {
				all[n] = map[int]*Call{}
			}
			all[n][rank] = c
			shared = shared || len(all[n]) > 1
		}
	}
	return all, shared
}

// maxDiffer is the largest number of differing groups that are reported.
const maxDiffer = 4

// findings says whether the ranks agree.
func (m *Matched) findings() (l finding.List) {
	if m == nil {
		return nil
	}
	l = append(l, m.notCompared...)
	if l = append(l, m.pendingFindings()...); len(l) > 0 && len(m.Differ) == 0 {
		return l
	}
	if len(m.Differ) == 0 {
		return finding.List{{Code: CodeMatched, Severity: finding.Note, Text: fmt.Sprintf("Calls matched over %s: all %s that two ranks have are alike; %s are on all of a group's ranks here.", unit.Count(int64(m.Ranks), "rank"), unit.Comma(int64(m.Alike)), unit.Comma(int64(m.OnAll)))}}
	}
	for _, d := range m.Differ[:min(len(m.Differ), maxDiffer)] {
		f := finding.Finding{Code: CodeMismatch, Severity: finding.Fault, Subject: &finding.Subject{Kind: finding.Rank, Name: d.who}}
		f.Text = fmt.Sprintf("MISMATCH: Call %d of %s: %s calls %s, %s %s. Ranks that call different collectives hang.", d.Number, d.Group, d.who, d.Call, d.others, d.OthersCall)
		f.Hint = "look at what these ranks do before that call, and whether all files begin with the same step"
		if d.Call == "" {
			f.Severity = finding.Warning
			f.Text = fmt.Sprintf("MISMATCH: Call %d of %s: %s has no call from there on, %s %s.", d.Number, d.Group, d.who, d.others, d.OthersCall)
			f.Hint = "the rank stopped there, or its file ends early"
		}
		l = append(l, f)
	}
	return l
}
