package plan

import (
	"context"
	"fmt"
	"slices"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// Driver runs launches and times them. Its errors say what failed and where. Its
// slices are good until the next call, and every call returns early, with an
// error, when ctx is cancelled.
type Driver interface {
	// Begin announces the case and the pass that the next calls belong to.
	Begin(c Case, pass int) error
	// Verify launches the case once and checks every element of every result.
	Verify(ctx context.Context, c Case, launch int) (Verification, error)
	// Burst launches the case so many times back to back on every rank, waits,
	// and returns the seconds per launch of each rank.
	Burst(ctx context.Context, iterations int) ([]float64, error)
	// Isolated launches it so many times, each alone, or fewer, and returns the
	// seconds by launch × rank.
	Isolated(ctx context.Context, iterations int) ([]float64, error)
	// EventFloor is the seconds that isolated timing shows for nothing at all.
	EventFloor() float64
}

// Verification is what one verification launch found.
type Verification struct {
	// Wrong is the number of wrong elements over all ranks; First says where the
	// first is, what was expected and what was there.
	Wrong int64
	First string
	// Skipped is why nothing was verified, empty when it was.
	Skipped string
}

// Options say how often each case is launched.
type Options struct {
	// Warmup launches come first and are not timed (rccl-tests -w).
	Warmup int
	// Iterations is the number of launches in a burst (rccl-tests -n).
	Iterations int
	// Checks is the number of verification launches (rccl-tests -c).
	Checks int
	// Burst and Isolated say when enough samples are taken.
	Burst, Isolated stat.Rule
}

// DefaultOptions are rccl-tests' 20 iterations after 5 of warm-up, one verified
// launch, and 1 % or 0.4 s for each timing.
func DefaultOptions() Options {
	o := Options{Warmup: 5, Iterations: 20, Checks: 1, Burst: stat.DefaultRule(), Isolated: stat.DefaultRule()}
	o.Burst.MinSamples = 2 * stat.MinInterval
	return o
}

// Validate reports counts that measure nothing.
func (o Options) Validate() error {
	switch {
	case o.Warmup < 0:
		return fmt.Errorf("warm-up launches (-w) must not be negative, not %d", o.Warmup)
	case o.Iterations < 1:
		return fmt.Errorf("iterations (-n) must be at least 1, not %d", o.Iterations)
	}
	if err := o.Burst.Validate(); err != nil {
		return err
	}
	return o.Isolated.Validate()
}

// Passes over the sizes: up, then down, so that drift is not mistaken for size.
const Passes = 2

// Run runs the cases in two passes and reports each result when its last pass is
// done; it returns them all in the order of the cases. Nothing vanishes: once a
// case has failed the communicator can no longer be trusted, so those after it
// are skipped and say so, and once ctx is cancelled the rest are interrupted.
func Run(ctx context.Context, cases []Case, d Driver, o Options, done func(record.Result)) []record.Result {
	taken := make([]*samples, len(cases))
	for i, c := range cases {
		taken[i] = newSamples(c)
	}
	order := make([]int, len(cases))
	for i := range order {
		order[i] = i
	}
	broken := ""
	results := make([]record.Result, len(cases))
	for pass := range Passes {
		for _, i := range order {
			s := taken[i]
			switch {
			case s.result.Status != "":
			case ctx.Err() != nil:
				s.end(record.Interrupted, "stopped before this case was finished")
			case broken != "":
				s.end(record.Skipped, "not run: "+broken+" failed before it")
			default:
				runPass(ctx, s, d, o, pass)
			}
			if s.result.Status == record.Failed {
				broken = s.c.Key
			}
			if pass == Passes-1 {
				results[i] = s.finish(o, d)
				done(results[i])
			}
		}
		slices.Reverse(order)
	}
	return results
}

// runPass takes one pass's samples of a case.
func runPass(ctx context.Context, s *samples, d Driver, o Options, pass int) {
	err := d.Begin(s.c, pass)
	if err == nil && o.Warmup > 0 {
		_, err = d.Burst(ctx, o.Warmup)
	}
	if err == nil && pass == 0 {
		err = s.verify(ctx, d, o.Checks)
	}
	if err == nil && s.result.Status == "" {
		err = s.bursts(ctx, d, perPass(o.Burst), o.Iterations)
	}
	if err == nil && s.result.Status == "" {
		err = s.isolated(ctx, d, perPass(o.Isolated))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		s.end(record.Interrupted, "stopped during this case")
	case err != nil:
		s.end(record.Failed, err.Error())
	}
}

// perPass is a rule's share of one pass.
func perPass(r stat.Rule) stat.Rule {
	r.MinSamples = (r.MinSamples + Passes - 1) / Passes
	r.MaxSamples = (r.MaxSamples + Passes - 1) / Passes
	r.MaxTime /= Passes
	return r
}
