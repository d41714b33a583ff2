package plan

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/record"
)

// Driver runs launches and times them. Its errors state what failed and where. Its
// slices are valid until the next call. A call returns early with an error when ctx is
// cancelled. The driver runs exactly the requested launches, at most MaxBatch per call.
// The error of launches that did not end can be Stuck.
type Driver interface {
	// Begin announces the case and the pass of the next calls.
	Begin(c Case, pass int) error
	// Unverifiable returns the reason why the current case cannot be verified, empty if it can.
	Unverifiable(c Case) string
	// Verify launches the case once and checks every element of every result, or random blocks of a
	// case that is too large for that.
	Verify(ctx context.Context, c Case, launch int) (Verification, error)
	// WarmUp launches the case back to back on every rank and waits. It returns seconds per launch
	// by rank, as an estimate, not as samples.
	WarmUp(ctx context.Context, launches int) ([]float64, error)
	// Burst runs bursts: each launches the case back to back on every rank and waits.
	// It returns seconds per launch, by burst × rank.
	Burst(ctx context.Context, b Bursts) ([]float64, error)
	// Isolated runs isolated launches and returns the seconds by launch × rank.
	Isolated(ctx context.Context, launches int) ([]float64, error)
	// Held reports whether all launches of the last Isolated were enqueued before the
	// first of them started. Otherwise their times may include the host.
	Held() bool
	// EventFloor returns the time between two adjacent events, in seconds.
	EventFloor() float64
}

// Stuck is an error with the progress of every rank.
type Stuck interface {
	error
	Evidence() *record.Evidence
}

// Witnessing is a Driver with a second source about a passed deadline, such as the library's own
// service. It answers within seconds; nil is none.
type Witnessing interface {
	Witness() *record.Witness
}

// Registering is a Driver that can report the effect of a policy.
type Registering interface {
	// Unserved returns the missing condition if the library would not run the case as its policy
	// requests; empty if it would.
	Unserved(c Case) string
	// Registration returns how long the last Begin registered buffers, in seconds; 0 if it
	// registered none.
	Registration() float64
	// Ran returns how the library says that it runs the case, which was launched since Begin.
	Ran(c Case) policy.Ran
}

// unregistered is a library without registration and policies.
type unregistered struct{}

func (unregistered) Unserved(Case) string  { return "" }
func (unregistered) Registration() float64 { return 0 }
func (unregistered) Ran(Case) policy.Ran   { return policy.Ran{} }

// Bursts are Count bursts of Iterations launches. With Replays the launches of a
// burst are captured into a graph, which is replayed that many times.
type Bursts struct {
	Count      int `json:"count"`
	Iterations int `json:"iterations"`
	Replays    int `json:"replays,omitempty"`
}

// Launches returns the number of launches of one burst.
func (b Bursts) Launches() int { return b.Iterations * max(b.Replays, 1) }

// Verification is the result of one verification launch.
type Verification struct {
	// Wrong is the number of wrong elements over all ranks; First describes the first of them: its
	// place, the expected and the actual value.
	Wrong int64  `json:"wrong,omitempty"`
	First string `json:"first,omitempty"`
	// Blocks is the number of checked random blocks of BlockBytes each; 0 if every element was
	// checked.
	Blocks     int   `json:"blocks,omitempty"`
	BlockBytes int64 `json:"block_bytes,omitempty"`
	// Located are the wrong elements by receiver and sender, for a launch that follows its data
	// AtOnce.
	Located []WrongPart `json:"located,omitempty"`
}

// zero reports whether no wrong element was found and no block checked.
func (v *Verification) zero() bool { return v.Wrong == 0 && v.Blocks == 0 }

// WrongPart holds the wrong elements of one receiver from one sender.
type WrongPart struct {
	// Rank is the receiver, by its number in the world.
	Rank int `json:"rank"`
	// From are the ranks that may have sent them: one rank if the data were not reduced, and none if no
	// single rank explains them.
	From []int `json:"from"`
	// Elements is the number of wrong elements.
	Elements int64 `json:"elements"`
	// Ranges are the first ranges of wrong elements in the receive buffer, by first and last element.
	Ranges [][2]int64 `json:"ranges"`
	// Pattern is the kind of wrong content.
	Pattern Pattern `json:"pattern"`
	// Shift is the number of elements by which data are shifted.
	Shift int64 `json:"shift,omitempty"`
}

// Pattern classifies the content in place of the right data.
type Pattern string

// The patterns: zeros, or a missing contribution; the earlier content of the sender's buffer; the
// earlier content of the receiver's buffer; data from elsewhere in the result; one bit of an
// element; a doubled contribution.
const (
	Zeros      Pattern = "zeros"
	Stale      Pattern = "stale"
	NotWritten Pattern = "not written"
	Shifted    Pattern = "shifted"
	OneBit     Pattern = "one bit"
	Doubled    Pattern = "doubled"
	OtherData  Pattern = "other"
)

// Patterns returns all patterns.
func Patterns() []Pattern {
	return []Pattern{Zeros, Stale, NotWritten, Shifted, OneBit, Doubled, OtherData}
}

// MostLocated is the most parts that a process reports per launch.
const MostLocated = 1024

// MaxBatch is the most bursts or isolated launches per call of a driver: the times are
// gathered from every process.
const MaxBatch = 64

// MostRepeats is the most batches of isolated launches that a pass repeats because they started
// while the host was still enqueueing. Each lets the driver lengthen the next hold. If this does
// not suffice, the host is too slow, and later batches are kept.
const MostRepeats = 8

// Effort sets the number of launches of each case.
type Effort struct {
	// Warmup launches come first and are not timed (rccl-tests -w).
	Warmup int
	// Iterations is the number of launches in a burst (rccl-tests -n).
	Iterations int
	// Checks is the number of verification launches (rccl-tests -c).
	Checks int
	// Burst and Isolated decide when there are enough samples.
	Burst, Isolated stat.Rule
	// EveryRank keeps each rank's interval of every isolated launch.
	EveryRank bool
}

// DefaultOptions are rccl-tests' 20 iterations after 5 of warm-up, one verified
// launch, and 1 % or 0.4 s for each timing.
func DefaultOptions() Effort {
	o := Effort{Warmup: 5, Iterations: 20, Checks: 1, Burst: stat.DefaultRule(), Isolated: stat.DefaultRule()}
	o.Burst.MinSamples = 2 * stat.MinInterval
	return o
}

// MaxLaunches is the most launches per call of a driver: more indicate a mistake, and the loops
// count in 32 bits.
const MaxLaunches = 1_000_000

// Validate reports counts that measure nothing or exceed a driver's range.
func (o Effort) Validate() error {
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

// Run runs all passes like Resume, but without a log. It returns the results in the order of the cases.
func Run(ctx context.Context, cases []Case, d Driver, o Effort, done func(record.Result)) []record.Result {
	taken, _ := Resume(ctx, cases, d, o, Log{}, done) // only a log's Append fails
	return taken.Results(cases)
}

// Resume runs the passes that the log lacks (Taken.Run) and calls done with each case's result after
// its last pass. An error is an error of the log.
func Resume(ctx context.Context, cases []Case, d Driver, o Effort, kept Log, done func(record.Result)) (*Taken, error) {
	jobs, before := make([]Job, len(cases)), make([]bool, len(cases))
	taken := NewTaken(kept.Parts)
	for i, c := range cases {
		before[i] = c.Skip == "" && record.Finished(c.Planned().Status, taken.Parts[c.Key])
		jobs[i] = Job{Keys: []string{c.Key}, Skipped: c.Skip != "", Take: func(ctx context.Context, pass int) ([]record.Part, bool) {
			part, whole := take(ctx, c, d, o, pass, taken.expected(cases, c))
			return []record.Part{part}, whole
		}}
	}
	return taken, taken.Run(ctx, jobs, kept.Append, func(i int) {
		if !before[i] {
			done(taken.resultOf(cases[i]))
		}
	})
}

// take measures one pass of a case. The argument known is the expected time of a launch. The result
// whole is false if the pass was cut short.
func take(ctx context.Context, c Case, d Driver, o Effort, pass int, known expected) (part record.Part, whole bool) {
	t := &passRun{c: c, late: map[int]int{}, everyRank: o.EveryRank, part: record.Part{Key: c.Key, Pass: pass, Status: record.OK}}
	before := CountersOf(d)
	err := t.prepare(ctx, d, o, pass, known)
	if err == nil && t.part.Status == record.OK {
		err = t.begin(ctx, d, o)
	}
	if err == nil && t.part.Status == record.OK {
		err = t.bursts(ctx, d, PerPass(o.Burst), o.Iterations)
	}
	if err == nil && t.part.Status == record.OK {
		err = t.isolated(ctx, d, PerPass(o.Isolated))
	}
	if err != nil {
		t.fail(d, err)
	}
	if before != nil {
		t.part.NICs = record.RoseNICs(before, CountersOf(d))
	}
	return t.part, err == nil || ctx.Err() == nil && !errors.Is(err, context.Canceled)
}
