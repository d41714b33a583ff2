package rccl

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/plan"
	"zbench/internal/native"
)

// joint is the library under the processes of a world in this test's process: real
// drivers, each with its share of the ranks, on one loopback. What takes all processes
// of a communicator or of a launch waits for them, and is then done once for all.
type joint struct {
	t         *testing.T
	p         *native.Provider
	functions *native.Functions
	mu        sync.Mutex
	meetings  map[string]*meeting
	batch     *native.Batch
	// begins is the number of cases begun.
	begins int
	// ids counts how often each was used.
	ids map[native.UniqueID]int
}

// meeting is one call that several processes make together.
type meeting struct {
	parts []any
	done  chan struct{}
	out   any
}

// meet waits until so many processes have come to the same call; the last does it.
func (j *joint) meet(key string, processes int, part any, do func(parts []any) any) any {
	j.mu.Lock()
	m := j.meetings[key]
	if m == nil {
		m = &meeting{done: make(chan struct{})}
		j.meetings[key] = m
	}
	if m.parts = append(m.parts, part); len(m.parts) == processes {
		m.out = do(m.parts)
		delete(j.meetings, key)
		close(m.done)
	}
	j.mu.Unlock()
	select {
	case <-m.done:
		return m.out
	case <-time.After(time.Minute):
		panic("the processes made different calls: " + key)
	}
}

// party is the library of one process.
type party struct {
	*joint
	number, first, count, processes int
	batches, begun                  int
}

func (p *party) Memory(device int) (free, total int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Memory(device)
}

func (p *party) Alloc(device int, bytes int64) (native.Buffer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Alloc(device, bytes)
}

func (p *party) Free(b native.Buffer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Free(b)
}

func (p *party) FreeComm(c native.Comm) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.FreeComm(c)
}

// BeginCase begins the case once: the loopback has one clock for all these processes, and
// one without ranks in the case may be late to begin it.
func (p *party) BeginCase(key uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun++; p.begun > p.begins {
		p.begins = p.begun
		p.p.BeginCase(key)
	}
}

func (p *party) NewUniqueID() (native.UniqueID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := p.p.NewUniqueID()
	p.ids[id] = 0
	return id, err
}

type piece struct {
	first   int
	devices []int
}

type joined struct {
	comms []native.Comm
	err   error
}

// InitComms blocks until all ranks of the communicator have joined, as RCCL does.
func (p *party) InitComms(id native.UniqueID, ranks, first int, devices []int) ([]native.Comm, error) {
	key := fmt.Sprintf("init %x of %d", id, ranks)
	p.mu.Lock()
	m := p.meetings[key]
	if m == nil {
		m = &meeting{done: make(chan struct{})}
		p.meetings[key] = m
	}
	m.parts = append(m.parts, piece{first, devices})
	var all []int
	slices.SortFunc(m.parts, func(a, b any) int { return a.(piece).first - b.(piece).first })
	for _, one := range m.parts {
		if one.(piece).first == len(all) {
			all = append(all, one.(piece).devices...)
		}
	}
	if len(all) == ranks {
		if _, known := p.ids[id]; !known {
			panic("an id that no process made")
		}
		p.ids[id]++
		comms, err := p.p.InitComms(id, ranks, 0, all)
		m.out = joined{comms, err}
		close(m.done)
	}
	p.mu.Unlock()
	select {
	case <-m.done:
	case <-time.After(time.Minute):
		panic("a communicator that not all of its ranks join: " + key)
	}
	out := m.out.(joined)
	if out.err != nil {
		return nil, out.err
	}
	return out.comms[first : first+len(devices)], nil
}

// newBatch is the process's part of a batch of all ranks in the communicators.
func (p *party) newBatch(ranks int) launcher {
	p.batches++
	return &partBatch{party: p, ranks: make([]native.Rank, ranks), key: fmt.Sprint("batch ", p.batches)}
}

// partBatch is a launcher: what the processes launch together, the loopback launches at
// once.
type partBatch struct {
	*party
	key      string
	ranks    []native.Rank
	apart    bool
	work     native.Work
	deadline float64
	moved    bool // SetWork was called since the last launch
	launches int
	expect   []native.Expect
	// with is the number of processes with ranks in the batch, all that of their ranks.
	with, all int
}

func (b *partBatch) SetRank(i int, r native.Rank)     { b.ranks[i] = r }
func (b *partBatch) SetApart(apart bool)              { b.apart = apart }
func (b *partBatch) UseFunctions(f *native.Functions) { require.NotNil(b.t, f) }
func (b *partBatch) Cancel()                          {}
func (b *partBatch) Close()                           {}
func (b *partBatch) Held() bool                       { return b.batch.Held() }

// EnqueueSeconds differs by process: the first host is the slowest.
func (b *partBatch) EnqueueSeconds() float64 { return b.batch.EnqueueSeconds() / float64(1+b.number) }

func (b *partBatch) SetWork(w native.Work, d float64) error {
	b.work, b.deadline, b.moved = w, d, true
	return nil
}

// MakeEvents is the last call before a batch is used: the whole batch is made.
func (b *partBatch) MakeEvents() error {
	out := b.meet(b.key, b.processes, b, func(parts []any) any {
		if b.batch != nil {
			b.batch.Close()
		}
		b.all, b.with = 0, 0
		for _, one := range parts {
			part := one.(*partBatch)
			if b.all += len(part.ranks); len(part.ranks) > 0 {
				b.with++
			}
			require.Equal(b.t, b.processes > 1, part.apart)
		}
		for _, one := range parts {
			one.(*partBatch).all, one.(*partBatch).with = b.all, b.with
		}
		b.batch = b.p.NewBatch(b.all)
		b.place(parts)
		b.batch.UseFunctions(b.functions)
		return []any{b.batch.MakeEvents()}
	})
	err, _ := out.([]any)[0].(error)
	return err
}

func (b *partBatch) place(parts []any) {
	for _, one := range parts {
		part := one.(*partBatch)
		for i, r := range part.ranks {
			b.batch.SetRank(part.first+i, r)
		}
	}
	b.batch.UseFunctions(b.functions)
}

// result is what came of a launch on all ranks.
type result struct {
	seconds []float64
	wrong   []native.Wrong
	err     error
}

// launch does what all processes ask for, which must be the same, on all ranks.
func (b *partBatch) launch(what string, do func(parts []*partBatch) result) result {
	b.launches++
	key := fmt.Sprintf("%s, launch %d", b.key, b.launches)
	out := b.meet(key, b.with, launch{b, what}, func(all []any) any {
		slices.SortFunc(all, func(a, c any) int { return a.(launch).first - c.(launch).first })
		var parts []*partBatch
		var bare []any
		for _, one := range all {
			l := one.(launch)
			if l.what != what || l.work != b.work || l.moved != b.moved || l.deadline != b.deadline {
				panic(fmt.Sprintf("processes that differ: %s of %+v, %s of %+v", what, b.work, l.what, l.work))
			}
			parts, bare = append(parts, l.partBatch), append(bare, l.partBatch)
		}
		b.place(bare)
		if b.moved {
			if err := b.batch.SetWork(b.work, b.deadline); err != nil {
				return result{err: err}
			}
		}
		for _, p := range parts {
			p.moved = false
		}
		out := do(parts)
		out.seconds = slices.Clone(out.seconds)
		return out
	}).(result)
	return b.own(out)
}

type launch struct {
	*partBatch
	what string
}

// own keeps of a result what is of this process's ranks.
func (b *partBatch) own(r result) (out result) {
	first, n := b.first, len(b.ranks)
	for row := range slices.Chunk(r.seconds, b.all) {
		out.seconds = append(out.seconds, row[first:first+n]...)
	}
	for _, w := range r.wrong {
		if w.Rank >= first && w.Rank < first+n {
			w.Rank -= first
			out.wrong = append(out.wrong, w)
		}
	}
	out.err = r.err
	if hang, ok := r.err.(*native.HangError); ok { //nolint:errorlint // as the batch returns it
		part := *hang
		part.Ranks, part.Rank = hang.Ranks[first:first+n], max(0, hang.Rank-first)
		out.err = &part
	}
	return out
}

func (b *partBatch) times(what string, do func() ([]float64, error)) ([]float64, error) {
	r := b.launch(what, func([]*partBatch) (r result) {
		r.seconds, r.err = do()
		return r
	})
	return r.seconds, r.err
}

func (b *partBatch) WarmUp(n int) ([]float64, error) {
	return b.times(fmt.Sprint("warm-up ", n), func() ([]float64, error) { return b.batch.WarmUp(n) })
}

func (b *partBatch) Burst(n, replays int) ([]float64, error) {
	return b.times(fmt.Sprint("burst ", n, replays), func() ([]float64, error) { return b.batch.Burst(n, replays) })
}

func (b *partBatch) Isolated(n int, hold float64) ([]float64, error) {
	return b.times(fmt.Sprint("isolated ", n, hold), func() ([]float64, error) { return b.batch.Isolated(n, hold) })
}

// EventFloor is each process's own: its pairs are those of all ranks.
func (b *partBatch) EventFloor(n int) ([]float64, error) {
	return b.times(fmt.Sprint("event floor ", n), func() ([]float64, error) { return b.batch.EventFloor(n) })
}

func (b *partBatch) Verify(expect []native.Expect, seed uint64) ([]native.Wrong, error) {
	b.expect = expect
	r := b.launch(fmt.Sprint("verify ", seed), func(parts []*partBatch) (r result) {
		var all []native.Expect
		for _, p := range parts {
			all = append(all, p.expect...)
		}
		r.wrong, r.err = b.batch.Verify(all, seed)
		return r
	})
	return r.wrong, r.err
}

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
