package plan

import (
	"context"
	"fmt"
	"slices"
)

// Group is the leader's Process for several processes: each call sends one order to all
// of them and merges their reports. Slices contain all ranks, in the order of the
// processes.
type Group struct {
	own    worker
	others Followers
	world  []Member
	// first is the first rank of each process, then the number of all ranks.
	first []int
	ctx   context.Context
	stop  context.CancelCauseFunc
	// active is the number of ranks that take part in the current case: the first of
	// the world.
	active int
	// unverifiable is the reason why a process cannot verify the case, empty if all can.
	unverifiable string
	// held is true if all processes held their streams in the last Isolated.
	held bool
}

// Member is one process of the world.
type Member struct {
	// Host is the name of its host, empty if unknown.
	Host string
	// Ranks is the number of its ranks. They follow those of the process before it.
	Ranks int
}

// Lead makes this process the leader of the others. The world lists all processes,
// this one first, then the others in the order of their reports. The sweep must run
// under the returned context, which ends with ctx or when a follower receives a signal.
// Call End afterwards.
func Lead(ctx context.Context, own Process, others Followers, world []Member) (*Group, context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	g := &Group{own: worker{p: own}, others: others, world: world, first: []int{0}, ctx: ctx, stop: stop}
	for i, m := range world {
		g.first = append(g.first, g.first[i]+m.Ranks)
	}
	g.active = g.first[len(world)]
	return g, ctx
}

// share is the first rank of a process and the number of its active ranks.
func (g *Group) share(process int) (first, active int) {
	first = g.first[process]
	return first, max(0, min(g.world[process].Ranks, g.active-first))
}

// End sends the order to end to the followers.
func (g *Group) End() {
	g.others.Send(Order{Do: DoEnd})
	g.stop(nil)
}

// do sends an order and returns all reports, this process's first. Once the sweep is to
// stop, no more orders are sent; an order that was sent is always executed completely.
func (g *Group) do(o Order) ([]Report, error) {
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	g.others.Send(o)
	reports := append([]Report{g.own.execute(o)}, g.others.Reports()...)
	if len(reports) != len(g.world) {
		return nil, fmt.Errorf("%d reports of %d processes", len(reports), len(g.world))
	}
	for i, r := range reports {
		if r.Stop {
			g.stop(fmt.Errorf("process %d was asked to stop", i))
		}
	}
	return reports, g.describeFailures(o, reports)
}

// Budget is the least memory over all processes, and the largest cache.
func (g *Group) Budget() (Room, error) {
	reports, err := g.do(Order{Do: DoBudget})
	if err != nil {
		return Room{}, err
	}
	room := reports[0].Budget
	for _, r := range reports {
		room.Bytes, room.Cache = min(room.Bytes, r.Budget.Bytes), max(room.Cache, r.Budget.Cache)
	}
	return room, nil
}

// Allocate allocates the cases' buffers in all processes.
func (g *Group) Allocate(_ context.Context, cases []Case) error {
	_, err := g.do(Order{Do: DoAllocate, Cases: cases})
	return err
}

// Begin announces the case in all processes.
func (g *Group) Begin(c Case, pass int) error {
	g.active = c.Ranks * max(c.Parallel, 1)
	reports, err := g.do(Order{Do: DoBegin, Case: &c, Pass: pass})
	g.unverifiable = ""
	for i, r := range reports {
		if r.Unverifiable != "" && g.unverifiable == "" {
			g.unverifiable = fmt.Sprintf("process %d: %s", i, r.Unverifiable)
		}
	}
	return err
}

// Unverifiable is the reason why one of the processes cannot verify the case; then none
// of them verifies.
func (g *Group) Unverifiable(Case) string { return g.unverifiable }

// Verify adds up the results of all processes.
func (g *Group) Verify(_ context.Context, _ Case, launch int) (Verification, error) {
	reports, err := g.do(Order{Do: DoVerify, Count: launch})
	var all Verification
	for _, r := range reports {
		if all.Wrong == 0 {
			all.First = r.Verified.First
		}
		all.Wrong += r.Verified.Wrong
	}
	return all, err
}

// WarmUp runs the warm-up launches in all processes.
func (g *Group) WarmUp(_ context.Context, launches int) ([]float64, error) {
	return g.timed(Order{Do: DoWarmUp, Count: launches}, 1)
}

// Burst runs bursts in all processes.
func (g *Group) Burst(_ context.Context, b Bursts) ([]float64, error) {
	return g.timed(Order{Do: DoBurst, Bursts: &b}, b.Count)
}

// Isolated runs isolated launches in all processes.
func (g *Group) Isolated(_ context.Context, launches int) ([]float64, error) {
	return g.timed(Order{Do: DoIsolated, Count: launches}, launches)
}

// Held reports whether the last isolated launches were held in all processes.
func (g *Group) Held() bool { return g.held }

// timed joins the processes' seconds row by row: each process has one value for each of
// its active ranks.
func (g *Group) timed(o Order, rows int) ([]float64, error) {
	reports, err := g.do(o)
	if err != nil {
		return nil, err
	}
	g.held = !slices.ContainsFunc(reports, func(r Report) bool { return r.StartedEarly })
	for i, r := range reports {
		if _, ranks := g.share(i); len(r.Seconds) != rows*ranks {
			return nil, fmt.Errorf("process %d reports %d times for %s: %d times of %d ranks were ordered", i, len(r.Seconds), o.Do, rows, ranks)
		}
	}
	var all []float64
	for row := range rows {
		for _, r := range reports {
			ranks := len(r.Seconds) / rows
			all = append(all, r.Seconds[row*ranks:(row+1)*ranks]...)
		}
	}
	return all, nil
}

// EventFloor is this process's.
func (g *Group) EventFloor() float64 { return g.own.p.EventFloor() }
