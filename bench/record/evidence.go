package record

import (
	"cmp"
	"slices"
)

// Evidence is what was known of every rank when a case did not end: no more than
// the libraries tell.
type Evidence struct {
	// During is what was run when the case did not end.
	During string `json:"during"`
	// Deadline is the time that passed, in seconds; null where an asynchronous error ended
	// the wait.
	Deadline *float64 `json:"deadline"`
	// Iterations is the number of launches in the batch that did not end.
	Iterations int `json:"iterations"`
	// Ranks holds every rank that took part, those alike as one entry.
	Ranks []RankEvidence `json:"ranks"`
}

// RankEvidence is what is known of ranks that are alike.
type RankEvidence struct {
	// State is how far the ranks are at the first launch that not every rank has ended, or
	// with the whole batch where its launches carry no marks.
	State RankState `json:"state"`
	// Ranks are numbers in the whole world, as ranges: "0-4,6".
	Ranks string `json:"ranks" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// How many they are.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Launches of the batch that their hosts have made.
	Enqueued int `json:"enqueued"`
	// Launches that they have begun; null where no marks tell.
	Begun *int `json:"begun"`
	// Launches that they have ended; null where no marks tell.
	Ended *int `json:"ended"`
	// Error is the asynchronous error that the ranks' communicators report.
	Error string `json:"error,omitempty"`
}

// RankState is how far a rank got.
type RankState string

// The states, from the one that explains most to the one that explains nothing.
const (
	LostContact  RankState = "lost_contact"
	NotEnqueued  RankState = "not_enqueued"
	NotStarted   RankState = "not_started"
	NotFinished  RankState = "not_finished"
	RankFinished RankState = "finished"
)

var rankStates = []RankState{LostContact, NotEnqueued, NotStarted, NotFinished, RankFinished}

// RankStates are all states. The slice is the caller's.
func RankStates() []RankState { return slices.Clone(rankStates) }

// What can be run when a case does not end.
const (
	DuringWarmUp       = "warm_up"
	DuringVerification = "verification"
	DuringBurst        = "burst"
	DuringIsolated     = "isolated"
)

// phases are the values of Evidence.During, in words.
var phases = map[string]string{
	DuringWarmUp: "the warm-up", DuringVerification: "the verification", DuringBurst: "a burst", DuringIsolated: "isolated timing",
}

// RankProgress is how far one rank got in a batch that did not end.
type RankProgress struct {
	// Lost tells that the rank's process no longer answers.
	Lost bool
	// Enqueued, Begun and Ended count launches; Begun and Ended are −1 where no
	// marks tell.
	Enqueued, Begun, Ended int
	// Finished tells that everything the rank was given is done.
	Finished bool
	Error    string
}

// SetRanks fills Ranks from the progress of rank 0, 1, ….
func (e *Evidence) SetRanks(ranks []RankProgress) {
	type alike struct {
		state                  RankState
		enqueued, begun, ended int
		err                    string
	}
	marked, stuck := true, e.Iterations
	for _, r := range ranks {
		if !r.Lost {
			marked = marked && r.Begun >= 0 && r.Ended >= 0
			stuck = min(stuck, r.Ended)
		}
	}
	members := map[alike][]int{}
	var order []alike
	for i, r := range ranks {
		one := alike{r.state(marked, stuck, e.Iterations), r.Enqueued, r.Begun, r.Ended, r.Error}
		if members[one] == nil {
			order = append(order, one)
		}
		members[one] = append(members[one], i)
	}
	slices.SortStableFunc(order, func(a, b alike) int {
		return cmp.Compare(slices.Index(rankStates, a.state), slices.Index(rankStates, b.state))
	})
	e.Ranks = make([]RankEvidence, len(order))
	for i, one := range order {
		e.Ranks[i] = RankEvidence{State: one.state, Ranks: ranges(members[one]), Count: len(members[one]), Enqueued: one.enqueued, Error: one.err}
		if marked && one.state != LostContact {
			e.Ranks[i].Begun, e.Ranks[i].Ended = &one.begun, &one.ended
		}
	}
}

// state is how far a rank got: with marks at launch stuck of so many, counted
// from 0.
func (r RankProgress) state(marked bool, stuck, launches int) RankState {
	switch {
	case r.Lost:
		return LostContact
	case r.Finished || marked && r.Ended > stuck:
		return RankFinished
	case marked && r.Enqueued <= stuck && r.Enqueued < launches:
		return NotEnqueued
	case marked && r.Begun <= stuck && r.Begun < launches:
		return NotStarted
	}
	return NotFinished
}

// stuck is the first launch that not every rank has ended, counted from 0, and
// whether marks tell.
func (e *Evidence) stuck() (launch int, ok bool) {
	launch = e.Iterations
	for _, r := range e.Ranks {
		if r.Ended != nil {
			launch, ok = min(launch, *r.Ended), true
		}
	}
	return launch, ok
}
