package plan

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// Driver runs launches and times them. Its errors say what failed and where.
type Driver interface {
	// Begin announces the case that the next bursts belong to.
	Begin(c Case)
	// Burst launches the case iterations times on every rank, waits, and returns
	// the seconds per launch of each rank. The slice is good until the next call.
	// It returns early, with an error, when ctx is cancelled.
	Burst(ctx context.Context, c Case, iterations int) ([]float64, error)
}

// Options say how often each case is launched.
type Options struct {
	// Warmup launches come first and are not timed (rccl-tests -w).
	Warmup int
	// Iterations is the number of launches in a burst (rccl-tests -n).
	Iterations int
	// Bursts is the number of bursts, each one sample. Six are the fewest that
	// give an interval for the median.
	Bursts int
}

// DefaultOptions are rccl-tests' 20 iterations after 5 of warm-up, six times.
func DefaultOptions() Options { return Options{Warmup: 5, Iterations: 20, Bursts: stat.MinInterval} }

// Validate reports counts that measure nothing.
func (o Options) Validate() error {
	switch {
	case o.Warmup < 0:
		return fmt.Errorf("warm-up launches (-w) must not be negative, not %d", o.Warmup)
	case o.Iterations < 1:
		return fmt.Errorf("iterations (-n) must be at least 1, not %d", o.Iterations)
	case o.Bursts < 1:
		return fmt.Errorf("bursts (--bursts) must be at least 1, not %d", o.Bursts)
	}
	return nil
}

// noisyCV is the coefficient of variation above which a result carries a
// warning; rccl-tests users see about 1 to 3 % on a quiet machine.
const noisyCV = 0.05

// Run runs the cases in order and reports each result as it comes; it returns
// them all. Nothing vanishes: once a case has failed the communicator can no
// longer be trusted, so those after it are skipped and say so, and once ctx is
// cancelled the rest are interrupted.
func Run(ctx context.Context, cases []Case, d Driver, o Options, done func(record.Result)) []record.Result {
	results := make([]record.Result, 0, len(cases))
	broken := ""
	for _, c := range cases {
		r := c.result()
		switch {
		case c.Skip != "":
			r.Status, r.Reason = record.Skipped, c.Skip
		case ctx.Err() != nil:
			r.Status, r.Reason = record.Interrupted, "stopped before this case"
		case broken != "":
			r.Status, r.Reason = record.Skipped, "not run: "+broken+" failed before it"
		default:
			runCase(ctx, c, d, o, &r)
		}
		if r.Status == record.Failed {
			broken = c.Key
		}
		results = append(results, r)
		done(r)
	}
	return results
}

// runCase warms up, takes the samples and fills the result.
func runCase(ctx context.Context, c Case, d Driver, o Options, r *record.Result) {
	d.Begin(c)
	err := error(nil)
	if o.Warmup > 0 {
		_, err = d.Burst(ctx, c, o.Warmup)
	}
	means := make([]float64, 0, o.Bursts)
	maxes := make([]float64, 0, o.Bursts)
	for range o.Bursts {
		if err != nil {
			break
		}
		var ranks []float64
		if ranks, err = d.Burst(ctx, c, o.Iterations); err == nil {
			mean, longest := reduce(ranks)
			means, maxes = append(means, mean), append(maxes, longest)
		}
	}
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled)):
		r.Status, r.Reason = record.Interrupted, "stopped during this case"
	case err != nil:
		r.Status, r.Reason = record.Failed, err.Error()
	default:
		r.Status = record.OK
		r.Burst = &record.Timing{Iterations: o.Iterations, MeanOfRanks: stat.Summarize(means), MaxOfRanks: stat.Summarize(maxes)}
		r.SetHeadline(c.Collective.BusFactor(c.Ranks))
		r.Warnings = append(r.Warnings, doubts(r.Burst)...)
	}
}

// reduce returns the mean and the largest of the ranks' times.
func reduce(ranks []float64) (mean, longest float64) {
	for _, s := range ranks {
		mean += s
		longest = max(longest, s)
	}
	return mean / float64(len(ranks)), longest
}

// doubts are the warnings that a timing earns by its own figures.
func doubts(t *record.Timing) []record.Warning {
	cv := t.MeanOfRanks.CV
	if cv == nil || *cv <= noisyCV {
		return nil
	}
	return []record.Warning{{
		Code:    "noisy",
		Message: fmt.Sprintf("bursts differ by %.1f %% (standard deviation over mean)", *cv*100),
		Hint:    "raise -n or --bursts, and look for other jobs on these nodes",
	}}
}
