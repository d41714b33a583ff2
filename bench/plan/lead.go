package plan

import (
	"context"
	"fmt"
	"slices"
)

// Group is the leader's Process for several processes: each call is one order to
// all of them, and what they report, put together. Slices run over all ranks, in
// the order of the processes.
type Group struct {
	own    worker
	others Followers
	world  []Member
	// first is the first rank of each process, and at the end the number of all ranks.
	first []int
	ctx   context.Context
	stop  context.CancelCauseFunc
	// active is the number of ranks, the first of the world, that take part in the
	// case that has begun.
	active int
	// unverifiable is why one of them cannot verify the case.
	unverifiable string
	// held tells that all of them held their streams back in the last Isolated.
	held bool
}

// Member is one process of the world.
type Member struct {
	// Host is the name of its host, empty where it is not known.
	Host string
	// Ranks is the number of ranks that it holds: those that follow the ranks of the
	// processes before it.
	Ranks int
}

// Lead makes this process the leader of the others. The world lists all processes,
// this one first, then the others in the order of their reports. The sweep must run
// under the context that is returned: it ends with ctx, and when any other process
// is asked to stop. End must follow.
func Lead(ctx context.Context, own Process, others Followers, world []Member) (*Group, context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	g := &Group{own: worker{p: own}, others: others, world: world, first: []int{0}, ctx: ctx, stop: stop}
	for i, m := range world {
		g.first = append(g.first, g.first[i]+m.Ranks)
	}
	g.active = g.first[len(world)]
	return g, ctx
}

// share is the first rank of a process, and how many of its ranks take part in the
// case.
func (g *Group) share(process int) (first, active int) {
	first = g.first[process]
	return first, max(0, min(g.world[process].Ranks, g.active-first))
}

// End lets the others go.
func (g *Group) End() {
	g.others.Send(Order{Do: DoEnd})
	g.stop(nil)
}

// do gives an order and returns all reports, this process's first. Nothing is
// ordered once the sweep is to stop; what was ordered is carried out whole.
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

// Allocate makes room in all processes.
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

// Unverifiable is why one of the processes cannot verify the case: then none does.
func (g *Group) Unverifiable(Case) string { return g.unverifiable }

// Verify adds up what all processes found.
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

// WarmUp launches in all processes what is not counted.
func (g *Group) WarmUp(_ context.Context, launches int) ([]float64, error) {
	return g.timed(Order{Do: DoWarmUp, Count: launches}, 1)
}

// Burst takes bursts in all processes.
func (g *Group) Burst(_ context.Context, b Bursts) ([]float64, error) {
	return g.timed(Order{Do: DoBurst, Bursts: &b}, b.Count)
}

// Isolated takes launches alone in all processes.
func (g *Group) Isolated(_ context.Context, launches int) ([]float64, error) {
	return g.timed(Order{Do: DoIsolated, Count: launches}, launches)
}

// Held tells whether the last launches alone were held back in all processes.
func (g *Group) Held() bool { return g.held }

// timed joins the processes' seconds, row by row: each has one for every rank of it
// that takes part in the case.
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
