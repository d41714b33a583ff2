package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/run/record"
)

// Step is a trainer's step, the same on every rank: operations in the order of computation, and the messages
// that they launch, each a case of Cases. Messages on the same communicators run one after another. Messages
// on different communicators run at the same time.
type Step struct {
	Ops   []StepOp `json:"ops"`
	Sends []int    `json:"sends,omitempty"`
	Cases []Case   `json:"cases,omitempty"`
}

// StepOp is computation for a number of seconds or launches, or an action on a message, given by
// its number in Sends. By is the other message of StepFollow.
type StepOp struct {
	Do       StepDo  `json:"do"`
	Seconds  float64 `json:"seconds,omitempty"`
	Message  int     `json:"message,omitempty"`
	By       int     `json:"by,omitempty"`
	Launches int     `json:"launches,omitempty"`
}

// StepDo is the action of a step's operation.
type StepDo string

// StepCompute only takes its seconds. StepLaunch launches a message when computation arrives there. StepWait
// makes computation wait for a message's end. StepFollow makes the future message By wait for the end of a
// message. StepTriad is computation on memory, and StepGemm computes matrix products. One launch of StepTriad
// or StepGemm takes some tenths of a millisecond. A step has only one of the two.
const (
	StepCompute StepDo = "compute"
	StepLaunch  StepDo = "launch"
	StepWait    StepDo = "wait"
	StepFollow  StepDo = "follow"
	StepTriad   StepDo = "triad"
	StepGemm    StepDo = "gemm"
)

// Works reports whether the operation is computation that uses the GPU.
func (d StepDo) Works() bool { return d == StepTriad || d == StepGemm }

const (
	// GemmSide is the side of the matrices of a product, in bfloat16.
	GemmSide = 4096
	// GemmSpace is the workspace of a product's choice, in bytes.
	GemmSpace = 32 << 20
	// leastTriad is the smallest array of the triad, in bytes: a launch takes some tenths of a
	// millisecond.
	leastTriad = 256 << 20
)

// Bytes returns the memory that the computation needs on a rank in addition to the arena, given the size
// of the last-level cache: three arrays that exceed every cache, or three matrices and GemmSpace.
func (d StepDo) Bytes(cache int64) int64 {
	if d == StepTriad {
		return 3 * max(leastTriad, cache/leastTriad*leastTriad)
	}
	if d == StepGemm {
		return 3*2*GemmSide*GemmSide + GemmSpace
	}
	return 0
}

// MaxSteps is the largest number of steps of one Play.
const MaxSteps = MaxBatch - 1

// Check refuses a step that no driver could run.
func (s *Step) Check(ranks int) error {
	for _, c := range s.Cases {
		if c.Skip != "" {
			return fmt.Errorf("a message of the step cannot be sent: %s", c.Skip)
		}
		if c.Comms().Active() != ranks {
			return fmt.Errorf("a message of the step is on communicators of %d ranks: all %d must be in one", c.Comms().Active(), ranks)
		}
	}
	none := func(message int) bool {
		return message < 0 || message >= len(s.Sends) || s.Sends[message] < 0 || s.Sends[message] >= len(s.Cases)
	}
	launched := make([]bool, len(s.Sends))
	for i, o := range s.Ops {
		if o.Seconds < 0 || o.Launches < 0 || o.Do != StepCompute && !o.Do.Works() && none(o.Message) || o.Do == StepFollow && none(o.By) {
			return fmt.Errorf("operation %d of the step, %+v, is none", i, o)
		}
		waits := o.Do == StepWait || o.Do == StepFollow
		if waits && !launched[o.Message] || o.Do == StepFollow && launched[o.By] || o.Do == StepLaunch && launched[o.Message] {
			return fmt.Errorf("operation %d of the step, %+v, is out of order", i, o)
		}
		if o.Do == StepLaunch {
			launched[o.Message] = true
		}
	}
	return nil
}

// Comms returns the communicators of a message.
func (s *Step) Comms(message int) Comms { return s.Cases[s.Sends[message]].Comms() }

// lanes returns the communicators of the step's messages, each once.
func (s *Step) lanes() (all []Comms) {
	for _, c := range s.Cases {
		if !slices.Contains(all, c.Comms()) {
			all = append(all, c.Comms())
		}
	}
	return all
}

// Join calls join for the communicators that the step needs and that are not current. The argument `beside`
// is false if the new communicators can replace the current ones, because neither this step nor a kept step
// needs any of the current ones.
func (s *Step) Join(current []Comms, kept bool, join func(c Comms, beside bool) error) error {
	lanes := s.lanes()
	for _, c := range lanes {
		if slices.Contains(current, c) {
			continue
		}
		beside := kept || slices.ContainsFunc(lanes, func(l Comms) bool { return slices.Contains(current, l) })
		if err := join(c, beside); err != nil {
			return err
		}
		current = append(slices.Clone(current), c)
	}
	return nil
}

// Player is a Process that can take steps.
type Player interface {
	// JoinBeside joins communicators like Process.Join, and keeps the current ones.
	JoinBeside(ctx context.Context, c Comms, ids []CommID) error
	// Stage keeps the step of a setting, by its number, for Play. The ranks must have joined the
	// communicators of its messages and allocated their buffers.
	Stage(ctx context.Context, setting int, s *Step) error
	// Play takes steps of a setting back to back, at most MaxSteps, and returns their seconds by step × rank.
	Play(ctx context.Context, setting, steps int) ([]float64, error)
	// Watch takes two steps and returns the seconds of the watched operations in the second, by
	// operation × rank. A rank's time of a message includes waiting for the other ranks.
	Watch(ctx context.Context, w Watch) ([]float64, error)
}

// Watch selects the operations that are timed separately in a step of a setting. These are Count messages
// from First on. If Computing is true, they are operations of computation instead.
type Watch struct {
	Setting   int  `json:"setting"`
	Computing bool `json:"computing,omitempty"`
	First     int  `json:"first"`
	Count     int  `json:"count"`
}

// MaxWatched is the largest number of operations of one Watch.
const MaxWatched = MaxBatch - 3

var errNoPlay = errors.New("this driver takes no steps")

// Stage keeps the step in all processes.
func (g *Group) Stage(ctx context.Context, setting int, s *Step) error {
	if err := s.Check(g.first[len(g.world)]); err != nil {
		return err
	}
	err := s.Join(g.lanes, g.staged, func(c Comms, beside bool) error {
		ids, err := g.IDs(c)
		switch {
		case err != nil:
			return err
		case beside:
			return g.JoinBeside(ctx, c, ids)
		}
		return g.Join(ctx, c, ids)
	})
	if err == nil {
		_, err = g.do(Order{Verb: Stage{Setting: setting, Step: s}})
	}
	g.staged = g.staged || len(s.Cases) > 0
	return err
}

// Play takes steps in all processes.
func (g *Group) Play(_ context.Context, setting, steps int) ([]float64, error) {
	return g.timed(Order{Verb: Play{Setting: setting, Steps: steps}}, steps)
}

// Watch takes two steps in all processes.
func (g *Group) Watch(_ context.Context, w Watch) ([]float64, error) {
	return g.timed(Order{Verb: w}, w.Count)
}

// play calls a Player.
func (w *worker) play(call func(Player) error) error {
	if p, can := w.p.(Player); can {
		return call(p)
	}
	return errNoPlay
}

// Stage keeps the step of a setting.
type Stage struct {
	still
	Setting int   `json:"setting"`
	Step    *Step `json:"step"`
}

// Name returns the verb.
func (Stage) Name() string { return "stage" }

func (v Stage) carryOut(w *worker, _ *Report) error {
	if v.Step == nil {
		return fmt.Errorf("%w: %q lacks its arguments", errOrder, v.Name())
	}
	return w.play(func(p Player) error { return p.Stage(w.whole(), v.Setting, v.Step) })
}

// Play makes the ranks execute training steps with one setting.
type Play struct {
	Setting int `json:"setting"`
	Steps   int `json:"steps"`
}

// Name returns the verb.
func (Play) Name() string { return "play" }

func (v Play) batch() (string, int, bool) { return record.DuringBurst, v.Steps, true }

func (v Play) carryOut(w *worker, r *Report) error {
	return w.play(func(p Player) (err error) {
		r.Seconds, err = p.Play(w.whole(), v.Setting, v.Steps)
		return err
	})
}

// Name returns the verb.
func (Watch) Name() string { return "watch" }

func (Watch) batch() (string, int, bool) { return record.DuringBurst, 2, true }

func (v Watch) carryOut(w *worker, r *Report) error {
	return w.play(func(p Player) (err error) {
		r.Seconds, err = p.Watch(w.whole(), v)
		return err
	})
}

// SlowestOf returns the seconds of the slowest rank in each step, from seconds by step × rank.
func SlowestOf(seconds []float64, steps int) []float64 {
	slowest := make([]float64, steps)
	ranks := len(seconds) / steps
	for i := range slowest {
		slowest[i] = slices.Max(seconds[i*ranks : (i+1)*ranks])
	}
	return slowest
}
