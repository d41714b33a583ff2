package plan_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// inTree runs do with a group whose members lead perNode processes each; the parts are
// those of inGroup.
func inTree(t *testing.T, parts []*part, contexts []context.Context, perNode int, do func(context.Context, *plan.Group)) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	outer := &lines{t: t}
	var own plan.Process
	var world []plan.Member
	for at := 0; at < len(parts); at += perNode {
		inner := &lines{t: t}
		for i := at + 1; i < at+perNode; i++ {
			l := line{make(chan []byte, 1), make(chan []byte, 1)}
			inner.orders, inner.reports = append(inner.orders, l.orders), append(inner.reports, l.reports)
			all.Go(func() {
				defer close(l.reports)
				_ = follow(contexts[i], parts[i], l)
			})
		}
		members := make([]plan.Member, perNode)
		for i := range members {
			members[i] = plan.Member{Host: fmt.Sprintf("node%d", at/perNode), Ranks: 2}
		}
		g := plan.Part(contexts[at], 2*at, parts[at], inner, members)
		world = append(world, plan.Member{Host: members[0].Host, Ranks: 2 * perNode, Processes: perNode})
		if at == 0 {
			own = g
			defer g.End()
			continue
		}
		l := line{make(chan []byte, 1), make(chan []byte, 1)}
		outer.orders, outer.reports = append(outer.orders, l.orders), append(outer.reports, l.reports)
		all.Go(func() {
			defer g.End()
			_ = plan.Follow(context.Background(), g, l)
		})
	}
	g, ctx := plan.Lead(contexts[0], own, outer, world)
	defer g.End()
	do(ctx, g)
}

// swept is the result of one case with a hang, a lost process, an asynchronous error or
// wrong data; flat, or with a leader per node.
func swept(t *testing.T, perNode int, change func(p *part)) (r record.Result) {
	t.Helper()
	var parts []*part
	for i := range 6 {
		p := &part{number: i, budget: int64(1<<20 + i)}
		change(p)
		parts = append(parts, p)
	}
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes = 12, a.MinBytes
	o := options(4, 4)
	o.Warmup, o.Checks = 5, 2
	do := func(ctx context.Context, g *plan.Group) {
		if room, err := g.Budget(); err == nil {
			require.Equal(t, plan.Room{Bytes: 1 << 20, Cache: 5}, room)
		}
		r = plan.Run(ctx, a.Cases(), g, o, func(record.Result) {})[0]
	}
	if perNode == 1 {
		inGroup(t, parts, backgrounds(6), do)
	} else {
		inTree(t, parts, backgrounds(6), perNode, do)
	}
	for _, p := range parts[1:] {
		if r.Status == record.OK {
			require.Equal(t, parts[0].asked[len(parts[0].asked)-1], p.asked[len(p.asked)-1])
		}
	}
	return r
}

// A tree of groups leaves the record of one group, to the last bit: with every failure,
// its process, its host and its evidence.
func TestATreeOfGroupsIsOneGroup(t *testing.T) {
	b := hung(12, 7, 2)
	for name, change := range map[string]func(p *part){
		"healthy":      func(*part) {},
		"wrong":        func(p *part) { p.wrong = int64(p.number % 3) },
		"unverifiable": func(p *part) { p.unverifiable = []string{"", "", "", "no compiler", "none", ""}[p.number] },
		"hang":         func(p *part) { p.failing(b) },
		"lost": func(p *part) {
			p.failing(b)
			p.leaves = p.number == 5
		},
		"lost alone": func(p *part) { p.leaves = p.number == 5 },
		"differ": func(p *part) {
			p.failing(b)
			switch p.number {
			case 1:
				p.failOf(plainly("link down"))
			case 3:
				p.failOf(nil)
			}
		},
		"too few times": func(p *part) { p.few = p.number == 4 },
	} {
		want := swept(t, 1, change)
		for _, perNode := range []int{2, 3} {
			got := swept(t, perNode, change)
			w := want
			if name != "healthy" && name != "wrong" && name != "unverifiable" {
				require.Equal(t, record.Failed, w.Status, name)
			}
			// A flat group of this test does not know its hosts.
			for node := range 3 {
				got.Reason = strings.ReplaceAll(got.Reason, fmt.Sprintf(" on node%d", node), "")
			}
			require.Equal(t, w, got, "%s, %d a node", name, perNode)
		}
	}
}

func (p *part) failing(b batch) {
	p.fail = stuckError{plainly("not finished in time"), b.evidence(2*p.number, 2)}
}

func (p *part) failOf(err error) { p.fail = err }

// The host of a single failure is its process's.
func TestATreeNamesHosts(t *testing.T) {
	var parts []*part
	for i := range 6 {
		parts = append(parts, &part{number: i})
	}
	parts[3].fail = plainly("link down")
	inTree(t, parts, backgrounds(6), 2, func(ctx context.Context, g *plan.Group) {
		_, err := g.Isolated(ctx, 1)
		require.EqualError(t, err, "process 3 on node1: link down")
	})
}

// A member that is lost with all that it leads is each of its processes; what a member
// says of ranks that it does not hold is not taken.
func TestFailuresOfAMember(t *testing.T) {
	part2 := plan.Member{Host: "b", Ranks: 4, Processes: 2}
	world := []plan.Member{{Host: "a", Ranks: 4, Processes: 2}, part2}
	one := func(f plan.ProcessFailure) plan.Report {
		f.Failure = plan.Failure{Kind: plan.FailedCall, Message: "link down"}
		return plan.Report{Failures: []plan.ProcessFailure{f}}
	}
	for name, x := range map[string]struct {
		report plan.Report
		want   string
	}{
		"lost":        {plan.Lost("left"), "processes 2–3: left"},
		"second":      {one(plan.ProcessFailure{Process: 1, FirstRank: 6, Ranks: 2}), "process 3 on b: link down"},
		"its host":    {one(plan.ProcessFailure{Process: 1, Host: "c", FirstRank: 6, Ranks: 2}), "process 3 on c: link down"},
		"other ranks": {one(plan.ProcessFailure{Process: 1, FirstRank: 2, Ranks: 2}), "processes 2–3: a report of a failure of 2 ranks from 2 on"},
		"behind":      {one(plan.ProcessFailure{Process: 1, FirstRank: 6, Ranks: 1 << 62}), "processes 2–3: a report of a failure of "},
		"process":     {one(plan.ProcessFailure{Process: 7, FirstRank: 6, Ranks: 2}), "processes 2–3: a report of a failure of "},
		"negative":    {one(plan.ProcessFailure{Process: -1, FirstRank: 6, Ranks: 2}), "processes 2–3: a report of a failure of "},
	} {
		g, ctx := plan.Lead(context.Background(), &part{idle: true}, told{x.report}, world)
		_, err := g.WarmUp(ctx, 1)
		require.ErrorContains(t, err, x.want, name)
	}
}

// A signal to a process of a node stops the world; what was ordered is carried out.
func TestSignalToAProcessOfATree(t *testing.T) {
	for upset := range 6 {
		var parts []*part
		for i := range 6 {
			parts = append(parts, &part{number: i})
		}
		contexts := backgrounds(6)
		ctx, signal := context.WithCancel(context.Background())
		contexts[upset] = ctx
		parts[upset].onBurst = func() {
			if parts[upset].bursts++; parts[upset].bursts == 2 {
				signal()
			}
		}
		a := axes(t, "all_reduce")
		a.World.GPUsPerNode = 12
		o := options(12, 2)
		o.Burst.Batch = 2
		inTree(t, parts, contexts, 3, func(ctx context.Context, g *plan.Group) {
			for _, r := range plan.Run(ctx, a.Cases(), g, o, func(record.Result) {}) {
				require.Equal(t, record.Interrupted, r.Status)
			}
			require.Error(t, ctx.Err())
		})
		for _, p := range parts {
			require.Equal(t, []string{"burst 2 20", "burst 2 20"}, p.asked[len(p.asked)-2:], "%d: %v", upset, p.asked)
		}
	}
}
