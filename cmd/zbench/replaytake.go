package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/replay"
	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/policy"
	"zbench/bench/job/trainer"
	"zbench/bench/run/plan"
)

// pairBytes is the size, in bytes, of the messages between two ranks that are used to find slow
// components.
const pairBytes = 64 << 20

// survey finds the rank that is late or, if there is none, the component that makes messages slow.
// It uses messages between pairs of ranks. If a rank is late, all of its messages take long; other
// traffic on the network lengthens only a few launches of any pair.
func (w *openWorld) survey(ctx context.Context, doc *replay.Document) error {
	exchanger, can := w.ranks.(rails.Exchanger)
	err := launches(ctx, w.ranks, w.cases[0], doc)
	if err != nil || !can || doc.Messages != nil && doc.Messages.Late != nil {
		return err
	}
	w.state.note(w.run.quiet, "steps are longer than expected: messages between pairs of ranks show where\n")
	message := w.cases[len(w.cases)-1]
	about := w.surveyed(rails.DefaultLaunches)
	about.Bytes = message.Layout.Bytes
	fleet := rails.Fleet{Nodes: w.setup.Spec.World.Nodes, GPUs: w.setup.Spec.World.GPUsPerNode}
	got, err := rails.Measurement{Fleet: fleet, Case: message, Launches: about.Launches, Plan: rails.Bounds{Seed: w.setup.Spec.Seed}}.Run(ctx, exchanger)
	if err != nil {
		return err
	}
	verdict := rails.Judge(rails.Data{Fleet: fleet, Timings: got.Timings})
	doc.Slow = slice.Where(rails.OfSurvey(about, got.Timings, verdict).Verdict(), func(f finding.Finding) bool {
		return f.Code == rails.CodeSlow || f.Code == finding.CodeUnclear
	})
	return nil
}

// lateLaunches is the number of single launches that show which rank is late.
const lateLaunches = 32

// launches looks for a late rank with single launches of a step's message.
func launches(ctx context.Context, d plan.Driver, message plan.Case, doc *replay.Document) error {
	if doc.Messages == nil {
		return nil
	}
	if _, err := plan.Prepare(ctx, d, plan.Preparation{Case: message, Warmup: 1}); err != nil {
		return err
	}
	seconds, err := d.Isolated(ctx, lateLaunches)
	if err == nil {
		doc.Messages.Launched(seconds, lateLaunches, message.Comms())
	}
	return err
}

// measure measures the steps in an open world. If they are slow, it looks for the cause.
func (o *replayOptions) measure(ctx context.Context, w *openWorld, a *asked, steps []*plan.Step) (*result, error) {
	player, can := w.ranks.(plan.Player)
	if !can {
		return nil, errors.New("this driver takes no steps")
	}
	do := plan.StepDo(o.compute)
	tried := o.tried(w, steps[0])
	err := w.allocate(ctx, do.Bytes)
	for _, t := range tried {
		if err == nil {
			err = t.ran(ctx, w.ranks)
		}
	}
	if err == nil && do.Works() { // the library may lack a kernel that the computation needs: report that before anything is timed
		err = player.Stage(ctx, len(steps), &plan.Step{Ops: []plan.StepOp{{Do: do, Launches: 1}}})
	}
	if err != nil {
		return nil, err
	}
	doc := o.document(w, a)
	if doc.Policies, err = o.policies(ctx, player, steps, tried); err != nil {
		return nil, err
	}
	if err = o.steps(ctx, w, player, a, steps, doc); err == nil && doc.Slower() {
		err = w.survey(ctx, doc)
	}
	return &result{shown: doc.Shown()}, err
}

// tried is a requested policy. cases are those messages of the first step for which the library
// supports the policy. unserved has the reasons why it does not support other messages. untold is
// true if the library does not report how it ran a case.
type tried struct {
	policy   policy.Policy
	cases    []plan.Case
	unserved []string
	untold   bool
}

// `not` returns true if there is a reason why a case is not supported, and stores that reason.
func (t *tried) not(c plan.Case, why string) bool {
	if text := c.Collective.Name + ": " + why; why != "" && !slices.Contains(t.unserved, text) {
		t.unserved = append(t.unserved, text)
	}
	return why != ""
}

// tried asks the library which policies it supports for which messages of a step. The buffers of
// these messages are allocated together with all others.
func (o *replayOptions) tried(w *openWorld, step *plan.Step) (all []*tried) {
	library, can := w.ranks.(plan.Registering)
	for _, p := range policy.All(o.registers, o.ctas) {
		if p == (policy.Policy{}) || !can {
			continue
		}
		one := &tried{policy: p}
		one.cases = slices.DeleteFunc(replay.WithPolicy(step, p).Cases, func(c plan.Case) bool { return one.not(c, library.Unserved(c)) })
		w.cases = slices.Insert(w.cases, len(w.cases)-1, one.cases...)
		all = append(all, one)
	}
	return all
}

// ran launches the supported cases. It drops a case if the library reports that it ran the case in
// another way.
func (t *tried) ran(ctx context.Context, ranks plan.Driver) error {
	served := t.cases[:0]
	for _, c := range t.cases {
		if _, err := plan.Prepare(ctx, ranks, plan.Preparation{Case: c, Warmup: 1}); err != nil {
			return err
		}
		ran := ranks.(plan.Registering).Ran(c)
		t.untold = t.untold || ran.By == ""
		if !t.not(c, c.Policy.Denied(ran)) {
			served = append(served, c)
		}
	}
	t.cases = served
	return nil
}

// policies times the first step with each policy that applies to some of its messages. These steps
// alternate with steps without a policy.
func (o *replayOptions) policies(ctx context.Context, p plan.Player, steps []*plan.Step, all []*tried) (effects []replay.PolicyEffect, err error) {
	do := plan.StepDo(o.compute)
	for _, one := range all {
		e := replay.PolicyEffect{Policy: one.policy.String()}
		if len(one.cases) > 0 {
			launch, err := replay.Unit(ctx, p, len(steps), do)
			if err == nil {
				e, err = replay.TakePolicy(ctx, p, len(steps), replay.Working(steps[0], do, launch), one.policy)
			}
			if err != nil {
				return nil, err
			}
		}
		e.Compute, e.Unserved, e.Untold = do, append([]string{}, one.unserved...), one.untold
		effects = append(effects, e)
	}
	return effects, nil
}

// steps measures the trace's own step, and then the steps of the settings by turns. The error is
// the reason for an early end.
func (o *replayOptions) steps(ctx context.Context, w *openWorld, player plan.Player, a *asked, steps []*plan.Step, doc *replay.Document) (err error) {
	defer func() {
		if err != nil {
			doc.Ended = err.Error()
		}
	}()
	if a.own != nil {
		err := o.takeOwn(ctx, player, len(steps), steps[len(a.turns)], doc)
		if err != nil || len(a.turns) == 0 || !doc.Own.Fits() {
			return err
		}
	}
	if err := o.prepare(ctx, player, a, steps, doc); err != nil {
		return err
	}
	design := o.design(a)
	seconds := 0.0 // total time of the steps measured so far
	out, err := design.Run(func(setting, n int) ([]float64, error) {
		steps, err := taken(ctx, player, setting, n)
		seconds += stat.Mean(steps) * float64(n)
		return steps, err
	}, func(next replay.Announced) {
		took := time.Duration(float64(next.Total-next.Taken) * seconds / float64(next.Taken) * float64(time.Second)).Round(time.Second)
		w.state.note(o.run.quiet, "%s more, about %s: they tell differences to ± %.2g %%\n", unit.Count(next.Total-next.Taken, "step"), took, 100*next.Precision)
	})
	doc.Fill(out)
	return err
}

// prepare loads the steps of the settings and times their computation alone.
func (o *replayOptions) prepare(ctx context.Context, player plan.Player, a *asked, steps []*plan.Step, doc *replay.Document) error {
	for i, t := range a.turns {
		setting := replay.Setting{Name: t.Name, Amount: a.advice.Amount(t.Candidate.Elements), Elements: t.Candidate.Elements, Messages: len(steps[i].Sends)}
		if t.Candidate.Step > 0 {
			setting.Predicted = &t.Candidate.Step
		}
		doc.Settings = append(doc.Settings, setting)
	}
	for i := range a.turns {
		if err := replay.Stage(ctx, player, i, steps[i]); err != nil {
			return err
		}
	}
	alone, err := alone(ctx, player, len(steps), steps[0])
	if err != nil {
		return err
	}
	doc.Compute = &alone
	if err := o.messages(ctx, player, len(steps), steps[0], doc); err != nil {
		return err
	}
	doc.Messages.Amount = doc.Settings[0].Amount
	if doc.Contention != nil {
		doc.Contention.Amount = doc.Settings[0].Amount
	}
	return nil
}

// messages measures how long the messages of a step take together with computation (setting number
// 0), and without it (setting numbers from free on). It also measures how much the requested kind
// of computation and the messages slow each other down.
func (o *replayOptions) messages(ctx context.Context, p plan.Player, free int, step *plan.Step, doc *replay.Document) error {
	err := replay.Stage(ctx, p, free, replay.Bare(step))
	if err == nil {
		doc.Messages, err = replay.TakeMessages(ctx, p, 0, free, step)
	}
	if err != nil || o.compute == computeSpin {
		return err
	}
	do := plan.StepDo(o.compute)
	launch, err := replay.Unit(ctx, p, free, do)
	if err == nil {
		doc.Contention, err = replay.TakeContention(ctx, p, free, step, do, launch)
	}
	return err
}

// aloneSteps is the number of timed steps of computation alone.
const aloneSteps = 8

// `alone` returns how long the computation of a step takes by itself.
func alone(ctx context.Context, p plan.Player, setting int, step *plan.Step) (float64, error) {
	if err := replay.Stage(ctx, p, setting, replay.Alone(step)); err != nil {
		return 0, err
	}
	seconds, err := taken(ctx, p, setting, aloneSteps)
	if err != nil {
		return 0, err
	}
	return stat.Quantile(seconds, 0.5), nil
}

// taken returns the times of steps, in seconds. Each time is that of the slowest rank.
func taken(ctx context.Context, p plan.Player, setting, steps int) ([]float64, error) {
	seconds, err := p.Play(ctx, setting, steps)
	if err != nil {
		return nil, err
	}
	return plan.SlowestOf(seconds, steps), nil
}

// takeOwn measures the trace's own step. The first step of each block is not timed.
func (o *replayOptions) takeOwn(ctx context.Context, p plan.Player, free int, step *plan.Step, doc *replay.Document) (err error) {
	if doc.Own.Compute, err = alone(ctx, p, 0, step); err != nil {
		return err
	}
	if err = replay.Stage(ctx, p, 0, step); err != nil {
		return err
	}
	var all []float64
	for range replay.OwnBlocks {
		seconds, err := taken(ctx, p, 0, o.block+1)
		if err != nil {
			return err
		}
		doc.Taken += o.block + 1
		all = append(all, seconds[1:]...)
	}
	doc.Own.Steps = stat.Summarize(all)
	return o.messages(ctx, p, free, step, doc)
}

// document returns what is known before the first step.
func (o *replayOptions) document(w *openWorld, a *asked) *replay.Document {
	u := w.setup
	d := &replay.Document{
		Schema: replay.Schema, Simulated: w.facts.Simulated, Backend: u.Spec.Backend, Faults: u.Spec.Faults,
		Ranks: u.Spec.World.Size(), Margin: o.margin / 100, Level: replay.Level, Block: o.block, Settings: []replay.Setting{},
	}
	if a.own != nil {
		d.Own = replay.OwnOf(a.file, a.own)
	}
	if a.advice == nil {
		return d
	}
	d.Trainer, d.Knob = a.advice.Answer.Trainer, a.advice.Answer.Knob
	if t, err := trainer.ByName(d.Trainer); err == nil {
		d.Trainer = t.Title
	}
	if m := a.advice.Model; m != nil {
		d.Model = m.Name
	}
	for _, c := range a.advice.Answer.Table {
		d.Predict(c.Elements, c.Step)
	}
	return d
}
