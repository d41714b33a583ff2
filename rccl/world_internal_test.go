package rccl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/collective"
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/internal/native"
)

// machine is a driver of all ranks of a world that several processes share: the
// first one to make a call makes it, and all of them get what came of it.
type machine struct {
	*Driver
	mu      sync.Mutex
	answers []answer
}

type answer struct {
	seconds []float64
	err     error
}

// share is one process of that world: it speaks for its own ranks alone.
type share struct {
	*machine
	first, count, calls int
}

func (s *share) ask(do func() ([]float64, error)) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == len(s.answers) {
		seconds, err := do()
		s.answers = append(s.answers, answer{slices.Clone(seconds), err})
	}
	s.calls++
	return s.answers[s.calls-1]
}

// own keeps of an answer what is of the process's ranks. The evidence is made anew
// from what the library told of them.
func (s *share) own(during string, a answer) ([]float64, error) {
	if hang, ok := errors.AsType[*native.HangError](a.err); ok {
		part := *hang
		part.Ranks, part.Rank = hang.Ranks[s.first:s.first+s.count], max(0, hang.Rank-s.first)
		d := &Driver{cfg: Config{FirstRank: s.first}}
		return nil, d.ended(context.Background(), during, &part)
	}
	var out []float64
	for row := range slices.Chunk(a.seconds, len(s.ranks)) {
		out = append(out, row[s.first:s.first+s.count]...)
	}
	return out, a.err
}

func (s *share) Budget() (plan.Room, error) { return s.Driver.Budget() }

func (s *share) Allocate(ctx context.Context, cases []plan.Case) error {
	return s.ask(func() ([]float64, error) { return nil, s.Driver.Allocate(ctx, cases) }).err
}

func (s *share) Begin(c plan.Case, pass int) error {
	return s.ask(func() ([]float64, error) { return nil, s.Driver.Begin(c, pass) }).err
}

func (s *share) Verify(ctx context.Context, c plan.Case, launch int) (plan.Verification, error) {
	a := s.ask(func() ([]float64, error) {
		_, err := s.Driver.Verify(ctx, c, launch)
		return nil, err
	})
	_, err := s.own(record.DuringVerification, a)
	return plan.Verification{}, err
}

func (s *share) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return s.own(record.DuringWarmUp, s.ask(func() ([]float64, error) { return s.Driver.WarmUp(ctx, n) }))
}

func (s *share) Burst(ctx context.Context, b plan.Bursts) ([]float64, error) {
	return s.own(record.DuringBurst, s.ask(func() ([]float64, error) { return s.Driver.Burst(ctx, b) }))
}

func (s *share) Isolated(ctx context.Context, n int) ([]float64, error) {
	return s.own(record.DuringIsolated, s.ask(func() ([]float64, error) { return s.Driver.Isolated(ctx, n) }))
}

// followers are the other processes, each in a goroutine; orders and reports are
// text on their way.
type followers []chan []byte

type follower struct{ orders, reports chan []byte }

func (f follower) Next() (o plan.Order, err error) { return o, json.Unmarshal(<-f.orders, &o) }

func (f follower) Report(r plan.Report) error {
	text, err := json.Marshal(r)
	f.reports <- text
	return err
}

func (all followers) Send(o plan.Order) {
	text, _ := json.Marshal(o) // what is not text is refused by the others
	for i := 0; i < len(all); i += 2 {
		all[i] <- text
	}
}

func (all followers) Reports() (out []plan.Report) {
	for i := 1; i < len(all); i += 2 {
		var r plan.Report
		if err := json.Unmarshal(<-all[i], &r); err != nil {
			r = plan.Unreadable(err)
		}
		out = append(out, r)
	}
	return out
}

// worldOfEight opens two nodes of four GPUs, with faults, and lists two sizes of
// the collective, of which the second meets a fault of 4 MB and more.
func worldOfEight(t *testing.T, coll string, faults ...string) (*Driver, []plan.Case) {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	m, err := f.Resolve(w, fabric.Options{Seed: 7, Faults: faults})
	require.NoError(t, err)
	d, err := Open(Config{Native: native.Options{Backend: "loopback", Machine: m.Text()}, Ranks: 8, CacheBytes: testCache, VerifyBudget: 64 << 20})
	require.NoError(t, err)
	a := plan.Axes{MinBytes: 1 << 20, MaxBytes: 4 << 20, Factor: 4, InPlace: []bool{false}, World: w}
	one, err := collective.ByName(coll)
	require.NoError(t, err)
	a.Collectives = []collective.Collective{one}
	a.Dtype, err = collective.DtypeByName("float")
	require.NoError(t, err)
	a.Op, err = collective.OpByName("sum")
	require.NoError(t, err)
	return d, a.Cases()
}

// alone runs the cases in one process.
func alone(t *testing.T, coll string, faults ...string) []record.Result {
	t.Helper()
	d, cases := worldOfEight(t, coll, faults...)
	defer func() { _ = d.Close() }()
	require.NoError(t, d.Allocate(t.Context(), cases))
	return plan.Run(t.Context(), cases, d, plan.DefaultOptions(), func(record.Result) {})
}

// together runs them in so many processes.
func together(t *testing.T, processes int, coll string, faults ...string) []record.Result {
	t.Helper()
	d, cases := worldOfEight(t, coll, faults...)
	defer func() { _ = d.Close() }()
	m := &machine{Driver: d}
	var wires followers
	var world []plan.Member
	var all sync.WaitGroup
	defer all.Wait()
	count := 8 / processes
	for i := range processes {
		world = append(world, plan.Member{Host: fmt.Sprintf("node%d", i*count/4), Ranks: count})
		if i > 0 {
			f := follower{make(chan []byte, 1), make(chan []byte, 1)}
			wires = append(wires, f.orders, f.reports)
			all.Go(func() { _ = plan.Follow(context.Background(), &share{machine: m, first: i * count, count: count}, f) })
		}
	}
	g, ctx := plan.Lead(t.Context(), &share{machine: m, count: count}, wires, world)
	defer g.End()
	require.NoError(t, g.Allocate(ctx, cases))
	return plan.Run(ctx, cases, g, plan.DefaultOptions(), func(record.Result) {})
}

// A world that is cut into processes leaves the same results as one process that
// holds it whole, to the last bit: the evidence of a hang or of an asynchronous
// error at any launch too. What the error adds is which process said what.
func TestProcessesLeaveTheRecordOfOne(t *testing.T) {
	faults := []string{""}
	for launch := range 5 {
		faults = append(faults, fmt.Sprintf("hang:node=1,gpu=1,bytes=4e6,launch=%d", launch))
	}
	faults = append(faults, "async_error:node=1,gpu=1,bytes=4e6,launch=3", "hang:node=0,gpu=3,bytes=4e6,launch=5", "hang:node=0,gpu=0,bytes=4e6,launch=7")
	for _, coll := range []string{"all_reduce", "send_recv"} {
		for _, fault := range faults {
			planted := slices.DeleteFunc([]string{fault}, func(s string) bool { return s == "" })
			want := alone(t, coll, planted...)
			for _, processes := range []int{1, 2, 4, 8} {
				got := together(t, processes, coll, planted...)
				for i := range want {
					w := want[i]
					if e := w.Evidence; e != nil {
						require.NotEmpty(t, planted)
						require.True(t, strings.HasSuffix(got[i].Reason, "; "+e.Text()), got[i].Reason)
						w.Reason = got[i].Reason
					}
					require.Equal(t, w, got[i], "%s in %d processes: %s", fault, processes, coll)
				}
			}
			if coll == "all_reduce" { // messages of send_recv meet no asynchronous error
				failed := slices.ContainsFunc(want, func(r record.Result) bool { return r.Evidence != nil })
				require.Equal(t, len(planted) > 0, failed, fault)
			}
		}
	}
}

// What a process says of its own ranks is in the numbers of the world.
func TestRanksAreNumberedInTheWorld(t *testing.T) {
	d, cases := worldOfEight(t, "all_reduce", "async_error:node=1,gpu=1,bytes=4e6,launch=3")
	defer func() { _ = d.Close() }()
	d.cfg.FirstRank = 16
	require.NoError(t, d.Allocate(t.Context(), cases))
	r := plan.Run(t.Context(), cases, d, plan.DefaultOptions(), func(record.Result) {})[1]
	require.Equal(t, "16-23", r.Evidence.Ranks[0].Ranks)
	require.Contains(t, r.Reason, "asynchronous error on rank 16: ")
}

// Wrong elements too.
func TestWrongElementsAreNumberedInTheWorld(t *testing.T) {
	d, cases := worldOfEight(t, "all_reduce", "corrupt:node=1,gpu=1,index=7")
	defer func() { _ = d.Close() }()
	d.cfg.FirstRank = 16
	require.NoError(t, d.Allocate(t.Context(), cases))
	r := plan.Run(t.Context(), cases, d, plan.DefaultOptions(), func(record.Result) {})[0]
	require.Equal(t, record.WrongData, r.Status, r.Reason)
	require.Contains(t, r.Reason, "first on rank 21 at element 7 ")
}
