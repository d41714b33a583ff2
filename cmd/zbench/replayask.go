package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/replay"
	"zbench/bench/base/exit"
	"zbench/bench/base/option"
	"zbench/bench/engine"
	"zbench/bench/files/trace"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// asked is the question about a bucket size with its answer. It also has the settings to compare, a
// request for the world in which the curves were measured, and the trace's own step. The question
// or the step may be nil.
type asked struct {
	advice *advice.Document
	turns  []advice.Turn
	own    *trace.Own
	file   string // name of the trace's file
	// plan is a question without curves, and therefore without a recommended setting. elements are
	// the settings to compare for that question.
	plan     *advice.Question
	elements []int64
	want     spec.Spec
	// stages is the number of pipeline stages.
	stages int
}

// ask reads the traces and records, answers the question, and returns the settings to compare.
func (o *replayOptions) ask(s State, cmd *cobra.Command, paths []string) (*asked, error) {
	a, question := &asked{want: o.run.want.Clone()}, o.advice.Given()
	var records []string
	for _, path := range paths {
		if isTrace(s, path) {
			o.advice.Traces = append(o.advice.Traces, path)
		} else {
			records = append(records, path)
		}
	}
	if len(o.advice.Traces) == 0 {
		return a, o.compare(s, cmd, a, records)
	}
	t, err := readTraces(s, o.advice.Traces)
	if err != nil {
		return nil, err
	}
	a.file = base(filepath.Clean(o.advice.Traces[0]))
	if a.own, err = t.Own(); err != nil {
		return nil, exit.With(exit.Want, fmt.Errorf("%s cannot be replayed: %w", a.file, err), "profile three steps of the job with ProfilerActivity.CUDA")
	}
	if question || len(records) > 0 {
		err = o.compare(s, cmd, a, records)
	}
	return a, err
}

// planned finds the settings to compare in a world, for a question without curves.
func (a *asked) planned(w spec.World) (err error) {
	if a.plan != nil {
		a.advice, a.turns, err = a.plan.Planned(w.Size(), a.elements)
		a.plan = nil
	}
	return err
}

// compare answers the question with the curves of records, and finds the settings to compare.
// Without records, planned does this later.
func (o *replayOptions) compare(s State, cmd *cobra.Command, a *asked, records []string) error {
	want, err := completeAdvice(s, &o.advice)
	if err != nil {
		return err
	}
	q, err := advice.Prepare(want)
	if err == nil && !q.HasModel() {
		err = exit.With(exit.Want, errors.New("the trainer and the model are missing"), "give --framework, a model (--preset, --params, --total-params) and the time of a microbatch (--step-ms)")
	}
	if err != nil {
		return err
	}
	for _, text := range o.settings {
		n, err := option.ParseCount(text)
		if err != nil {
			return usagef(replayHelp, "--settings: %w", err)
		}
		a.elements = append(a.elements, n)
	}
	a.stages = q.Stages()
	if len(records) == 0 {
		a.plan = q
		return nil
	}
	sources, err := readSources(s, records)
	if err != nil {
		return err
	}
	if of := sources[0].Record.Spec; of != nil && of.Sweep != nil {
		if a.want, err = given(cmd, of); err != nil {
			return err
		}
	}
	if a.advice, err = q.AskBriefly(sources); err == nil {
		err = a.advice.Refused()
	}
	if err == nil && !a.advice.Answered() {
		err = exit.With(exit.Want, errors.New("one rank reduces nothing: no bucket size matters"), "give the record of several ranks")
	}
	if err != nil {
		return err
	}
	a.turns, err = q.Turns(a.advice, sources, a.elements)
	return err
}

// ranks returns the number of ranks of the job.
func (a *asked) ranks() int {
	if a.advice != nil {
		return a.advice.Answer.Advised.DP * max(1, a.advice.Answer.Advised.TP) * a.stages
	}
	n := a.own.World
	for _, node := range a.own.Nodes {
		if node.Call != nil && a.own.World == 0 {
			g := a.own.Groups[node.Call.Group]
			n = max(n, g.Size*max(1, g.Apart()))
		}
	}
	return n
}

// place sets the request for the world of the steps, with the communicators and collectives of
// their messages.
func (a *asked) place(w spec.World, cases []plan.Case) {
	a.want.World = w
	sweep := *a.want.Sweep
	sweep.Collectives, sweep.Sizes, sweep.Groups, sweep.Scales, sweep.Strides = nil, nil, nil, nil, nil
	sweep.Register, sweep.CTAPolicy = nil, nil // drop the record's policies: the steps have their own
	sweep.MinBytes, sweep.MaxBytes, sweep.Factor, sweep.StepBytes, sweep.Calls = 1<<20, 1<<20, 2, 0, policy.Calls{}
	for _, c := range cases {
		sweep.Collectives = append(sweep.Collectives, c.Collective.Name)
		if c.Split.Group > 0 {
			sweep.Groups = append(sweep.Groups, c.Split.Group)
		}
		if c.Split.Stride > 0 {
			sweep.Strides = append(sweep.Strides, c.Split.Stride)
		}
	}
	slices.Sort(sweep.Collectives)
	sweep.Collectives = slices.Compact(sweep.Collectives)
	for _, list := range []*[]int{&sweep.Groups, &sweep.Strides} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	a.want.Sweep = &sweep
}

// prepare resolves the request with the communicators of the steps' messages. The last case is a
// message between two ranks.
func (a *asked) prepare(e *engine.Engine, want spec.Spec) (*engine.Setup, []*plan.Step, []plan.Case, error) {
	a.want = want
	u, err := e.Prepare(want)
	if err == nil {
		err = a.planned(u.Spec.World)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	steps, cases, err := a.steps(u.Spec.World)
	if err != nil {
		return nil, nil, nil, err
	}
	a.place(u.Spec.World, cases)
	if u, err = e.Prepare(a.want); err == nil { // prepare again, now with the communicators
		err = withPairs(u)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	message, err := rails.CaseOf(u.Spec.World, pairBytes)
	if err != nil {
		return nil, nil, nil, usage(err, replayHelp)
	}
	return u, steps, append(cases, message), nil
}

// steps returns the steps in this order: the steps of the settings to compare, the first setting's
// step again, and the step of the trace. cases has the cases of all their messages.
func (a *asked) steps(w spec.World) (steps []*plan.Step, cases []plan.Case, err error) {
	if n := w.Size(); n != a.ranks() {
		return nil, nil, usagef("give the --nodes and --gpus-per-node of the record or the trace, and --tp and --pp where a copy of the model takes several ranks",
			"the steps are of a job of %d ranks, and the world has %d", a.ranks(), n)
	}
	inPlace := map[string]bool{}
	all := a.turns
	if a.advice != nil {
		for _, u := range a.advice.Answer.Curves {
			inPlace[u.Collective] = u.InPlace
		}
	}
	if a.own != nil {
		all = append(slices.Clip(all), advice.Turn{Nodes: a.own.Nodes, Groups: a.own.Groups})
	}
	for _, t := range all {
		one, err := replay.Schedule(t.Nodes, replay.Finder(w, t.Groups, inPlace))
		if err != nil {
			return nil, nil, err
		}
		steps, cases = append(steps, one), append(cases, one.Cases...)
	}
	return steps, cases, nil
}
