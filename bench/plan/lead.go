package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Group is the leader's Process for several processes: each call is one order to
// all of them, and what they report, put together. Slices run over all ranks, in
// the order of the processes.
type Group struct {
	own    worker
	others Followers
	ctx    context.Context
	stop   context.CancelCauseFunc
	// unverifiable is why one of them cannot verify the case.
	unverifiable string
	// held tells that all of them held their streams back in the last Isolated.
	held bool
}

// Lead makes this process the leader of the others. The sweep must run under the
// context that is returned: it ends with ctx, and when any other process is asked
// to stop. End must follow.
func Lead(ctx context.Context, own Process, others Followers) (*Group, context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	return &Group{own: worker{p: own}, others: others, ctx: ctx, stop: stop}, ctx
}

// End lets the others go.
func (g *Group) End() {
	g.others.Tell(Order{Do: DoEnd})
	g.stop(nil)
}

// do gives an order and returns all reports, this process's first. Nothing is
// ordered once the sweep is to stop; what was ordered is carried out whole.
func (g *Group) do(o Order) ([]Report, error) {
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	g.others.Tell(o)
	reports := append([]Report{g.own.obey(o)}, g.others.Reports()...)
	for i, r := range reports {
		if r.Stop {
			g.stop(fmt.Errorf("process %d was asked to stop", i))
		}
	}
	return reports, blame(reports)
}

// blamed is the most processes that an error quotes.
const blamed = 3

// blame joins what failed: first the processes that failed of themselves, then
// those that waited for them in vain.
func blame(reports []Report) error {
	var failed []int
	for i, r := range reports {
		if r.Error != "" {
			failed = append(failed, i)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	late := func(i int) int {
		if reports[i].Timeout {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(failed, func(a, b int) int { return cmp.Compare(late(a), late(b)) })
	var texts []string
	for _, i := range failed[:min(blamed, len(failed))] {
		texts = append(texts, fmt.Sprintf("process %d: %s", i, reports[i].Error))
	}
	if more := len(failed) - blamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(texts, "; "))
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

// timed joins the processes' seconds, row by row. One whose ranks take no part in
// the case has none.
func (g *Group) timed(o Order, rows int) ([]float64, error) {
	reports, err := g.do(o)
	if err != nil {
		return nil, err
	}
	g.held = !slices.ContainsFunc(reports, func(r Report) bool { return r.Unheld })
	for i, r := range reports {
		if len(r.Seconds)%rows != 0 {
			return nil, fmt.Errorf("process %d took %d times of %d launches (%s): it did not do what was ordered", i, len(r.Seconds), rows, o.Do)
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
