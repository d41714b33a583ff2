package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Group is the leader's Process for several processes: each call sends one order to all
// of them and merges their reports. Slices contain all ranks, in the order of the
// processes.
type Group struct {
	// Registering is this process's library. The other processes have the same library, and all processes
	// register together.
	Registering
	own    worker
	others Followers
	world  []Member
	// The list first has the first rank of each process. Its last element is the number of all ranks.
	first []int
	ctx   context.Context
	stop  context.CancelCauseFunc
	// lanes are the current communicators. A case uses lanes[0]. active is the number of ranks in the
	// current case, which are the first ranks of the world. staged is true if a step with messages is
	// kept.
	lanes  []Comms
	active int
	staged bool
	// unverifiable is the reason why a process cannot verify any case; empty if all processes can.
	unverifiable string
	// held is true if all processes held their streams in the last isolated launches.
	held bool
	// deadlines bound the orders; slowest is the longest launch of the current case, in
	// seconds.
	deadlines Deadlines
	slowest   float64
	// countless is true once it is known that no process has NIC counters. counting is true once it is
	// known that a process has NIC counters.
	countless, counting bool
	// counted are the counters in the reports on the last order; nil if it did not request them.
	counted []record.NICCounters
	// hold is the hold of the next isolated launches, in seconds per launch; 0 leaves it to the
	// processes.
	hold float64
}

// Member is one process of the world.
type Member struct {
	// Host is the name of the process's host, empty if unknown.
	Host string
	// Ranks is the number of its ranks. The numbers of these ranks follow the numbers of the previous
	// process.
	Ranks int
}

// Lead makes this process the leader of the others. The world lists all processes: first this process,
// then the other processes in the order of their reports. The sweep must run under the returned context,
// which ends with ctx or when a follower receives a signal. Call End afterwards.
func Lead(ctx context.Context, own Process, others Followers, world []Member) (*Group, context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	g := &Group{Registering: unregistered{}, own: worker{p: own, ties: tiesOf(others)}, others: others, world: world, first: []int{0}, ctx: ctx, stop: stop}
	for i, m := range world {
		g.first = append(g.first, g.first[i]+m.Ranks)
	}
	g.active = g.first[len(world)]
	if r, ok := own.(Registering); ok {
		g.Registering = r
	}
	return g, ctx
}

// activeOf returns its argument first, and the number of ranks from this rank on that take part in the
// current case.
func (g *Group) activeOf(first, ranks int) (start, active int) {
	return first, max(0, min(ranks, g.active-first))
}

// name names a process.
func (g *Group) name(member int) string {
	return record.ProcessText([]int{member}, len(g.world)+1)
}

// End ends the followers.
func (g *Group) End() {
	g.others.Send(Order{Verb: End{}})
	g.stop(nil)
}

// Method `do` sends an order and returns all reports. The report of this process is the first. After a
// signal to stop it sends no further order. An order that was sent is always executed completely.
func (g *Group) do(o Order) ([]Report, error) { return g.doEach(o, nil) }

// doEach sends each member its own order if the connection can do this. Otherwise it sends the same order
// to all members.
func (g *Group) doEach(o Order, each []Order) ([]Report, error) {
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	o.Limit, g.counted = g.limit(o), nil
	for i := range each {
		each[i].Limit = o.Limit
	}
	if to, ok := g.others.(Addressed); ok && each != nil {
		to.SendEach(each[1:])
	} else {
		g.others.Send(o)
	}
	own := g.own.bound(o)
	reports := append([]Report{own}, g.others.Reports(own)...)
	if len(reports) != len(g.world) {
		return nil, fmt.Errorf("%d reports of %d processes", len(reports), len(g.world))
	}
	for i, r := range reports {
		if r.Stop {
			g.stop(asked(g.name(i)))
		}
	}
	err := g.describeFailures(o, reports)
	if err != nil || o.Counters {
		g.counted = nicsOf(reports)
	}
	return reports, err
}

// asked is the cause of a cancellation: a process received a signal to stop.
type asked string

func (a asked) Error() string { return string(a) + " was asked to stop" }
func (asked) Unwrap() error   { return context.Canceled }

// Open makes the followers open their ranks. It returns each follower's description of itself, in order.
func (g *Group) Open() ([]json.RawMessage, error) {
	reports, err := g.do(Order{Verb: Open{}})
	if err != nil {
		return nil, err
	}
	return slice.Map(reports[1:], func(r Report) json.RawMessage { return r.Facts }), nil
}

// Budget returns the least memory over all processes, and the largest cache.
func (g *Group) Budget() (Room, error) {
	reports, err := g.do(Order{Verb: AskBudget{}})
	if err != nil {
		return Room{}, err
	}
	room := reports[0].Budget
	for _, r := range reports {
		room.Bytes, room.Cache = min(room.Bytes, r.Budget.Bytes), max(room.Cache, r.Budget.Cache)
	}
	return room, nil
}

// Allocate allocates an arena for every rank of all processes. Before the first call the ranks join a
// communicator of all ranks.
func (g *Group) Allocate(ctx context.Context, need Room) error {
	if len(g.lanes) == 0 {
		if err := g.joined(ctx, Comms{Ranks: g.first[len(g.world)], Count: 1}); err != nil {
			return err
		}
	}
	_, err := g.do(Order{Verb: Allocate{Room: need}})
	return err
}

// Begin announces the case in all processes. If other communicators are current, the ranks first join the
// communicators of the case.
func (g *Group) Begin(c Case, pass int) error {
	_, err := g.Prepare(g.ctx, Preparation{Case: c, Pass: pass})
	return err
}

// Prepare begins a pass in all processes, with one order.
func (g *Group) Prepare(ctx context.Context, p Preparation) (out Prepared, err error) {
	if err = g.joined(ctx, p.Case.Comms()); err != nil {
		return out, err
	}
	if p.Verify {
		out.Unverifiable = g.Unverifiable(p.Case)
		p.Verify = out.Unverifiable == ""
	}
	o := Order{Verb: p, Counters: g.counting && p.First.Isolated > 0}
	g.hold, g.slowest = 0, 0
	reports, err := g.do(o)
	warm := min(p.Warmup, 1)
	rows := warm + p.First.rows()
	if err == nil && rows > 0 {
		out.Seconds, err = g.rows(o, reports, rows)
	}
	if err == nil && p.First.rows() > 0 {
		ranks := len(out.Seconds) / rows
		g.holds(o, reports)
		out.First = p.First.split(out.Seconds[warm*ranks:], ranks, g.held)
		out.Seconds = out.Seconds[: warm*ranks : warm*ranks]
	}
	out.Verified = wrongOf(reports)
	return out, err
}

// Unverifiable returns the reason why a process cannot verify the case; then no process verifies it.
// Reasons that depend on the case are equal in all processes.
func (g *Group) Unverifiable(c Case) string {
	if g.unverifiable != "" {
		return g.unverifiable
	}
	return g.own.p.Unverifiable(c)
}

// Verify adds up the results of all processes.
func (g *Group) Verify(_ context.Context, _ Case, launch int) (Verification, error) {
	reports, err := g.do(Order{Verb: Verify{Launch: launch}})
	return wrongOf(reports), err
}

// wrongOf adds up the wrong elements of all processes.
func wrongOf(reports []Report) (all Verification) {
	for _, r := range reports {
		if all.Wrong == 0 {
			all.First = r.Verified.First
		}
		all.Wrong += r.Verified.Wrong
		all.Located = append(all.Located, r.Verified.Located...)
		all.Blocks, all.BlockBytes = max(all.Blocks, r.Verified.Blocks), max(all.BlockBytes, r.Verified.BlockBytes)
	}
	return all
}

// WarmUp runs the warm-up launches in all processes.
func (g *Group) WarmUp(_ context.Context, launches int) ([]float64, error) {
	return g.timed(Order{Verb: WarmUp{Launches: launches}}, 1)
}

// Burst runs bursts in all processes.
func (g *Group) Burst(_ context.Context, b Bursts) ([]float64, error) {
	return g.timed(Order{Verb: Batches{Bursts: &b}}, b.Count)
}

// Isolated runs isolated launches in all processes.
func (g *Group) Isolated(_ context.Context, launches int) ([]float64, error) {
	return g.timed(Order{Verb: Batches{Isolated: launches, Hold: g.hold}, Counters: g.counting}, launches)
}

// Held reports whether the last isolated launches were held in all processes.
func (g *Group) Held() bool { return g.held }

func (g *Group) timed(o Order, rows int) ([]float64, error) {
	reports, err := g.do(o)
	if err != nil {
		return nil, err
	}
	g.holds(o, reports)
	return g.rows(o, reports, rows)
}

// rows joins the processes' seconds row by row: each process has one value for each of
// its active ranks.
func (g *Group) rows(o Order, reports []Report, rows int) ([]float64, error) {
	for i, r := range reports {
		if _, ranks := g.activeOf(g.first[i], g.world[i].Ranks); len(r.Seconds) != rows*ranks {
			reports[i].Failure = Failing(FailedOrder, fmt.Sprintf("reports %d times for %s: %d times of %d ranks were ordered", len(r.Seconds), o.Verb.Name(), rows, ranks)).Failure
		}
	}
	if err := g.describeFailures(o, reports); err != nil {
		return nil, err
	}
	var all []float64
	for row := range rows {
		for _, r := range reports {
			ranks := len(r.Seconds) / rows
			all = append(all, r.Seconds[row*ranks:(row+1)*ranks]...)
		}
	}
	if len(all) > 0 {
		g.slowest = max(g.slowest, slices.Max(all))
	}
	return all, nil
}

// EventFloor returns this process's event floor.
func (g *Group) EventFloor() float64 { return g.own.p.EventFloor() }

// Counting is a Driver that reads NIC counters, on the nodes that have any.
type Counting interface {
	// Counters returns the present values on all nodes; empty if no counter is read. Unreadable
	// counters are left out, because they are no reason to end a sweep.
	Counters() []record.NICCounters
}

// CountersOf returns the NIC counters of a driver; nil if it reads none.
func CountersOf(d Driver) []record.NICCounters {
	if c, can := d.(Counting); can {
		return c.Counters()
	}
	return nil
}

// Counters returns the counters of all processes. If no process has any, no process is asked again.
// Otherwise the reports on every batch of isolated launches have them, because such a batch ends a pass.
// A separate order asks for them only if an order without them was sent since.
func (g *Group) Counters() []record.NICCounters {
	if g.countless || g.counted != nil {
		return g.counted
	}
	reports, err := g.do(Order{Verb: ReadCounters{}})
	if err != nil {
		return nil
	}
	all := nicsOf(reports)
	g.countless, g.counting, g.counted = len(all) == 0, len(all) > 0, all
	return all
}

// nicsOf returns the counters in the reports. A failed process reports its counters at the failure: bytes
// per rail are evidence of a hang.
func nicsOf(reports []Report) []record.NICCounters {
	return slices.Concat(slice.Map(reports, func(r Report) []record.NICCounters { return r.NICs })...)
}
