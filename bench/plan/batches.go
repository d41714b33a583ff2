package plan

import (
	"context"
	"slices"

	"zbench/bench/stat"
)

// Batches are the first batches of both timings of a pass. With several processes they take
// one order together.
type Batches struct {
	// Bursts are nil for none.
	Bursts *Bursts
	// Isolated is the number of isolated launches, 0 for none. They follow the bursts.
	Isolated int
}

// both reports whether there are batches of both timings.
func (b Batches) both() bool { return b.Bursts != nil && b.Isolated > 0 }

// Timed are the results of Batches.
type Timed struct {
	// Bursts are seconds per launch, by burst × rank.
	Bursts []float64
	// Isolated are seconds, by launch × rank.
	Isolated []float64
	// Held is Driver.Held of the isolated launches.
	Held bool
}

// Batching is a Driver that runs several batches in one call. There are bursts among them.
type Batching interface {
	Batches(context.Context, Batches) (Timed, error)
}

// runBatches runs batches on a driver. The slices are the caller's.
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

// rows is the number of times that a rank reports.
func (b Batches) rows() int {
	n := b.Isolated
	if b.Bursts != nil {
		n += b.Bursts.Count
	}
	return n
}

// launches is the number of launches.
func (b Batches) launches() int {
	n := b.Isolated
	if b.Bursts != nil {
		n += b.Bursts.Count * b.Bursts.Launches()
	}
	return n
}

// split gives each batch its times of all ranks.
func (b Batches) split(seconds []float64, ranks int, held bool) Timed {
	if b.Bursts == nil {
		return Timed{Isolated: seconds, Held: held}
	}
	at := b.Bursts.Count * ranks
	return Timed{Bursts: seconds[:at:at], Isolated: seconds[at:], Held: held && b.Isolated > 0}
}

// firstOf are the first batches of a case whose launches take some seconds each, within a
// factor. A timing is left out whose first batch depends on where in that range they are.
func firstOf(c Case, o Effort, launch, within float64) (b Batches) {
	bursts := burstOf(c, o)
	if n := firstCount(PerPass(o.Burst), launch*float64(bursts.Launches()), within); n > 0 {
		bursts.Count, b.Bursts = n, &bursts
	}
	b.Isolated = firstCount(PerPass(o.Isolated), launch, within)
	return b
}

// firstCount is the size of a timing's first batch of samples that are expected to take so
// many seconds, 0 if it depends on where within the factor they are.
func firstCount(rule stat.Rule, expected, within float64) int {
	rule.Expected = expected * within
	slow := rule.Decide(nil, 0)
	rule.Expected = expected / within
	if fast := rule.Decide(nil, 0); slow.Stop || fast != slow {
		return 0
	}
	return slow.Next
}

// timed reports the batches of an order, after what is reported already.
func (w *worker) timed(o Order, got Timed, r *Report) {
	r.Seconds = slices.Concat(r.Seconds, got.Bursts, got.Isolated)
	if o.Isolated > 0 {
		w.holding(got.Held, r)
	}
}

// holding reports whether isolated launches were held, and the next hold.
func (w *worker) holding(held bool, r *Report) {
	r.StartedEarly = !held
	if h, holds := w.p.(Holder); holds {
		r.Hold = h.NextHold()
	}
}

// Batches runs batches in all processes, with one order.
func (g *Group) Batches(_ context.Context, b Batches) (t Timed, err error) {
	o := Order{Do: DoBurst, Bursts: b.Bursts, Isolated: b.Isolated, Counters: g.counting && b.Isolated > 0}
	seconds, err := g.timed(o, b.rows())
	if err != nil {
		return t, err
	}
	return b.split(seconds, len(seconds)/b.rows(), g.held), nil
}

// holds takes from the reports on isolated launches whether they were held in all
// processes, and what the next ones are held back for.
func (g *Group) holds(o Order, reports []Report) {
	if o.Do != DoIsolated && o.Do != DoExchange && o.Isolated == 0 {
		return
	}
	g.hold = 0
	for _, r := range reports {
		g.hold = max(g.hold, r.Hold)
	}
	g.held = !slices.ContainsFunc(reports, func(r Report) bool { return r.StartedEarly })
}
