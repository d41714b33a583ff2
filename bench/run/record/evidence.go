package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
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
	// Ranks covers every rank that took part; ranks with equal evidence share an entry.
	Ranks []RankEvidence `json:"ranks"`
	// Suspects are the ranks that most likely keep the others waiting, as ranges. If Certain is false,
	// the evidence cannot decide among these ranks.
	Suspects string `json:"suspects,omitempty" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// Certain is true if the evidence separates the suspects from the waiting ranks.
	Certain bool `json:"certain,omitempty"`
	// Witness is a second source's report after the deadline; absent if none was asked.
	Witness *Witness `json:"witness,omitempty"`
}

// RankEvidence describes ranks with equal evidence.
type RankEvidence struct {
	// State of the ranks at the first launch that some rank has not ended, or of the whole batch if
	// its launches have no marks.
	State RankState `json:"state"`
	// Ranks are numbers in the whole world, as ranges: "0-4,6".
	Ranks string `json:"ranks" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// Number of these ranks.
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

// RankState is the progress of a rank.
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

// RankStates returns all states. The caller may change the slice.
func RankStates() []RankState { return slices.Clone(rankStates) }

// Phases of a case: the values of Evidence.During.
const (
	DuringOpen         = "open"
	DuringInit         = "init"
	DuringWarmUp       = "warm_up"
	DuringVerification = "verification"
	DuringBurst        = "burst"
	DuringIsolated     = "isolated"
)

// phases describe the values of Evidence.During.
var phases = map[string]string{
	DuringOpen: "opening the devices", DuringInit: "the init of the communicators", DuringWarmUp: "the warm-up", DuringVerification: "the verification", DuringBurst: "a burst", DuringIsolated: "isolated timing",
}

// RankProgress is the progress of one rank in a batch that did not end.
type RankProgress struct {
	// Lost is true if the rank's process no longer answers. Failed is true if the process answers with
	// an error. The rank's progress is then unknown.
	Lost, Failed bool
	// Unreached is true if the process through which the rank is connected was lost.
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

// SetRanks fills in Ranks from the progress of rank 0, 1, … of the world.
func (e *Evidence) SetRanks(ranks []RankProgress) { e.SetRanksFrom(0, ranks) }

// SetRanksFrom fills in Ranks from the progress of rank first, first+1, … of the world.
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
	order, members := slice.Group(slice.Numbers(len(ranks)), func(i int) progressGroup {
		r := ranks[i]
		one := progressGroup{state: r.state(marked, stuck, e.Iterations), enqueued: r.Enqueued, err: r.Error}
		if marked && r.known() {
			one.started, one.ended = r.Started, r.Ended
		}
		return one
	})
	slices.SortStableFunc(order, func(a, b progressGroup) int {
		return cmp.Or(cmp.Compare(place(a.state, a.err), place(b.state, b.err)), cmp.Compare(slices.Index(rankStates, a.state), slices.Index(rankStates, b.state)))
	})
	e.Ranks = make([]RankEvidence, len(order))
	for i, one := range order {
		numbers := slice.Map(members[one], func(i int) int { return first + i })
		e.Ranks[i] = RankEvidence{State: one.state, Ranks: RankSet(numbers), Count: len(numbers), Enqueued: one.enqueued, Error: one.err}
		if marked && ranks[members[one][0]].known() {
			e.Ranks[i].Started, e.Ranks[i].Ended = &one.started, &one.ended
		}
	}
	e.suspect()
}

// place orders states by how strongly they point to the cause of a hang, the strongest first. An
// asynchronous error is weaker than a failure and stronger than a missing launch.
func place(state RankState, err string) int {
	at, failed := slices.Index(rankStates, state), slices.Index(rankStates, RankFailed)
	if at > failed && state != Unreached && err != "" {
		return 2*failed + 1
	}
	return 2 * at
}

// state returns the progress of a rank. With marks, stuck is the first launch that some rank has
// not ended, counted from 0.
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

// stuck returns the first launch that some rank has not ended, counted from 0; false without marks.
func (e *Evidence) stuck() (launch int, ok bool) {
	launch = e.Iterations
	for _, r := range e.Ranks {
		if r.Ended != nil {
			launch, ok = min(launch, *r.Ended), true
		}
	}
	return launch, ok
}

// Progress returns the progress of each of count ranks from first on, in SetRanksFrom's form. It
// fails if the evidence is nil, invalid or about other ranks.
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
		list, _ := spans(r.Ranks) // check has accepted this text
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

// check refuses values that no evidence can have.
func (e *Evidence) check() error {
	if e == nil {
		return nil
	}
	if phases[e.During] == "" || e.Iterations < 0 || e.Iterations > maxCount || len(e.Ranks) == 0 {
		return fmt.Errorf("evidence during %q, %d launches, %d groups of ranks", e.During, e.Iterations, len(e.Ranks))
	}
	if d := e.Deadline; d != nil && !(*d >= 0 && *d <= maxSeconds) {
		return fmt.Errorf("evidence: a deadline of %g s", *d)
	}
	if err := e.Witness.check(); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	var all []span
	for _, r := range e.Ranks {
		if err := r.check(e.Iterations); err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		list, _ := spans(r.Ranks) // r.check has accepted this text
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b span) int { return a.first - b.first })
	for i := 1; i < len(all); i++ {
		if all[i].first <= all[i-1].last {
			return fmt.Errorf("evidence: rank %d is listed twice", all[i].first)
		}
	}
	return nil
}

func (r RankEvidence) check(iterations int) error {
	count, err := RanksIn(r.Ranks)
	if err != nil {
		return err
	}
	switch {
	case !slices.Contains(rankStates, r.State):
		return fmt.Errorf("state %q: valid are %q", r.State, rankStates)
	case count != r.Count:
		return fmt.Errorf("ranks %s: count is %d, not %d", r.Ranks, count, r.Count)
	}
	for _, n := range []*int{&r.Enqueued, r.Started, r.Ended} {
		if n != nil && (*n < 0 || *n > iterations) {
			return fmt.Errorf("ranks %s: %d of %d launches", r.Ranks, *n, iterations)
		}
	}
	return nil
}

// reports returns true for ranks whose own communicator has an asynchronous error.
func (r *RankEvidence) reports() bool { return r.Error != "" && r.progress().known() }

// having returns a test for a state.
func having(state RankState) func(RankEvidence) bool {
	return func(r RankEvidence) bool { return r.State == state }
}

// suspect fills in Suspects and Certain. The suspects are the ranks with the strongest sign. If more
// than half of the ranks have that sign, they may be the waiting ranks, and Certain is false. Lost ranks
// and ranks that do not open are always certain, because they wait for no other rank. An asynchronous
// error is a sign only if some ranks report one and others do not: a communicator reports the errors
// of its own process.
func (e *Evidence) suspect() {
	all, _ := e.count()
	ranksOf := func(has func(RankEvidence) bool) (set string, n int) {
		var ranks []int
		for _, r := range e.Ranks {
			if !has(r) {
				continue
			}
			list, _ := spans(r.Ranks) // SetRanksFrom has written this text
			for _, s := range list {
				for rank := s.first; rank <= s.last; rank++ {
					ranks = append(ranks, rank)
				}
			}
		}
		slices.Sort(ranks)
		return RankSet(ranks), len(ranks)
	}
	lost := having(LostContact)
	for _, sign := range []func(RankEvidence) bool{lost, having(RankFailed), e.someReport(), having(NotEnqueued), having(NotStarted)} {
		if set, n := ranksOf(sign); n > 0 {
			_, gone := ranksOf(lost)
			e.Suspects, e.Certain = set, gone > 0 || e.During == DuringOpen || 2*n <= all
			return
		}
	}
	set, _ := ranksOf(func(r RankEvidence) bool { return r.State != RankFinished && r.State != Unreached })
	e.Suspects, e.Certain = set, false
}

// someReport returns a test for an asynchronous error. It holds for no rank if all ranks report one.
func (e *Evidence) someReport() func(RankEvidence) bool {
	all := !slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return !r.reports() })
	return func(r RankEvidence) bool { return !all && r.reports() }
}

// Reported names the ranks that report an asynchronous error; empty if none or all do, or if
// another sign is stronger.
func (e *Evidence) Reported() string {
	if !e.Certain || e.Ranks[0].State == LostContact || e.Ranks[0].State == RankFailed || !slices.ContainsFunc(e.Ranks, e.someReport()) {
		return ""
	}
	return e.suspects()
}

// suspects names the suspects; empty if there are none.
func (e *Evidence) suspects() string {
	n, err := RanksIn(e.Suspects)
	if err != nil {
		return ""
	}
	all, _ := e.count()
	return RankText(e.Suspects, n, all)
}

// culprit names the suspects, or calls them candidates.
func (e *Evidence) culprit() string {
	switch text := e.suspects(); {
	case text == "":
		return ""
	case e.Certain:
		return "; culprit: " + text
	default:
		return "; cannot tell which rank is the culprit, candidates: " + text
	}
}

// Text returns the state as text.
func (s RankState) Text() string { return strings.ReplaceAll(string(s), "_", " ") }

// Where describes the launch that did not end, and its phase.
func (e *Evidence) Where() string {
	launch, ok := e.stuck()
	switch what := phases[e.During]; {
	case e.During == DuringOpen || e.During == DuringInit:
		return "in " + what
	case !ok:
		return fmt.Sprintf("in %s of %d launches", what, e.Iterations)
	case launch >= e.Iterations:
		return fmt.Sprintf("after the %d launches of %s", e.Iterations, what)
	default:
		return fmt.Sprintf("in launch %d of %d of %s", launch+1, e.Iterations, what)
	}
}

// count returns the number of ranks and the number of missing ranks.
func (e *Evidence) count() (all, missing int) {
	for _, r := range e.Ranks {
		all += r.Count
		switch r.State {
		case LostContact, RankFailed, NotEnqueued, NotStarted, Unreached:
			missing += r.Count
		case NotFinished, RankFinished:
		}
	}
	return all, missing
}

// Verdict states what the waiting ranks wait for, what to check, and the certain or possible culprit.
func (e *Evidence) Verdict() string { return e.explanation() + e.culprit() }

func (e *Evidence) explanation() string {
	_, missing := e.count()
	_, marked := e.stuck()
	failed := slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return r.State == LostContact || r.State == RankFailed })
	notStarted := !slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return r.State != NotStarted })
	switch {
	case (e.During == DuringOpen || e.During == DuringInit) && e.Certain:
		return "the others wait for the ranks named here: check their GPUs (dmesg, " + backend.Tools() + "), processes and hosts"
	case e.During == DuringOpen || e.During == DuringInit:
		return "all ranks are in the same call, which does not tell who has not joined: check whether every process can reach the others (NCCL_SOCKET_IFNAME, firewalls); with NCCL_DEBUG=INFO the rank that prints no Init START is the stuck one"
	case failed:
		return "the other ranks wait for those that failed or are lost: check their processes, GPUs and hosts"
	case e.Reported() != "":
		return "only the ranks named here report an asynchronous error, the others wait for them: check their GPUs, NICs and cables, then the peers that they are connected to"
	case notStarted:
		return "no rank has started it, so no rank is named: check what precedes it, such as connecting, and whether every process can reach the others"
	case missing > 0:
		return "the other ranks wait for those that have not started: check their GPUs, processes and hosts"
	case marked:
		return "all ranks have started, none is missing: check the links and rails between them"
	}
	return fmt.Sprintf("it is unknown which ranks have started: a timed burst has no marks; its warm-up has (-w, up to %d)", MaxMarks)
}

// MaxMarks is the largest number of launches in a batch with marks.
const MaxMarks = 64

// Text returns the evidence as a sentence: the launch, the state of each rank, the verdict.
func (e *Evidence) Text() string {
	all, _ := e.count()
	var parts []string
	for _, r := range e.Ranks {
		part := RankText(r.Ranks, r.Count, all) + " " + r.State.Text()
		if r.Error != "" {
			part += " (" + r.Error + ")"
		}
		parts = append(parts, part)
	}
	return e.Where() + ": " + strings.Join(append(parts, e.Verdict()), "; ")
}
