package plan

import (
	"context"
	"fmt"
	"slices"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// Driver runs launches and times them. Its errors state what failed and where. Its
// slices are valid until the next call. A call returns early with an error when ctx is
// cancelled. The driver runs exactly the requested launches, at most MaxBatch per call.
// The error of launches that did not end can be Stuck.
type Driver interface {
	// Begin announces the case and the pass that the next calls belong to.
	Begin(c Case, pass int) error
	// Unverifiable is the reason why the current case cannot be verified, empty if it
	// can.
	Unverifiable(c Case) string
	// Verify launches the case once and checks every element of every result.
	Verify(ctx context.Context, c Case, launch int) (Verification, error)
	// WarmUp launches the case back to back on every rank and waits. It returns seconds
	// per launch by rank, as an estimate: they are no samples.
	WarmUp(ctx context.Context, launches int) ([]float64, error)
	// Burst runs bursts: each launches the case back to back on every rank and waits.
	// It returns seconds per launch, by burst × rank.
	Burst(ctx context.Context, b Bursts) ([]float64, error)
	// Isolated runs isolated launches and returns the seconds by launch × rank.
	Isolated(ctx context.Context, launches int) ([]float64, error)
	// Held reports whether all launches of the last Isolated were enqueued before the
	// first of them started. Otherwise their times may include the host.
	Held() bool
	// EventFloor is the time between two events with nothing between them, in seconds.
	EventFloor() float64
}

// Stuck is an error with the evidence how far every rank got.
type Stuck interface {
	error
	Evidence() *record.Evidence
}

// Bursts are Count bursts of Iterations launches. With Replays the launches of a
// burst are captured into a graph, which is replayed that many times.
type Bursts struct {
	Count      int `json:"count"`
	Iterations int `json:"iterations"`
	Replays    int `json:"replays,omitempty"`
}

// Launches is the number of launches of one burst.
func (b Bursts) Launches() int { return b.Iterations * max(b.Replays, 1) }

// Verification is the result of one verification launch.
type Verification struct {
	// Wrong is the number of wrong elements over all ranks; First describes the first
	// of them: where it is, the expected and the found value.
	Wrong int64
	First string
}

// MaxBatch is the most bursts or isolated launches per call of a driver: the times are
// gathered from every process.
const MaxBatch = 64

// MostRepeats is the most batches of isolated launches that a pass repeats because they
// started while the host was still enqueueing. Each lets the driver lengthen the next
// hold. If this does not suffice, the host is too slow, and later batches are kept.
const MostRepeats = 8

// Options set how often each case is launched.
type Options struct {
	// Warmup launches come first and are not timed (rccl-tests -w).
	Warmup int
	// Iterations is the number of launches in a burst (rccl-tests -n).
	Iterations int
	// Checks is the number of verification launches (rccl-tests -c).
	Checks int
	// Burst and Isolated set when there are enough samples.
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

// MaxLaunches is the most launches per call of a driver: more is a mistake, and the
// loops count in 32 bits.
const MaxLaunches = 1_000_000

// Validate reports counts that measure nothing or exceed a driver's range.
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

// Passes is the number of runs through all sizes: ascending, then descending.
const Passes = record.Passes

// Log is the state of a sweep that survives the process.
type Log struct {
	// Parts are those that earlier runs of the same sweep finished. They do not run
	// again.
	Parts []record.Part
	// Append writes a finished pass of a case to disk before the next one starts; nil
	// writes nothing. Its error ends the sweep.
	Append func(record.Part) error
}

// Run is Resume without a log.
func Run(ctx context.Context, cases []Case, d Driver, o Options, done func(record.Result)) []record.Result {
	results, _ := Resume(ctx, cases, d, o, Log{}, done) // only a log's Append fails
	return results
}

// Resume runs the passes of the cases that the log does not have, in two passes, and
// reports each result after its last pass. It returns all results in the order of the
// cases, also with an error of the log. After a failed case the communicator is not
// usable: later cases are skipped with that reason, and cases with one pass get the
// result of that pass. After ctx is cancelled the remaining cases are interrupted. An
// interrupted pass is discarded and repeated by a later run.
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
	// failed is the key of the case that failed; err is the log's error.
	failed string
	err    error
}

// step runs one pass of a case, unless the log has it, and logs it.
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

// take measures one pass of a case; ok is false if it was interrupted.
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

// result is a case's result at the end of the sweep.
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
