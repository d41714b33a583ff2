package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Evidence is the progress of every rank when a case did not end, as far as the libraries
// report it.
type Evidence struct {
	// During is the phase that did not end.
	During string `json:"during"`
	// Deadline that passed, in seconds; null if something else ended the wait:
	// an asynchronous error, or the loss of a process.
	Deadline *float64 `json:"deadline"`
	// Iterations is the number of launches in the batch that did not end.
	Iterations int `json:"iterations"`
	// Ranks holds every rank that took part; equal ones are one entry.
	Ranks []RankEvidence `json:"ranks"`
	// Suspects are the ranks that most likely keep the others waiting, as ranges; if Certain
	// is false, the candidates, which the evidence does not tell apart.
	Suspects string `json:"suspects,omitempty" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// Certain is true if the evidence tells the suspects from the ranks that wait.
	Certain bool `json:"certain,omitempty"`
	// Witness is what a second source reported when the deadline had passed; absent if none
	// was asked.
	Witness *Witness `json:"witness,omitempty"`
}

// RankEvidence describes ranks with equal evidence.
type RankEvidence struct {
	// State of the ranks at the first launch that not every rank has ended, or of the whole
	// batch if its launches have no marks.
	State RankState `json:"state"`
	// Ranks are numbers in the whole world, as ranges: "0-4,6".
	Ranks string `json:"ranks" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// How many they are.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Launches of the batch that their hosts have enqueued.
	Enqueued int `json:"enqueued"`
	// Launches that they have started; null if there are no marks.
	Started *int `json:"started"`
	// Launches that they have ended; null if there are no marks.
	Ended *int `json:"ended"`
	// Error is the asynchronous error of the ranks' communicators, or the error of their
	// process.
	Error string `json:"error,omitempty"`
}

// RankState is how far a rank got.
type RankState string

// The states, the most likely cause of a hang first.
const (
	LostContact RankState = "lost_contact"
	RankFailed  RankState = "failed"
	NotEnqueued RankState = "not_enqueued"
	NotStarted  RankState = "not_started"
	// Unreached ranks are connected through a process that was lost.
	Unreached    RankState = "unreached"
	NotFinished  RankState = "not_finished"
	RankFinished RankState = "finished"
)

var rankStates = []RankState{LostContact, RankFailed, NotEnqueued, NotStarted, Unreached, NotFinished, RankFinished}

// RankStates are all states. The slice is the caller's.
func RankStates() []RankState { return slices.Clone(rankStates) }

// What can be run when a case does not end.
const (
	DuringOpen         = "open"
	DuringInit         = "init"
	DuringWarmUp       = "warm_up"
	DuringVerification = "verification"
	DuringBurst        = "burst"
	DuringIsolated     = "isolated"
)

// phases are the values of Evidence.During, in words.
var phases = map[string]string{
	DuringOpen: "opening the devices", DuringInit: "the init of the communicators", DuringWarmUp: "the warm-up", DuringVerification: "the verification", DuringBurst: "a burst", DuringIsolated: "isolated timing",
}

// RankProgress is how far one rank got in a batch that did not end.
type RankProgress struct {
	// Lost is true if the rank's process no longer answers, Failed if it answers
	// with an error: its progress is then unknown.
	Lost, Failed bool
	// Unreached is true if the process that it is connected through was lost.
	Unreached bool
	// Enqueued, Started and Ended count launches; Started and Ended are −1 if there
	// are no marks.
	Enqueued, Started, Ended int
	// Finished is true if all launches of the rank have ended.
	Finished bool
	Error    string
}

// known reports whether the launches of the rank are counted.
func (r RankProgress) known() bool { return !r.Lost && !r.Failed && !r.Unreached }

// SetRanks fills Ranks from the progress of rank 0, 1, … of the world.
func (e *Evidence) SetRanks(ranks []RankProgress) { e.SetRanksFrom(0, ranks) }

// SetRanksFrom fills Ranks from the progress of rank first, first+1, … of the world.
func (e *Evidence) SetRanksFrom(first int, ranks []RankProgress) {
	type progressGroup struct {
		state                    RankState
		enqueued, started, ended int
		err                      string
	}
	marked, stuck := true, e.Iterations
	for _, r := range ranks {
		if r.known() {
			marked = marked && r.Started >= 0 && r.Ended >= 0
			stuck = min(stuck, r.Ended)
		}
	}
	members := map[progressGroup][]int{}
	var order []progressGroup
	for i, r := range ranks {
		one := progressGroup{state: r.state(marked, stuck, e.Iterations), enqueued: r.Enqueued, err: r.Error}
		if marked && r.known() {
			one.started, one.ended = r.Started, r.Ended
		}
		if members[one] == nil {
			order = append(order, one)
		}
		members[one] = append(members[one], first+i)
	}
	slices.SortStableFunc(order, func(a, b progressGroup) int {
		return cmp.Or(cmp.Compare(place(a.state, a.err), place(b.state, b.err)), cmp.Compare(slices.Index(rankStates, a.state), slices.Index(rankStates, b.state)))
	})
	e.Ranks = make([]RankEvidence, len(order))
	for i, one := range order {
		e.Ranks[i] = RankEvidence{State: one.state, Ranks: ranges(members[one]), Count: len(members[one]), Enqueued: one.enqueued, Error: one.err}
		if marked && ranks[members[one][0]-first].known() {
			e.Ranks[i].Started, e.Ranks[i].Ended = &one.started, &one.ended
		}
	}
	e.suspect()
}

// place orders ranks by what accuses them most: an error that their communicators report
// is less than a failure and more than a missing launch.
func place(state RankState, err string) int {
	at, failed := slices.Index(rankStates, state), slices.Index(rankStates, RankFailed)
	if at > failed && state != Unreached && err != "" {
		return 2*failed + 1
	}
	return 2 * at
}

// state is how far a rank got: with marks at launch stuck of so many, counted
// from 0.
func (r RankProgress) state(marked bool, stuck, launches int) RankState {
	switch {
	case r.Lost:
		return LostContact
	case r.Failed:
		return RankFailed
	case r.Unreached:
		return Unreached
	case r.Finished || marked && r.Ended > stuck:
		return RankFinished
	case marked && r.Enqueued <= stuck && r.Enqueued < launches:
		return NotEnqueued
	case marked && r.Started <= stuck && r.Started < launches:
		return NotStarted
	}
	return NotFinished
}

// stuck is the first launch that not every rank has ended, counted from 0, and
// whether there are marks.
func (e *Evidence) stuck() (launch int, ok bool) {
	launch = e.Iterations
	for _, r := range e.Ranks {
		if r.Ended != nil {
			launch, ok = min(launch, *r.Ended), true
		}
	}
	return launch, ok
}

// Progress is the progress of each of count ranks from the first on: the input of
// SetRanksFrom as far as the evidence keeps it. Invalid, missing or other ranks' evidence
// is an error.
func (e *Evidence) Progress(first, count int) ([]RankProgress, error) {
	if e == nil {
		return nil, errors.New("no evidence")
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	ranks, have, ours := make([]RankProgress, count), 0, true
	sets := make([]string, len(e.Ranks))
	for i, r := range e.Ranks {
		list, _ := spans(r.Ranks) // checked
		for _, s := range list {
			if ours = ours && first <= s.first && s.last < first+count; !ours {
				break
			}
			for rank := s.first; rank <= s.last; rank++ {
				ranks[rank-first] = r.progress()
			}
		}
		sets[i], have = r.Ranks, have+r.Count
	}
	if !ours || have != count {
		return nil, fmt.Errorf("evidence of ranks %s; the process drives ranks %d to %d", strings.Join(sets, ","), first, first+count-1)
	}
	return ranks, nil
}

func (r *RankEvidence) progress() RankProgress {
	p := RankProgress{
		Lost: r.State == LostContact, Failed: r.State == RankFailed, Unreached: r.State == Unreached, Finished: r.State == RankFinished,
		Enqueued: r.Enqueued, Started: -1, Ended: -1, Error: r.Error,
	}
	if r.Started != nil && r.Ended != nil {
		p.Started, p.Ended = *r.Started, *r.Ended
	}
	return p
}
