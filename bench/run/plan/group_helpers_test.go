package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// part is one process of a group: two ranks whose times tell process, row and
// rank apart.
type part struct {
	number       int
	budget       int64
	fail         error
	wrong        int64
	unverifiable string
	asked        []string
	onBurst      func()
	most         int // rows it answers with, 0 for as many as asked
	bursts       int
	unheld       bool
	leaves       bool // it is gone at the first launch
	idle         bool // its ranks take no part
	few          bool // it reports a time too few
	// nics has counters, which rise by one at each reading; counted counts the readings.
	nics    bool
	counted uint64
}

func (p *part) Counters() []record.NICCounters {
	p.counted++
	if !p.nics {
		return nil
	}
	sent := p.counted
	return []record.NICCounters{{Node: fmt.Sprint("n", p.number), NIC: "x", Sent: &sent}}
}

func (p *part) did(format string, args ...any) {
	p.asked = append(p.asked, fmt.Sprintf(format, args...))
}

// note is what can fail: everything that uses memory or launches.
func (p *part) note(format string, args ...any) error {
	if p.did(format, args...); len(p.asked) > 10_000 {
		return errors.New("the sweep does not end")
	}
	return p.fail
}

func (p *part) Budget() (plan.Room, error) {
	return plan.Room{Bytes: p.budget, Cache: int64(p.number)}, p.note("budget")
}

func (p *part) IDs(c plan.Comms) (ids []plan.CommID, err error) {
	for _, h := range c.Held(2*p.number, 2) {
		if h.First == 0 {
			ids = append(ids, plan.CommID{Group: h.Group, ID: fmt.Appendf(nil, "made by %d", p.number)})
		}
	}
	p.did("ids")
	return ids, nil
}

func (p *part) Join(_ context.Context, c plan.Comms, ids []plan.CommID) error {
	text := []string{}
	for _, id := range ids {
		text = append(text, fmt.Sprintf("%d %s", id.Group, id.ID))
	}
	p.did("join %d x %d: %s", c.Count, c.Ranks, strings.Join(text, ", "))
	return nil
}

func (p *part) Allocate(_ context.Context, need plan.Room) error {
	return p.note("allocate %d, %d", need.Bytes, need.Cache)
}

func (p *part) Begin(c plan.Case, pass int) error {
	p.did("begin %s %s %d", c.Collective.Name, c.Key, pass)
	return nil
}
func (p *part) Unverifiable(plan.Case) string { return p.unverifiable }
func (p *part) Verify(_ context.Context, c plan.Case, launch int) (plan.Verification, error) {
	v := plan.Verification{Wrong: p.wrong}
	if p.wrong > 0 {
		v.First = fmt.Sprintf("process %d", p.number)
	}
	return v, p.note("verify %s %d", c.Key, launch)
}

func (p *part) rows(n int) (out []float64) {
	if p.leaves {
		panic(gone{})
	}
	if p.idle {
		return nil
	}
	if p.few {
		return []float64{1}
	}
	if p.most > 0 {
		n = min(n, p.most)
	}
	for row := range n {
		for rank := range 2 {
			out = append(out, 1+float64(100*p.number+10*(row%8)+rank)/1000)
		}
	}
	return out
}

func (p *part) WarmUp(_ context.Context, n int) ([]float64, error) {
	return p.rows(1), p.note("warm-up %d", n)
}

func (p *part) Burst(_ context.Context, b plan.Bursts) ([]float64, error) {
	if p.onBurst != nil {
		p.onBurst()
	}
	return p.rows(b.Count), p.note("burst %d %d%s", b.Count, b.Iterations, strings.Repeat(" replayed", max(0, min(b.Replays, 9))))
}

func (p *part) Isolated(_ context.Context, n int) ([]float64, error) {
	return p.rows(n), p.note("isolated %d", n)
}
func (p *part) Held() bool          { return !p.unheld }
func (p *part) EventFloor() float64 { return 1e-7 }

// gone is what ends a process that leaves.
type gone struct{}

// follow is plan.Follow; a process that leaves ends without a word.
func follow(ctx context.Context, p *part, l line) (err error) {
	defer func() {
		if end := recover(); end != nil && end != (gone{}) {
			panic(end)
		}
	}()
	return plan.Follow(ctx, p, l)
}

// lines are followers in goroutines; every order and report goes through JSON.
type lines struct {
	t               *testing.T
	orders, reports []chan []byte
}

type line struct{ orders, reports chan []byte }

func (l line) Next() (o plan.Order, err error) {
	text, ok := <-l.orders
	if !ok {
		return o, errors.New("closed")
	}
	return o, json.Unmarshal(text, &o)
}

func (l line) Report(r plan.Report) error {
	text, err := json.Marshal(r)
	l.reports <- text
	return err
}

func (l *lines) Send(o plan.Order) {
	text, err := json.Marshal(o)
	require.NoError(l.t, err)
	for _, c := range l.orders {
		select {
		case c <- text:
		default: // that one is gone, and has not taken the last order
		}
	}
}

func (l *lines) Reports(plan.Report) []plan.Report {
	out := make([]plan.Report, len(l.reports))
	for i, c := range l.reports {
		text, ok := <-c
		if !ok {
			out[i] = plan.Failing(plan.FailedLost, "left")
			continue
		}
		require.LessOrEqual(l.t, len(text), plan.MaxReport)
		require.NoError(l.t, json.Unmarshal(text, &out[i]))
	}
	return out
}

// inGroup runs do with a group of the parts; every other one follows under its
// own context.
func inGroup(t *testing.T, parts []*part, contexts []context.Context, do func(context.Context, *plan.Group)) {
	t.Helper()
	inGroupOver(t, parts, contexts, func(f plan.Followers) plan.Followers { return f }, do)
}

// inGroupOver is inGroup with something between the leader and the connection.
func inGroupOver(t *testing.T, parts []*part, contexts []context.Context, over func(plan.Followers) plan.Followers, do func(context.Context, *plan.Group)) {
	t.Helper()
	l := &lines{t: t}
	left := make(chan error)
	for i, p := range parts[1:] {
		one := line{make(chan []byte, 1), make(chan []byte, 1)}
		l.orders, l.reports = append(l.orders, one.orders), append(l.reports, one.reports)
		go func() {
			err := follow(contexts[1+i], p, one)
			close(one.reports)
			left <- err
		}()
	}
	world := slices.Repeat([]plan.Member{{Ranks: 2}}, len(parts))
	g, ctx := plan.Lead(contexts[0], parts[0], over(l), world)
	do(ctx, g)
	g.End()
	for range parts[1:] {
		require.NoError(t, <-left)
	}
}

func backgrounds(n int) []context.Context {
	return slices.Repeat([]context.Context{context.Background()}, n)
}

func three() []*part {
	return []*part{{number: 0, budget: 1 << 30}, {number: 1, budget: 1 << 12}, {number: 2, budget: 1 << 13}}
}
