package plan

import (
	"context"
	"slices"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// Batches are the next bursts and isolated launches of a pass. Several processes run them with one order.
type Batches struct {
	// Bursts is nil if there are no bursts.
	Bursts *Bursts `json:"bursts,omitempty"`
	// Isolated is the number of isolated launches, 0 for none. They follow the bursts.
	Isolated int `json:"isolated,omitempty"`
	// Hold is the time for which isolated launches are held back, in seconds per launch; 0 leaves it to
	// the process.
	Hold float64 `json:"hold,omitempty"`
}

// Method `both` reports whether there are batches of both timings.
func (b Batches) both() bool { return b.Bursts != nil && b.Isolated > 0 }

// Timed is the result of Batches.
type Timed struct {
	// Bursts are seconds per launch, by burst × rank.
	Bursts []float64
	// Isolated are seconds, by launch × rank.
	Isolated []float64
	// Held is the result of Driver.Held for the isolated launches.
	Held bool
}

// Batching is a Driver that runs bursts and isolated launches in one call.
type Batching interface {
	Batches(context.Context, Batches) (Timed, error)
}

// runBatches runs batches on a driver. The caller may keep the slices.
func runBatches(ctx context.Context, d Driver, b Batches) (t Timed, err error) {
	if whole, ok := d.(Batching); ok && b.Bursts != nil {
		return whole.Batches(ctx, b)
	}
	if b.Bursts != nil {
		t.Bursts, err = d.Burst(ctx, *b.Bursts)
		t.Bursts = slices.Clone(t.Bursts)
	}
	if b.Isolated > 0 && err == nil {
		t.Isolated, err = d.Isolated(ctx, b.Isolated)
		t.Isolated, t.Held = slices.Clone(t.Isolated), d.Held()
	}
	return t, err
}

// rows returns the number of times that each rank reports.
func (b Batches) rows() int {
	n := b.Isolated
	if b.Bursts != nil {
		n += b.Bursts.Count
	}
	return n
}

// launches returns the number of launches.
func (b Batches) launches() int {
	n := b.Isolated
	if b.Bursts != nil {
		n += b.Bursts.Count * b.Bursts.Launches()
	}
	return n
}

// split divides the seconds of all ranks between the two timings.
func (b Batches) split(seconds []float64, ranks int, held bool) Timed {
	if b.Bursts == nil {
		return Timed{Isolated: seconds, Held: held}
	}
	at := b.Bursts.Count * ranks
	return Timed{Bursts: seconds[:at:at], Isolated: seconds[at:], Held: held && b.Isolated > 0}
}

// firstOf returns the first batches of a case. The argument launch is the expected time of a launch, in
// seconds. The real time may differ from it by a factor, the argument within. A timing is left out if the
// size of its first batch depends on the place of the real time in this range.
func firstOf(c Case, o Effort, launch, within float64) (b Batches) {
	bursts := burstOf(c, o)
	if n := firstCount(PerPass(o.Burst), launch*float64(bursts.Launches()), within); n > 0 {
		bursts.Count, b.Bursts = n, &bursts
	}
	b.Isolated = firstCount(PerPass(o.Isolated), launch, within)
	return b
}

// firstCount returns the size of a timing's first batch, or 0 if this size depends on the exact time of a
// sample. The time of a sample may differ from the expected seconds by a factor, the argument within.
func firstCount(rule stat.Rule, expected, within float64) int {
	rule.Expected = expected * within
	slow := rule.Decide(nil, 0)
	rule.Expected = expected / within
	if fast := rule.Decide(nil, 0); slow.Stop || fast != slow {
		return 0
	}
	return slow.Next
}

// timed adds three results of batches to the report: the times, whether isolated launches were held, and
// the next hold.
func (w *worker) timed(b Batches, got Timed, r *Report) {
	r.Seconds = slices.Concat(r.Seconds, got.Bursts, got.Isolated)
	if b.Isolated < 1 {
		return
	}
	r.StartedEarly = !got.Held
	if h, holds := w.p.(Holder); holds {
		r.Hold = h.NextHold()
	}
}

// Batches runs batches in all processes, with one order.
func (g *Group) Batches(_ context.Context, b Batches) (t Timed, err error) {
	seconds, err := g.timed(Order{Verb: b, Counters: g.counting && b.Isolated > 0}, b.rows())
	if err != nil {
		return t, err
	}
	return b.split(seconds, len(seconds)/b.rows(), g.held), nil
}

// holds reads two facts from the reports: whether all processes held their isolated launches, and the next
// hold.
func (g *Group) holds(o Order, reports []Report) {
	if during, _, _ := o.Verb.batch(); during != record.DuringIsolated {
		return
	}
	g.hold = 0
	for _, r := range reports {
		g.hold = max(g.hold, r.Hold)
	}
	g.held = !slices.ContainsFunc(reports, func(r Report) bool { return r.StartedEarly })
}

// Holder is a Driver that holds streams back while the host enqueues isolated launches. The hold depends
// on the host's clock. All processes use the longest hold, because figures must not depend on how ranks
// are divided among processes.
type Holder interface {
	// NextHold returns the hold that the driver would use next, in seconds per launch.
	NextHold() float64
	// SetHold replaces that hold.
	SetHold(seconds float64)
}

// NextHold returns the longest hold of all processes.
func (g *Group) NextHold() float64 { return g.hold }

// SetHold sets the hold in all processes, with the next order.
func (g *Group) SetHold(seconds float64) { g.hold = seconds }

// Preparation is the beginning of a case's pass.
type Preparation struct {
	Case Case `json:"case"`
	Pass int  `json:"pass,omitempty"`
	// Warmup is the number of warm-up launches, 0 for none. Verify asks for the first
	// verification launch, if the case can be verified.
	Warmup int  `json:"warmup,omitempty"`
	Verify bool `json:"verify,omitempty"`
	// First are those first batches of the pass whose size does not depend on the warm-up.
	First Batches `json:"first,omitzero"`
}

// Prepared is the result of a Preparation.
type Prepared struct {
	// Seconds are the warm-up's seconds per launch, by rank; nil without warm-up.
	Seconds []float64
	// Unverifiable is the reason why the case was not verified, empty if it was or if
	// no verification was asked for.
	Unverifiable string
	Verified     Verification
	First        Timed
}

// Preparer is a Driver that does a whole Preparation in one call.
type Preparer interface {
	Prepare(context.Context, Preparation) (Prepared, error)
}

// Prepare begins a pass of a case on a driver.
func Prepare(ctx context.Context, d Driver, p Preparation) (out Prepared, err error) {
	if whole, ok := d.(Preparer); ok {
		return whole.Prepare(ctx, p)
	}
	if err = d.Begin(p.Case, p.Pass); err != nil {
		return out, err
	}
	if p.Warmup > 0 {
		if out.Seconds, err = d.WarmUp(ctx, p.Warmup); err != nil {
			return out, err
		}
		out.Seconds = slices.Clone(out.Seconds)
	}
	if p.Verify {
		if out.Unverifiable = d.Unverifiable(p.Case); out.Unverifiable == "" {
			out.Verified, err = d.Verify(ctx, p.Case, 0)
		}
	}
	if err == nil {
		out.First, err = runBatches(ctx, d, p.First)
	}
	return out, err
}
