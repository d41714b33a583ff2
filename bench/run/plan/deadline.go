package plan

import "time"

// Deadlines bound everything that can hang, in seconds. Init is on the host's clock. The other deadlines are on
// the provider's clock.
type Deadlines struct {
	// Init bounds opening a process's devices and joining communicators.
	Init float64 `json:"init"`
	// First bounds the first operation of a collective on its communicators, which connects the
	// ranks. With a thousand ranks it usually takes minutes.
	First float64 `json:"first"`
	// Batch bounds every other batch of launches. If batchFactor times the prediction from earlier
	// launches is longer, that is the bound.
	Batch float64 `json:"batch"`
}

// DefaultDeadlines are 10 min, 3 min and 30 s.
func DefaultDeadlines() Deadlines { return Deadlines{Init: 600, First: 180, Batch: 30} }

// batchFactor is the factor by which a batch may exceed its predicted time.
const batchFactor = 20

// Of returns the deadline of a batch of launches. perLaunch is the expected time of a launch, or negative if no
// launch has run on these communicators.
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

// Bound sets the leader's deadlines; zeros are the defaults.
func (g *Group) Bound(d Deadlines) { g.deadlines = d.OrDefault() }

// limitMargin is how much longer the leader waits than the deadlines of the processes, in seconds. In that time
// each process reports that its deadline has passed, with evidence.
const limitMargin = 5

// ByItselfTime is the time in which ranks whose init did not end try to join a communicator of their
// own. It shows which rank is stuck.
const ByItselfTime = 5 * time.Second

// limit returns how long the leader waits for the reports on an order, in seconds. It ends the wait
// for a process that hangs outside a launch; a launch has its own deadline.
func (g *Group) limit(o Order) float64 {
	d := g.deadlines.OrDefault()
	if own, has := o.Verb.(bounding); has {
		return own.within(d, g.slowest) + limitMargin
	}
	if _, launches, launched := o.Verb.batch(); launched {
		return d.launched(launches, g.slowest) + limitMargin
	}
	return d.Init + limitMargin
}

// bounding is a Verb with a time limit of its own.
type bounding interface {
	// Method `within` returns the limit in seconds. perLaunch is the longest launch of the current case.
	within(d Deadlines, perLaunch float64) float64
}

// launched returns how long launches may take, including the connections that the first launch makes.
func (d Deadlines) launched(launches int, perLaunch float64) float64 {
	return d.First + d.Of(launches, perLaunch)
}
