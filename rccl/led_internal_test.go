package rccl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"zbench/bench/plan"
)

// followers are the other processes, each in a goroutine; orders and reports are
// text on their way.
type followers []follower

type follower struct {
	orders, reports chan []byte
	largest         *int
}

func newFollower() follower {
	return follower{make(chan []byte, 1), make(chan []byte, 1), new(int)}
}

func (f follower) Next() (o plan.Order, err error) { return o, json.Unmarshal(<-f.orders, &o) }

func (f follower) Report(r plan.Report) error {
	text, err := json.Marshal(r)
	f.reports <- text
	return err
}

func (all followers) Send(o plan.Order) { all.SendEach(slices.Repeat([]plan.Order{o}, len(all))) }

func (all followers) SendEach(orders []plan.Order) {
	for i, f := range all {
		text, _ := json.Marshal(orders[i]) // what is not text is refused by the others
		*f.largest = max(*f.largest, len(text))
		f.orders <- text
	}
}

func (all followers) Reports() (out []plan.Report) {
	for _, f := range all {
		var r plan.Report
		if err := json.Unmarshal(<-f.reports, &r); err != nil {
			r = plan.Unreadable(err)
		}
		out = append(out, r)
	}
	return out
}

// led runs do as the leader of a world of processes with drivers of their own. With
// nodes, the first process of each node leads those of its node.
func led(t *testing.T, drivers []*Driver, perNode int, do func(context.Context, *plan.Group)) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	follow := func(p plan.Process) follower {
		f := newFollower()
		all.Go(func() { _ = plan.Follow(context.Background(), p, f) })
		return f
	}
	host := func(i int) string { return fmt.Sprint("node", drivers[i].cfg.FirstRank/4) }
	var others followers
	var world []plan.Member
	own := plan.Process(drivers[0])
	for at := 0; at < len(drivers); at += perNode {
		p := plan.Process(drivers[at])
		ranks := 0
		var local followers
		var part []plan.Member
		for i := at; i < at+perNode; i++ {
			part = append(part, plan.Member{Host: host(i), Ranks: drivers[i].cfg.Ranks})
			if ranks += drivers[i].cfg.Ranks; i > at {
				local = append(local, follow(drivers[i]))
			}
		}
		if perNode > 1 {
			g := plan.Part(context.Background(), drivers[at].cfg.FirstRank, p, local, part)
			defer g.End()
			p = g
		}
		if at == 0 {
			own = p
		} else {
			others = append(others, follow(p))
		}
		world = append(world, plan.Member{Host: host(at), Ranks: ranks, Processes: perNode})
	}
	g, ctx := plan.Lead(t.Context(), own, others, world)
	do(ctx, g)
	g.End()
}
