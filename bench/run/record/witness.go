package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// Witness is a second source's report when a case did not end: the library's own RAS service. Its
// ranks are numbers in their communicator, which may differ from those in the world.
type Witness struct {
	// Source is the service and its address.
	Source string `json:"source"`
	// State summarises the answer.
	State WitnessState `json:"state"`
	// Reason is why there is no answer; absent if there is one.
	Reason string `json:"reason,omitempty"`
	// Library is the version that answered; absent if unknown.
	Library string `json:"library,omitempty"`
	// Communicators of the job, the largest first.
	Communicators []WitnessComm `json:"communicators"`
	// Ranks that the answer singles out, at most 64.
	Ranks []WitnessRank `json:"ranks"`
	// More is the number of such ranks that are not listed.
	More int `json:"more,omitempty" jsonschema:"minimum=1"`
}

// MostWitnessed is the largest number of ranks that a witness lists.
const MostWitnessed = 64

// WitnessState summarises a second source's answer about the job.
type WitnessState string

// The states. Absent means that there was no answer, which says nothing about the job.
const (
	WitnessHealthy  WitnessState = "healthy"
	WitnessDegraded WitnessState = "degraded"
	WitnessAbsent   WitnessState = "absent"
)

// WitnessStates returns all states. The caller may change the slice.
func WitnessStates() []WitnessState {
	return []WitnessState{WitnessHealthy, WitnessDegraded, WitnessAbsent}
}

// WitnessComm is one or several equal communicators.
type WitnessComm struct {
	// ID is the library's hash; absent if the answer has none.
	ID string `json:"id,omitempty"`
	// Number of these communicators.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Number of ranks of each.
	Ranks int `json:"ranks"`
	// Number of ranks with data in the answer, over all these communicators.
	Answered int `json:"answered"`
	// Status in the library's words: OK, INCOMPLETE, MISMATCH, ERROR, …
	Status string `json:"status"`
}

// WitnessRank is a rank that the answer singles out.
type WitnessRank struct {
	// State is the reason: missing, dead, error, behind, differs.
	State WitnessRankState `json:"state"`
	// Rank in its communicator; null for a process whose ranks are not stated.
	Rank *int `json:"rank"`
	// Communicator is the library's hash; absent if the answer has none.
	Communicator string `json:"communicator,omitempty"`
	// Host is the node's address; absent if unknown.
	Host string `json:"host,omitempty"`
	// PID of its process; 0 if unknown.
	PID int `json:"pid"`
	// GPU is the runtime's number on that host, in the answer's spelling; absent if unknown.
	GPU string `json:"gpu,omitempty"`
	// Detail of the answer: an error, or counts of operations; absent if there is none.
	Detail string `json:"detail,omitempty"`
}

// WitnessRankState is the reason why a rank is singled out.
type WitnessRankState string

// The states, the strongest sign first: a dead process, a rank without data, an error, a
// rank that has launched fewer operations, and one with another status than the rest.
const (
	RankDead    WitnessRankState = "dead"
	RankMissing WitnessRankState = "missing"
	RankError   WitnessRankState = "error"
	RankBehind  WitnessRankState = "behind"
	RankDiffers WitnessRankState = "differs"
)

var witnessRankStates = []WitnessRankState{RankDead, RankMissing, RankError, RankBehind, RankDiffers}

// WitnessRankStates are all states. The caller may change the slice.
func WitnessRankStates() []WitnessRankState { return slices.Clone(witnessRankStates) }

// SetRanks keeps the ranks with the strongest signs, up to MostWitnessed of them.
func (w *Witness) SetRanks(ranks []WitnessRank) {
	slices.SortStableFunc(ranks, func(a, b WitnessRank) int {
		return cmp.Compare(slices.Index(witnessRankStates, a.State), slices.Index(witnessRankStates, b.State))
	})
	w.Ranks = ranks[:min(len(ranks), MostWitnessed)]
	w.More = len(ranks) - len(w.Ranks)
}

// Text is the answer in one sentence, without a full stop.
func (w *Witness) Text() string {
	who := w.Source
	if w.Library != "" {
		who += " (version " + w.Library + ")"
	}
	switch {
	case w.State == WitnessAbsent:
		return "no second witness: " + who + ": " + w.Reason
	case len(w.Ranks) > 0:
		const most = 4
		parts := slice.Map(w.Ranks[:min(len(w.Ranks), most)], func(r WitnessRank) string { return r.Text() })
		if more := w.More + len(w.Ranks) - len(parts); more > 0 {
			parts = append(parts, fmt.Sprintf("%d more", more))
		}
		return who + " reports " + strings.Join(parts, "; ")
	case w.State == WitnessDegraded:
		return who + " reports communicators that are not OK, and names no rank"
	}
	return who + " reports no missing or late rank"
}

// Text describes the rank with its process, GPU and node, its state and the service's detail.
func (r *WitnessRank) Text() string {
	var b strings.Builder
	if r.Rank != nil {
		fmt.Fprintf(&b, "rank %d", *r.Rank)
		if r.Communicator != "" {
			b.WriteString(" of communicator " + r.Communicator)
		}
	} else {
		b.WriteString("a process")
	}
	var where []string
	if r.GPU != "" {
		where = append(where, "GPU "+r.GPU)
	}
	if r.PID > 0 {
		where = append(where, fmt.Sprintf("process %d", r.PID))
	}
	if r.Host != "" {
		where = append(where, "on "+r.Host)
	}
	if len(where) > 0 {
		b.WriteString(" (" + strings.Join(where, " ") + ")")
	}
	b.WriteString(" " + string(r.State))
	if r.Detail != "" {
		b.WriteString(": " + r.Detail)
	}
	return b.String()
}

// check refuses impossible values.
func (w *Witness) check() error {
	if w == nil {
		return nil
	}
	if !slices.Contains(WitnessStates(), w.State) || len(w.Ranks) > MostWitnessed || w.More < 0 {
		return fmt.Errorf("a witness that is %q, with %d ranks and %d more", w.State, len(w.Ranks), w.More)
	}
	for _, r := range w.Ranks {
		if !slices.Contains(witnessRankStates, r.State) {
			return fmt.Errorf("a witness's rank that is %q: valid are %q", r.State, witnessRankStates)
		}
	}
	return nil
}
