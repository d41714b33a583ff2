package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// process is one process of a cluster: a plan.Process whose clock runs too fast or too slow, with
// noise and memory of its own.
type process struct {
	meeting       *meeting
	number, ranks int
	// clock is the time that its clock shows after a second. noise is relative.
	clock, noise float64
	memory       int64
	rng          *rand.Rand
	// trouble is called before launch number at, counted from 1.
	trouble func()
	at      int
	// broken makes every later launch fail.
	broken bool
	// noKernels is true if the process lacks the kernels for verification.
	noKernels bool

	c plan.Case
	// orders are the orders that it received, launches are the launches that it made. seq counts
	// its launches by the number of participating processes.
	orders, launches []string
	seq              map[int]int
	missed           bool
	spent            float64
}

var errLink = errors.New("link down")

// killed is the panic value of a process that is killed during a launch.
type killed struct{}

// active returns the number of processes that take part in the case.
func (p *process) active() int { return p.c.Ranks * p.c.Parallel / p.ranks }

func (p *process) ordered(format string, args ...any) {
	p.orders = append(p.orders, fmt.Sprintf(format, args...))
}

// launch makes one launch together with all other participating processes.
func (p *process) launch(kind string, count int) error {
	active := p.active()
	if p.number >= active {
		return nil
	}
	if p.at--; p.at == 0 && p.trouble != nil {
		p.trouble()
	}
	if p.broken {
		return errLink
	}
	what := fmt.Sprintf("%s × %d of %s", kind, count, p.c.Key)
	p.launches = append(p.launches, what)
	p.seq[active]++
	err := p.meeting.meet(active, p.seq[active], what)
	p.missed = p.missed || err != nil
	if errors.Is(err, errMissed) {
		return p.stuck(kind, count)
	}
	return err
}

// stuck returns the error of launches that other processes did not make, with what this process
// knows about its own ranks. In this model it only knows how many launches it has enqueued.
func (p *process) stuck(kind string, count int) error {
	e := &record.Evidence{During: phases[kind], Iterations: count, Deadline: new(launchDeadline.Seconds())}
	e.SetRanksFrom(p.number*p.ranks, slices.Repeat([]record.RankProgress{{Enqueued: count, Started: -1, Ended: -1}}, p.ranks))
	return &stuckError{errMissed, e}
}

var phases = map[string]string{
	"verify": record.DuringVerification, "warm-up": record.DuringWarmUp, "burst": record.DuringBurst, "isolated": record.DuringIsolated,
}

// stuckError implements plan.Stuck.
type stuckError struct {
	error
	evidence *record.Evidence
}

func (e *stuckError) Evidence() *record.Evidence { return e.evidence }
func (e *stuckError) Unwrap() error              { return e.error }

// seconds returns one time per participating rank: noise around the time of the size, measured by
// the process's own clock.
func (p *process) seconds() []float64 {
	var out []float64
	truth := 1e-5 + float64(p.c.Layout.Bytes)/1e10
	for range p.ranks {
		if p.number < p.active() {
			out = append(out, truth*p.clock*max(0.1, 1+p.noise*p.rng.NormFloat64()))
		}
	}
	if len(out) > 0 {
		p.spent += out[0]
	}
	return out
}

func (p *process) Budget() (plan.Room, error) {
	p.ordered("budget")
	return plan.Room{Bytes: p.memory}, nil
}

func (p *process) IDs(c plan.Comms) (ids []plan.CommID, err error) {
	for _, h := range c.Held(p.number*p.ranks, p.ranks) {
		if h.First == 0 {
			ids = append(ids, plan.CommID{Group: h.Group})
		}
	}
	return ids, nil
}

func (p *process) Join(_ context.Context, c plan.Comms, _ []plan.CommID) error {
	p.ordered("join %+v", c)
	return nil
}

func (p *process) Allocate(_ context.Context, need plan.Room) error {
	p.ordered("allocate %d bytes", need.Bytes)
	return nil
}

func (p *process) Begin(c plan.Case, pass int) error {
	p.c, p.spent = c, 0
	p.ordered("begin %s, pass %d", c.Key, pass)
	return nil
}

func (p *process) Unverifiable(plan.Case) string {
	if p.noKernels {
		return "no kernels"
	}
	return ""
}

func (p *process) Verify(_ context.Context, _ plan.Case, launch int) (plan.Verification, error) {
	p.ordered("verify, launch %d", launch)
	return plan.Verification{}, p.launch("verify", 1)
}

func (p *process) WarmUp(_ context.Context, launches int) ([]float64, error) {
	p.ordered("warm-up of %d", launches)
	if err := p.launch("warm-up", launches); err != nil {
		return nil, err
	}
	return p.seconds(), nil
}

func (p *process) Burst(_ context.Context, b plan.Bursts) ([]float64, error) {
	p.ordered("%d bursts of %d", b.Count, b.Iterations)
	var out []float64
	for range b.Count {
		if err := p.launch("burst", b.Iterations); err != nil {
			return nil, err
		}
		out = append(out, p.seconds()...)
	}
	return out, nil
}

// launchesAlone is the end of an order for isolated launches.
const launchesAlone = " launches alone"

func (p *process) Isolated(_ context.Context, launches int) ([]float64, error) {
	p.ordered("%d"+launchesAlone, launches)
	var out []float64
	for range launches {
		if err := p.launch("isolated", 1); err != nil {
			return nil, err
		}
		out = append(out, p.seconds()...)
	}
	return out, nil
}

func (*process) Held() bool { return true }

func (p *process) EventFloor() float64 { return 1e-7 }
