package plan

import "time"

// Deadlines bound everything that can hang, in seconds of the provider's clock; Init is
// of the host's.
type Deadlines struct {
	// Init bounds opening a process's devices, and joining communicators.
	Init float64 `json:"init"`
	// First bounds the first operation of a collective on its communicators, which
	// connects the ranks. Minutes are usual with a thousand of them.
	First float64 `json:"first"`
	// Batch bounds every other batch of launches, or batchFactor times what the launches
	// before it suggest, if that is more.
	Batch float64 `json:"batch"`
}

// DefaultDeadlines are 10 min, 3 min and 30 s.
func DefaultDeadlines() Deadlines { return Deadlines{Init: 600, First: 180, Batch: 30} }

// batchFactor is how many times as long as predicted a batch may take.
const batchFactor = 20

// Of is the deadline of a batch of launches. perLaunch is what one is expected to take;
// negative if none has run on these communicators.
func (d Deadlines) Of(launches int, perLaunch float64) float64 {
	if perLaunch < 0 {
		return d.First
	}
	return max(d.Batch, batchFactor*perLaunch*float64(launches))
}

// OrDefault replaces zeros by the defaults.
func (d Deadlines) OrDefault() Deadlines {
	def := DefaultDeadlines()
	for _, f := range []struct {
		of  *float64
		def float64
	}{{&d.Init, def.Init}, {&d.First, def.First}, {&d.Batch, def.Batch}} {
		if *f.of <= 0 {
			*f.of = f.def
		}
	}
	return d
}

// Bound sets the deadlines that the leader waits for; zeros are the defaults.
func (g *Group) Bound(d Deadlines) { g.deadlines = d.OrDefault() }

// limitMargin is what the leader waits longer than the processes, in seconds: each of them
// reports its own deadline first, with evidence.
const limitMargin = 5

// ByItselfTime is how long ranks whose init did not end may take to join a communicator
// by themselves, which tells which of them is stuck.
const ByItselfTime = 5 * time.Second

// limit is how long the leader waits for the reports on an order, in seconds. It ends the
// wait for a process that hangs outside of a launch; a launch has a deadline of its own.
func (g *Group) limit(o Order) float64 {
	return o.Verb.within(g.deadlines.OrDefault(), g.slowest) + limitMargin
}
