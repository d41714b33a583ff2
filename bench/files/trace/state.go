package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// State is the progress of a call when it was recorded; empty if unknown.
type State string

// States of calls, in the order of progress.
const (
	Scheduled State = "scheduled"
	Started   State = "started"
	Completed State = "completed"
)

// Known reports whether s is one of the states.
func (s State) Known() bool { return s == Scheduled || s == Started || s == Completed }

// Pending is a group's first call that some of its ranks have not completed.
type Pending struct {
	// Group is the group's title.
	Group string `json:"group"`
	// Number is the number of the call in the file.
	Number int64 `json:"number"`
	// Call is the name of the collective.
	Call string `json:"call"`
	// Scheduled are the ranks whose device has not started the call.
	Scheduled []int `json:"scheduled"`
	// Started are the ranks on which the call is running.
	Started []int `json:"started"`
	// Completed are the ranks on which the call has ended.
	Completed []int `json:"completed"`
}

// settleRecorded completes the groups of a flight recorder, which does not list all of them. The
// default group has all ranks of the job. Any other group has the ranks that called in it. A
// group's name is unique in the job.
func (t *Trace) settleRecorded() {
	members := map[int]map[int]bool{}
	for _, r := range t.Ranks {
		for i := range r.Calls {
			g := r.Calls[i].Group
			if members[g] == nil {
				members[g] = map[int]bool{}
			}
			members[g][r.Rank] = true
		}
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		switch {
		case g.Size > 0:
			continue
		case g.Description == "default_pg":
			g.Size = t.World
		default:
			g.Ranks = slices.Sorted(maps.Keys(members[i]))
			g.Size = len(g.Ranks)
		}
	}
	for _, r := range t.Ranks {
		for i := range r.Calls {
			if c := &r.Calls[i]; c.In >= 0 || c.Out >= 0 {
				c.Size(t.Groups[c.Group].Size)
			}
		}
	}
}

// ended removes a rank from a group's calls if the rank ended before the ring buffer of another
// rank begins. Such a rank cannot be compared, because the other ring buffer has lost its earlier
// calls. The result last has the last call number of each removed rank. The result `from` is the
// number at which the ring buffers begin.
func (t *Trace) ended(of map[int][]*Call) (last map[int]int64, from int64) {
	lost := map[int]bool{}
	for _, r := range t.Ranks {
		lost[r.Rank] = r.Lost > 0
	}
	last = map[int]int64{}
	for rank, calls := range of {
		numbers := slice.Map(calls, func(c *Call) int64 { return c.Sequence })
		last[rank] = slices.Max(numbers)
		if lost[rank] {
			from = max(from, slices.Min(numbers))
		}
	}
	maps.DeleteFunc(last, func(_ int, n int64) bool { return n+1 >= from })
	maps.DeleteFunc(of, func(rank int, _ []*Call) bool { return last[rank] > 0 })
	return last, from
}

// notCompared returns a finding about ranks that ended before the ring buffers of other ranks
// begin.
func notCompared(g Group, last map[int]int64, from int64) finding.Finding {
	ranks := slices.Sorted(maps.Keys(last))
	names := record.RankList(record.RankSet(ranks))
	return finding.Finding{
		Code: CodeNotCompared, Severity: finding.Warning, Subject: &finding.Subject{Kind: finding.Rank, Name: "rank " + names},
		Text: fmt.Sprintf("NOT COMPARED: Rank %s's last call of %s is %d. What other ranks called next is lost: their rings begin at call %d.", names, g.Title(), last[ranks[0]], from),
		Hint: "look at what the rank does behind that call; for a whole record raise TORCH_FR_BUFFER_SIZE (in older releases of PyTorch TORCH_NCCL_TRACE_BUFFER_SIZE)",
	}
}

// Among the calls of a group, function pending returns the first that has not ended on all ranks.
// It returns nil if all calls have ended, or if the file has no states.
func pending(g Group, of map[int][]*Call) *Pending {
	states := map[int64]map[State][]int{}
	names := map[int64]string{}
	for _, rank := range slices.Sorted(maps.Keys(of)) {
		for _, c := range of[rank] {
			if states[c.Sequence] == nil {
				states[c.Sequence] = map[State][]int{}
			}
			states[c.Sequence][c.State] = append(states[c.Sequence][c.State], rank)
			names[c.Sequence] = cmp.Or(names[c.Sequence], c.Collective)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(states)) {
		if s := states[n]; len(s[Scheduled])+len(s[Started]) > 0 {
			filled := func(list []int) []int { return append([]int{}, list...) }
			return &Pending{Group: g.Title(), Number: n, Call: names[n], Scheduled: filled(s[Scheduled]), Started: filled(s[Started]), Completed: filled(s[Completed])}
		}
	}
	return nil
}

// pendingFindings says which calls have not ended, and on which ranks. If the ranks already differ
// in that call or in an earlier call, the finding about the difference is enough.
func (m *Matched) pendingFindings() (l finding.List) {
	for _, p := range m.Pending[:min(len(m.Pending), maxDiffer)] {
		if slices.ContainsFunc(m.Differ, func(d Difference) bool { return d.Group == p.Group && d.Number <= p.Number }) {
			continue
		}
		var where []string
		for _, part := range []struct {
			state State
			ranks []int
		}{{Scheduled, p.Scheduled}, {Started, p.Started}, {Completed, p.Completed}} {
			if len(part.ranks) > 0 {
				where = append(where, fmt.Sprintf("%s on rank %s", part.state, rankNames(part.ranks)))
			}
		}
		f := finding.Finding{Code: CodePending, Severity: finding.Warning, Text: fmt.Sprintf("PENDING: Call %d of %s, %s, has not ended: %s.", p.Number, p.Group, p.Call, strings.Join(where, ", ")), Hint: "if the files are those of all ranks, all have this call: look at the network, and at what the GPUs run before it"}
		if len(p.Scheduled) > 0 && len(p.Started) > 0 {
			names := "rank " + record.RankList(record.RankSet(p.Scheduled))
			f.Subject = &finding.Subject{Kind: finding.Rank, Name: names}
			f.Hint = "look at what the GPU of " + names + " runs before this call: it has not come to it"
		}
		l = append(l, f)
	}
	return l
}

// rankNames lists ranks, or "?" for a file without a rank number.
func rankNames(ranks []int) string {
	if ranks[0] < 0 {
		return Number(ranks[0])
	}
	return record.RankList(record.RankSet(ranks))
}
