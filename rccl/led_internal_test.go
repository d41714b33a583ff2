package rccl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"zbench/bench/run/plan"
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

func (all followers) Reports(plan.Report) (out []plan.Report) {
	for _, f := range all {
		var r plan.Report
		if err := json.Unmarshal(<-f.reports, &r); err != nil {
			r = plan.Failing(plan.FailedOrder, err.Error())
		}
		out = append(out, r)
	}
	return out
}

// led runs do as the leader of a world of processes with drivers of their own.
func led(t *testing.T, drivers []*Driver, do func(context.Context, *plan.Group)) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	var others followers
	var world []plan.Member
	for i, d := range drivers {
		world = append(world, plan.Member{Host: fmt.Sprint("node", d.cfg.FirstRank/4), Ranks: d.cfg.Ranks})
		if i == 0 {
			continue
		}
		f := newFollower()
		all.Go(func() { _ = plan.Follow(context.Background(), d, f) })
		others = append(others, f)
	}
	g, ctx := plan.Lead(t.Context(), drivers[0], others, world)
	do(ctx, g)
	g.End()
}
