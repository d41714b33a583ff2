package plan

import (
	"encoding/json"
	"fmt"

	"zbench/bench/base/jsonfile"
	"zbench/bench/run/record"
)

// Order is one decision of the leader. It is equal for all processes, with one exception: an order with ids
// may have only the ids that its process needs. It is sent as JSON with the protocol number. An order of
// another protocol is refused.
type Order struct {
	// Limit is how long the leader waits for the reports, in seconds; 0 for ever.
	Limit float64
	// Counters asks for the counters of the NICs after the launches of the order.
	Counters bool
	Verb     Verb
}

// Ends reports whether the order ends a follower.
func (o Order) Ends() bool {
	_, ends := o.Verb.(End)
	return ends
}

// Verb is the action of an order with its arguments: a method of Process, or the end.
type Verb interface {
	// Name is the verb in messages between processes.
	Name() string
	// carryOut executes the verb on the ranks of a process and fills in the report.
	carryOut(w *worker, r *Report) error
	// batch returns the phase of the last launches and their number; false if the verb launches nothing.
	batch() (during string, launches int, launched bool)
}

// verbs reads the arguments of each verb.
var verbs = map[string]func([]byte) (Verb, error){
	Open{}.Name():         read[Open],
	AskBudget{}.Name():    read[AskBudget],
	MakeIDs{}.Name():      read[MakeIDs],
	Join{}.Name():         read[Join],
	Allocate{}.Name():     read[Allocate],
	Preparation{}.Name():  read[Preparation],
	Verify{}.Name():       read[Verify],
	WarmUp{}.Name():       read[WarmUp],
	Batches{}.Name():      read[Batches],
	Exchange{}.Name():     read[Exchange],
	Stage{}.Name():        read[Stage],
	Play{}.Name():         read[Play],
	Watch{}.Name():        read[Watch],
	Take{}.Name():         read[Take],
	ReadCounters{}.Name(): read[ReadCounters],
	End{}.Name():          read[End],
}

func read[V Verb](text []byte) (Verb, error) {
	var v V
	err := jsonfile.One(text, &v)
	return v, err
}

// orderMessage is an order with the number of the protocol. With has the arguments of the verb. They are a
// Verb when an order is sent, and text when it is read.
type orderMessage[With any] struct {
	Protocol int     `json:"protocol"`
	Do       string  `json:"do"`
	Limit    float64 `json:"limit,omitempty"`
	Counters bool    `json:"counters,omitempty"`
	With     With    `json:"with"`
}

// MarshalJSON adds the number of the protocol.
func (o Order) MarshalJSON() ([]byte, error) {
	if o.Verb == nil {
		return nil, fmt.Errorf("%w: it has no verb", errOrder)
	}
	return json.Marshal(orderMessage[Verb]{Protocol, o.Verb.Name(), o.Limit, o.Counters, o.Verb})
}

// UnmarshalJSON refuses an order of another protocol, or with an unknown field: an
// order must not be executed in part.
func (o *Order) UnmarshalJSON(text []byte) error {
	var in orderMessage[json.RawMessage]
	if err := decode("an order", text, &in, &in.Protocol); err != nil {
		return err
	}
	*o = Order{Limit: in.Limit, Counters: in.Counters, Verb: unknown{verb: in.Do}}
	arguments, known := verbs[in.Do]
	switch {
	case !known:
		return nil // its execution fails, and the report on it reaches the leader
	case len(in.With) == 0 || string(in.With) == "null":
		return fmt.Errorf("%w: %q lacks its arguments", errOrder, in.Do)
	}
	verb, err := arguments(in.With)
	if err != nil {
		return fmt.Errorf("an order that this zbench does not know: %q: %w; %s", in.Do, err, sameBuild)
	}
	o.Verb = verb
	return nil
}

// unknown is a verb that this zbench does not have.
type unknown struct {
	still
	verb string
}

func (u unknown) Name() string { return u.verb }

func (u unknown) carryOut(*worker, *Report) error {
	return fmt.Errorf("%w: %q is not known; %s", errOrder, u.verb, sameBuild)
}

// Type `still` is embedded in verbs that launch nothing.
type still struct{}

func (still) batch() (string, int, bool) { return "", 0, false }

// Open opens the ranks of a process that has not opened them yet.
type Open struct{}

// Name returns the verb.
func (Open) Name() string { return "open" }

func (Open) batch() (string, int, bool) { return record.DuringOpen, 1, false }

func (Open) carryOut(w *worker, r *Report) (err error) {
	if w.open != nil {
		w.p, r.Facts, err = w.open(w.whole())
		w.open = nil
	}
	return err
}

// AskBudget asks for the memory of the ranks' buffers.
type AskBudget struct{ still }

// Name returns the verb.
func (AskBudget) Name() string { return "budget" }

func (AskBudget) carryOut(w *worker, r *Report) (err error) {
	r.Budget, err = w.p.Budget()
	return err
}

// MakeIDs makes the unique ids of communicators whose rank 0 is in the process.
type MakeIDs struct {
	still
	Comms Comms `json:"comms"`
}

// Name returns the verb.
func (MakeIDs) Name() string { return "ids" }

func (v MakeIDs) carryOut(w *worker, r *Report) (err error) {
	if err = v.Comms.check(); err == nil {
		r.IDs, err = w.p.IDs(v.Comms)
	}
	return err
}

// Join joins communicators, which replace the current ones or are added to them (Beside).
type Join struct {
	Comms  Comms    `json:"comms"`
	IDs    []CommID `json:"ids,omitempty"`
	Beside bool     `json:"beside,omitempty"`
}

// Name returns the verb.
func (Join) Name() string { return "join" }

func (Join) batch() (string, int, bool) { return record.DuringInit, 1, false }

func (Join) within(d Deadlines, _ float64) float64 { return d.Init + ByItselfTime.Seconds() }

func (v Join) carryOut(w *worker, r *Report) error {
	if err := v.Comms.check(); err != nil {
		return err
	}
	if v.Beside {
		return w.play(func(p Player) error { return p.JoinBeside(w.whole(), v.Comms, v.IDs) })
	}
	err := w.p.Join(w.whole(), v.Comms, v.IDs)
	if err == nil {
		r.Unverifiable = w.p.Unverifiable(Case{}) // the zero case: the reason applies to all cases
	}
	return err
}

// Allocate allocates the ranks' buffers, with the cache to rotate over.
type Allocate struct {
	still
	Room Room `json:"room"`
}

// Name returns the verb.
func (Allocate) Name() string { return "allocate" }

func (Allocate) within(d Deadlines, _ float64) float64 { return d.Init + d.First }

func (v Allocate) carryOut(w *worker, _ *Report) error { return w.p.Allocate(w.whole(), v.Room) }

// Name returns the verb.
func (Preparation) Name() string { return "prepare" }

// batch describes the last launches of the preparation.
func (p Preparation) batch() (string, int, bool) {
	if during, launches, launched := p.First.batch(); launched {
		return during, launches, true
	}
	if p.Verify {
		return record.DuringVerification, 1, true
	}
	return record.DuringWarmUp, p.Warmup, p.Warmup > 0
}

func (p Preparation) within(d Deadlines, perLaunch float64) float64 {
	if _, _, launches := p.batch(); !launches {
		return d.Init
	}
	return d.launched(p.Warmup+1+p.First.launches(), perLaunch)
}

// carryOut begins a case. The leader decides whether the case is verified. If this process cannot verify the
// case, other options were used to open the process.
func (p Preparation) carryOut(w *worker, r *Report) error {
	w.c = p.Case
	got, err := Prepare(w.whole(), w.p, p)
	if err == nil && got.Unverifiable != "" {
		err = fmt.Errorf("this process cannot verify what the others verify: %s", got.Unverifiable)
	}
	r.Seconds, r.Verified = got.Seconds, got.Verified
	w.timed(p.First, got.First, r)
	return err
}

// Verify verifies a launch of the current case.
type Verify struct {
	Launch int `json:"launch"`
}

// Name returns the verb.
func (Verify) Name() string { return "verify" }

func (Verify) batch() (string, int, bool) { return record.DuringVerification, 1, true }

func (v Verify) carryOut(w *worker, r *Report) (err error) {
	r.Verified, err = w.p.Verify(w.whole(), w.c, v.Launch)
	return err
}

// WarmUp runs warm-up launches.
type WarmUp struct {
	Launches int `json:"launches"`
}

// Name returns the verb.
func (WarmUp) Name() string { return "warm-up" }

func (v WarmUp) batch() (string, int, bool) { return record.DuringWarmUp, v.Launches, true }

func (v WarmUp) carryOut(w *worker, r *Report) (err error) {
	r.Seconds, err = w.p.WarmUp(w.whole(), v.Launches)
	return err
}

// Name returns the verb.
func (Batches) Name() string { return "batches" }

// batch describes the later of the two timings.
func (b Batches) batch() (string, int, bool) {
	switch {
	case b.Isolated > 0:
		return record.DuringIsolated, b.Isolated, true
	case b.Bursts != nil:
		return record.DuringBurst, b.Bursts.Launches(), true
	}
	return "", 0, false
}

func (b Batches) within(d Deadlines, perLaunch float64) float64 {
	return d.launched(b.launches(), perLaunch)
}

// carryOut runs the batches, with the hold that all processes use.
func (b Batches) carryOut(w *worker, r *Report) error {
	if b.rows() < 1 {
		return fmt.Errorf("%w: %q lacks its arguments", errOrder, b.Name())
	}
	if h, holds := w.p.(Holder); holds && b.Hold > 0 {
		h.SetHold(b.Hold)
	}
	got, err := runBatches(w.whole(), w.p, b)
	w.timed(b, got, r)
	return err
}

// ReadCounters asks for the counters of the NICs.
type ReadCounters struct{ still }

// Name returns the verb.
func (ReadCounters) Name() string { return "counters" }

func (ReadCounters) carryOut(w *worker, r *Report) error {
	r.NICs = CountersOf(w.p)
	return nil
}

// End ends a follower.
type End struct{ still }

// Name returns the verb.
func (End) Name() string { return "end" }

func (v End) carryOut(*worker, *Report) error {
	return fmt.Errorf("%w: %q reports nothing", errOrder, v.Name())
}
