package report

import (
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// Stuck is a case that did not end, with how far every rank got.
type Stuck struct {
	Key, Name, Size string
	// Where says in which launch of what, Verdict what the evidence comes to.
	Where, Verdict string
	Ranks          []StuckRanks
	// Async is true where some communicator reports an error.
	Async bool
}

// StuckRanks are the ranks that got equally far.
type StuckRanks struct {
	State, Ranks, Count string
	// Enqueued, Begun and Ended count launches.
	Enqueued, Begun, Ended string
	// Error is the asynchronous error that their communicators report.
	Error string
}

// stuckCases lists the cases with evidence.
func stuckCases(rec *record.Record) []Stuck {
	var out []Stuck
	for i := range rec.Results {
		r := &rec.Results[i]
		e := r.Evidence
		if e == nil {
			continue
		}
		s := Stuck{
			Key: r.Key, Name: orUnnamed(r.Collective), Size: unit.Bytes(sizeOf(r)),
			Where: e.Where(), Verdict: sentence(e.Verdict()),
		}
		for _, g := range e.Ranks {
			s.Ranks = append(s.Ranks, StuckRanks{
				State: g.State.Text(), Ranks: record.RankList(g.Ranks), Count: comma(int64(g.Count)),
				Enqueued: comma(int64(g.Enqueued)), Begun: counted(g.Begun), Ended: counted(g.Ended), Error: g.Error,
			})
			s.Async = s.Async || g.Error != ""
		}
		out = append(out, s)
	}
	return out
}

// sentence begins a clause with a capital and ends it with a full stop.
func sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}

func counted(n *int) string {
	if n == nil {
		return none
	}
	return comma(int64(*n))
}
