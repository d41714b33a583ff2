package experiments

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Trouble is what happens to one process of a cluster during a sweep.
type Trouble string

// The troubles. They happen to any process, unless the name says which one.
const (
	NoTrouble    Trouble = "none"
	SignalOne    Trouble = "a signal to one process"
	LaunchFails  Trouble = "a launch fails in one process"
	ProcessDies  Trouble = "one process is killed"
	LeaderDies   Trouble = "the leading process is killed"
	DiskFull     Trouble = "the journal cannot be written"
	NoKernelsOne Trouble = "one process cannot verify"
	Resumed      Trouble = "resumed sweep"
)

// Troubles lists the troubles. The seeds take them by turns.
func Troubles() []Trouble {
	return []Trouble{NoTrouble, SignalOne, LaunchFails, ProcessDies, LeaderDies, DiskFull, NoKernelsOne, Resumed}
}

// trial is one seed: a cluster, its sweep, and the outcome.
type trial struct {
	seed      int
	trouble   Trouble
	meeting   *meeting
	processes []*process
	cases     []plan.Case
	options   plan.Effort
	// upset is the process to which the trouble happens. signals ask a process to stop.
	upset   int
	signals []context.CancelFunc
	log     plan.Log
	mistake Mistake
	// results are the leader's results. hung is true if some process never ended.
	results []record.Result
	hung    bool
}

// newTrial draws a cluster of 2 to 9 processes and a sweep for it.
func newTrial(seed int, after After) *trial {
	rng := rand.New(rand.NewPCG(uint64(seed), 20261121))
	t := &trial{seed: seed, meeting: &meeting{after: after, met: map[[2]int]*launch{}, abandoned: make(chan struct{})}}
	t.trouble = Troubles()[seed%len(Troubles())]
	n, ranks := 2+rng.IntN(8), 1<<rng.IntN(3)
	for i := range n {
		t.processes = append(t.processes, &process{
			meeting: t.meeting, number: i, ranks: ranks, clock: 0.5 + rng.Float64(), noise: rng.Float64() / 10,
			memory: 1 << (17 + rng.IntN(6)), rng: rand.New(rand.NewPCG(uint64(seed), uint64(i))), seq: map[int]int{},
		})
	}
	t.axes(rng, n, ranks)
	t.options = plan.Effort{Warmup: rng.IntN(3), Iterations: 20, Checks: rng.IntN(2)}
	t.options.Burst = stat.Rule{Precision: 0.01, MinSamples: 12, MaxSamples: 60, MaxTime: 0.01 * rng.Float64()}
	t.options.Isolated = stat.Rule{Precision: 0.01, MinSamples: 20, MaxSamples: 60, MaxTime: 0.001 * rng.Float64()}
	t.upset = rng.IntN(n)
	switch t.trouble {
	case LeaderDies:
		t.upset = 0
	case ProcessDies:
		t.upset = 1 + rng.IntN(n-1)
	default:
	}
	t.prepare(rng)
	return t
}

// axes draws the sweep: two or three sizes, with all processes and sometimes with the first one
// alone.
func (t *trial) axes(rng *rand.Rand, n, ranks int) {
	a := plan.Axes{
		Ops: collective.Ops()[:1], MinBytes: 1 << 10, MaxBytes: 1 << 20, Factor: 32, InPlace: []bool{false},
		World: spec.World{Nodes: n, GPUsPerNode: ranks, GPUsPerProcess: ranks},
	}
	a.Collectives = collective.All()[rng.IntN(3):][:1]
	a.Dtypes = collective.Dtypes()[rng.IntN(8):][:1]
	if rng.IntN(2) == 0 {
		a.Scales = []int{1 + rng.IntN(n)}
	}
	t.cases = a.Cases()
}

// prepare plants the trouble.
func (t *trial) prepare(rng *rand.Rand) {
	p := t.processes[t.upset]
	p.at = 1 + rng.IntN(150)
	full := rng.IntN(len(t.cases))
	switch t.trouble {
	case SignalOne:
		p.trouble = func() { t.signals[t.upset]() }
	case LaunchFails:
		p.trouble = func() { p.broken = true }
	case ProcessDies, LeaderDies:
		p.trouble = func() { panic(killed{}) }
	case NoKernelsOne:
		p.noKernels = true
	case DiskFull:
		var written atomic.Int64 // atomic, because a mistake may let several processes write
		t.log.Append = func(record.Part) error {
			if written.Add(1) > int64(full) {
				return errors.New("no space left on device")
			}
			return nil
		}
	case Resumed: // only the leader knows what was done before
		for _, c := range t.cases[:full] {
			for pass := range plan.Passes {
				t.log.Parts = append(t.log.Parts, record.Part{Key: c.Key, Pass: pass, Status: record.OK})
			}
		}
	default:
	}
}

// run runs the trial, with each process in a goroutine of its own.
func (t *trial) run() {
	var all sync.WaitGroup
	leadGone := make(chan struct{})
	var others wires
	contexts := make([]context.Context, len(t.processes))
	for i := range t.processes {
		ctx, signal := context.WithCancel(context.Background())
		defer signal()
		contexts[i], t.signals = ctx, append(t.signals, signal)
		if i > 0 {
			others = append(others, newWire(t.meeting, leadGone))
		}
	}
	for i := range t.processes {
		all.Go(func() {
			defer func() {
				if end := recover(); end != nil && end != (killed{}) {
					panic(end)
				}
			}()
			if i == 0 {
				defer close(leadGone)
				t.lead(contexts[0], others)
				return
			}
			defer close(others[i-1].followerGone)
			t.follow(contexts[i], i, others[i-1])
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-t.meeting.after(watchdog):
		t.hung = true
		close(t.meeting.abandoned)
		<-ended
	}
}

// process returns the i-th process with the mistake, if any.
func (t *trial) process(ctx context.Context, i int) plan.Process {
	if t.mistake.Of != nil {
		return t.mistake.Of(ctx, t.processes[i])
	}
	return t.processes[i]
}

func (t *trial) follow(ctx context.Context, i int, w *wire) {
	if t.mistake.Alone {
		t.sweep(ctx, t.process(ctx, i))
		return
	}
	_ = plan.Follow(ctx, t.process(ctx, i), w) // the outcome is judged from outside
}

func (t *trial) lead(ctx context.Context, others wires) {
	if t.mistake.Alone {
		t.results = t.sweep(ctx, t.process(ctx, 0))
		return
	}
	var world []plan.Member
	for _, p := range t.processes {
		world = append(world, plan.Member{Ranks: p.ranks})
	}
	g, ctx := plan.Lead(ctx, t.process(ctx, 0), others, world)
	defer g.End()
	t.results = t.sweep(ctx, g)
}

// sweep does what a command does with one process or with a group.
func (t *trial) sweep(ctx context.Context, p plan.Process) []record.Result {
	cases := slices.Clone(t.cases)
	room, err := p.Budget()
	if err != nil {
		return nil
	}
	plan.Fit(cases, room)
	if err := p.Allocate(ctx, room.For(cases)); err != nil {
		return nil
	}
	taken, _ := plan.Resume(ctx, cases, p, t.options, t.log, func(record.Result) {})
	return taken.Results(cases)
}
