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
// error, when ctx is cancelled. It launches what it is asked to, no more and no
// less, and is asked for at most MaxBatch at once. An error of launches that did
// not end may be a Stuck one.
type Driver interface {
	// Begin announces the case and the pass that the next calls belong to.
	Begin(c Case, pass int) error
	// Unverifiable is why the case that has begun cannot be verified, empty when
	// it can.
	Unverifiable(c Case) string
	// Verify launches the case once and checks every element of every result.
	Verify(ctx context.Context, c Case, launch int) (Verification, error)
	// WarmUp launches the case so many times back to back on every rank and waits.
	// It returns seconds per launch by rank, which are a guess and no sample.
	WarmUp(ctx context.Context, launches int) ([]float64, error)
	// Burst takes bursts: each launches the case back to back on every rank and
	// waits. It returns seconds per launch, by burst × rank.
	Burst(ctx context.Context, b Bursts) ([]float64, error)
	// Isolated launches it so many times, each alone, and returns the seconds by
	// launch × rank.
	Isolated(ctx context.Context, launches int) ([]float64, error)
	// Held tells whether the launches of the last Isolated were all enqueued before
	// the first of them began: else their times may be the host's.
	Held() bool
	// EventFloor is the seconds that isolated timing shows for nothing at all.
	EventFloor() float64
}

// Stuck is an error that knows how far every rank got.
type Stuck interface {
	error
	Evidence() *record.Evidence
}

// Bursts are Count bursts of Iterations launches. With Replays the launches of a
// burst are captured into a graph, which is replayed so often instead.
type Bursts struct {
	Count      int `json:"count"`
	Iterations int `json:"iterations"`
	Replays    int `json:"replays,omitempty"`
}

// Launches are those of one burst.
func (b Bursts) Launches() int { return b.Iterations * max(b.Replays, 1) }

// Verification is what one verification launch found.
type Verification struct {
	// Wrong is the number of wrong elements over all ranks; First says where the
	// first is, what was expected and what was there.
	Wrong int64
	First string
}

// MaxBatch is the most bursts, or launches alone, that a driver is asked for at
// once: its answer must be gathered from every process.
const MaxBatch = 64

// MostRepeats is how many batches of launches alone a pass takes again because the
// host was still enqueueing when they began. Each tells the driver how long to hold
// the next back; where none does, the host is too slow, and later ones are kept.
const MostRepeats = 8

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
	// EveryRank keeps each rank's interval of every isolated launch.
	EveryRank bool
}

// DefaultOptions are rccl-tests' 20 iterations after 5 of warm-up, one verified
// launch, and 1 % or 0.4 s for each timing.
func DefaultOptions() Options {
	o := Options{Warmup: 5, Iterations: 20, Checks: 1, Burst: stat.DefaultRule(), Isolated: stat.DefaultRule()}
	o.Burst.MinSamples = 2 * stat.MinInterval
	return o
}

// MaxLaunches is the most launches that one call of a driver is asked for: more is
// a mistake, and the loops count in 32 bits.
const MaxLaunches = 1_000_000

// Validate reports counts that measure nothing, or that no driver can count.
func (o Options) Validate() error {
	switch {
	case o.Warmup < 0 || o.Warmup > MaxLaunches:
		return fmt.Errorf("warm-up launches (-w) must be 0 to %d, not %d", MaxLaunches, o.Warmup)
	case o.Iterations < 1 || o.Iterations > MaxLaunches:
		return fmt.Errorf("iterations (-n) must be 1 to %d, not %d", MaxLaunches, o.Iterations)
	case o.Checks < 0 || o.Checks > MaxLaunches:
		return fmt.Errorf("verified launches (-c) must be 0 to %d, not %d", MaxLaunches, o.Checks)
	}
	if err := o.Burst.Validate(); err != nil {
		return err
	}
	return o.Isolated.Validate()
}

// Passes is how often the sizes are gone through: up, then down.
const Passes = record.Passes

// Log is a sweep's memory, which outlives the process.
type Log struct {
	// Parts are what earlier runs of the same sweep have finished: they are not
	// run again.
	Parts []record.Part
	// Append makes a finished pass of a case durable before the next begins; nil
	// keeps nothing. Its error ends the sweep.
	Append func(record.Part) error
}

// Run is Resume without a memory.
func Run(ctx context.Context, cases []Case, d Driver, o Options, done func(record.Result)) []record.Result {
	results, _ := Resume(ctx, cases, d, o, Log{}, done) // only a log's Append fails
	return results
}

// Resume runs what the log does not have of the cases, in two passes, and reports
// each result when its last pass is done; it returns them all in the order of the
// cases, also with an error of the log. Nothing vanishes: once a case has failed
// the communicator can no longer be trusted, so those after it are skipped and
// say so, and those with one pass are results of that; once ctx is cancelled the
// rest are interrupted. A pass that was cut short is not kept: it is taken whole
// later.
func Resume(ctx context.Context, cases []Case, d Driver, o Options, kept Log, done func(record.Result)) ([]record.Result, error) {
	s := sweep{d: d, o: o, log: kept, parts: map[string][]record.Part{}}
	for _, p := range kept.Parts {
		s.parts[p.Key] = append(s.parts[p.Key], p)
	}
	order, before := make([]int, len(cases)), make([]bool, len(cases))
	for i, c := range cases {
		order[i], before[i] = i, c.Skip == "" && record.Finished(c.Planned(), s.parts[c.Key])
	}
	results := make([]record.Result, len(cases))
	for pass := range Passes {
		for _, i := range order {
			s.step(ctx, cases[i], pass)
			if pass < Passes-1 {
				continue
			}
			results[i] = s.result(cases[i])
			if !before[i] {
				done(results[i])
			}
		}
		slices.Reverse(order)
	}
	return results, s.err
}

// sweep is a run of the cases.
type sweep struct {
	d     Driver
	o     Options
	log   Log
	parts map[string][]record.Part
	// failed is the key of the case that broke the communicator; err is the log's.
	failed string
	err    error
}

// step takes one pass of a case where it is still to be taken, and logs it.
func (s *sweep) step(ctx context.Context, c Case, pass int) {
	have := s.parts[c.Key]
	if s.err != nil || s.failed != "" || ctx.Err() != nil || len(have) > pass || record.Finished(c.Planned(), have) {
		return
	}
	part, ok := s.take(ctx, c, pass)
	if !ok {
		return
	}
	s.parts[c.Key] = append(have, part)
	if part.Status == record.Failed {
		s.failed = c.Key
	}
	if s.log.Append != nil {
		s.err = s.log.Append(part)
	}
}

// take takes one pass's samples of a case; ok is false when it was cut short.
func (s *sweep) take(ctx context.Context, c Case, pass int) (part record.Part, ok bool) {
	t := &passRun{c: c, late: map[int]int{}, everyRank: s.o.EveryRank, part: record.Part{Key: c.Key, Pass: pass, Status: record.OK}}
	err := s.d.Begin(c, pass)
	if err == nil && s.o.Warmup > 0 {
		err = t.warmUp(ctx, s.d, s.o.Warmup)
	}
	if err == nil && pass == 0 {
		err = t.verify(ctx, s.d, s.o.Checks)
	}
	if err == nil && t.part.Status == record.OK {
		err = t.bursts(ctx, s.d, perPass(s.o.Burst), s.o.Iterations)
	}
	if err == nil && t.part.Status == record.OK {
		err = t.isolated(ctx, s.d, perPass(s.o.Isolated))
	}
	if err != nil {
		t.fail(err)
	}
	return t.part, err == nil || ctx.Err() == nil
}

// result is a case's result as far as the sweep went.
func (s *sweep) result(c Case) record.Result {
	if s.failed != "" {
		return record.CutShort(c.Planned(), s.parts[c.Key], s.failed)
	}
	return record.Assemble(c.Planned(), s.parts[c.Key])
}

// perPass is a rule's share of one pass.
func perPass(r stat.Rule) stat.Rule {
	r.MinSamples = (r.MinSamples + Passes - 1) / Passes
	r.MaxSamples = (r.MaxSamples + Passes - 1) / Passes
	r.MaxTime /= Passes
	if r.Batch == 0 || r.Batch > MaxBatch {
		r.Batch = MaxBatch
	}
	return r
}
