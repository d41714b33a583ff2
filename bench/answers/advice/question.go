package advice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// resamples is the number of resampled curves behind an answer's certainty.
const resamples = 200

// adviceHelp names the help text about the flags of a question.
const adviceHelp = "`zbench recommend --help` lists the input that a bucket size needs"

// Question is a checked request for a bucket size: everything except the curves.
type Question struct {
	in   Input
	want spec.Advice
}

// Prepare checks a request before anything is measured. It returns nil for a missing or incomplete request.
// Errors carry exit codes and hints.
func Prepare(want *spec.Advice) (*Question, error) {
	if want == nil {
		return nil, nil
	}
	if err := want.Check(); err != nil {
		return nil, exit.UsageError(err, adviceHelp)
	}
	if !want.Complete() {
		return nil, nil
	}
	q := &Question{want: *want, in: Input{
		Framework: want.Framework, MemBudget: want.MemBudget, Rescale: want.Rescale, Bootstrap: resamples, Seed: 1, CommandLine: want.Line(), Observed: want.Observed, Contention: want.Contention,
	}}
	if err := q.configure(); err != nil {
		return nil, err
	}
	t, err := trainer.ByName(q.in.Framework)
	if err != nil {
		return nil, exit.UsageError(err, adviceHelp)
	}
	if q.in.Model, err = q.model(t); err != nil {
		return nil, usage(err, "`zbench recommend --help` describes --params")
	}
	if err := q.setRun(t); err != nil {
		return nil, exit.UsageError(err, adviceHelp)
	}
	if want.MemBudget > 0 && t.Memory == nil {
		return nil, exit.Usagef("leave it out", "--mem-budget: %s keeps its buckets in the gradients, so the bucket size needs no memory", t.Title)
	}
	q.in.Asked = want
	if q.in.Compute, err = q.compute(); err != nil {
		return nil, exit.UsageError(err, adviceHelp)
	}
	if !q.in.Compute.Measured && want.Observed == nil {
		q.in.Pace, q.in.Rate = q.pace()
	}
	if m := q.in.Model; m != nil {
		if _, err := observations(t, q.in, trainer.WithBlocks(m.Params)); err != nil {
			return nil, exit.UsageError(err, "--observed takes settings as "+cmp.Or(t.Flag, t.Knob)+" does, or default")
		}
	}
	return q, q.check(t)
}

// check compares the known part of the run with the trainer's limits.
func (q *Question) check(t trainer.Trainer) error {
	run := q.in.Run
	run.DP = max(1, run.DP)
	if run.DP == 1 {
		run.EP, run.Instances = 0, 0 // these are unknown until Recommend, which checks again
	}
	err := t.Check(run)
	if err == nil {
		return nil
	}
	hint := adviceHelp
	if f := q.in.ConfigFile; f != "" {
		hint = f + " sets this: correct it, or override it with --dp, --ep, --instances or --zero"
	}
	return exit.UsageError(err, hint)
}

// configure reads the trainer's own settings. The settings divide a preset between ranks, unless a flag
// overrides them.
func (q *Question) configure() error {
	c := q.want.Config
	if c == nil {
		return nil
	}
	var err error
	if q.in.Config, err = trainer.ReadSettings(c.Settings, q.want.Framework); err != nil {
		// A front end starts several trainers, so its file may belong to another trainer.
		t, unknown := trainer.ByName(q.want.Framework)
		other, none := trainer.ReadSettings(c.Settings, "")
		if unknown != nil || none != nil || !t.IsFrontEnd(q.want.Framework) {
			return exit.UsageError(fmt.Errorf("%s: %w", c.File, err), "zbench reads "+strings.Join(trainer.Reads(), ", "))
		}
		q.in.Config, q.in.Framework = other, other.Trainer
	}
	q.in.ConfigFile, q.in.ConfigForm = c.File, c.Form
	q.in.ConfigNotes, q.in.ConfigUnread = c.Notes, c.Unread
	q.in.Framework = cmp.Or(q.in.Framework, q.in.Config.FrontEnd, q.in.Config.Trainer)
	set := q.in.Config
	for _, x := range []struct{ to, from *int }{{&q.want.EP, set.EP}, {&q.want.PP, set.PP}, {&q.want.TP, set.TP}, {&q.want.CP, set.CP}} {
		if x.from != nil && *x.to == 0 {
			*x.to = *x.from
		}
	}
	return nil
}

// model describes one rank's parameters as the trainer holds them; nil if they are unknown.
func (q *Question) model(t trainer.Trainer) (m *trainer.Model, err error) {
	w := &q.want
	switch {
	case w.Preset != "":
		m, err = trainer.Preset(w.Preset)
		if err == nil {
			err = m.Local(w.EP)
		}
	case w.Total > 0:
		m, err = trainer.SyntheticModel(w.Total, w.Layers, w.Largest)
	case w.Model != nil:
		listed := *w.Model
		listed.Params, listed.Notes = slices.Clone(listed.Params), slices.Clone(listed.Notes)
		m = &listed
		m.AsGiven(w.PP, w.TP)
	default:
		return nil, nil
	}
	if err == nil && w.Model == nil {
		first := 0
		if c := q.in.Config; c != nil {
			blocks := slice.Most(m.Params, func(p trainer.Param) int { return p.Block })
			if first, err = c.FirstBlocks(w.PP, blocks); err != nil {
				return nil, exit.With(exit.Want, err, "give the first stage's own list with --params")
			}
		}
		if err = m.Stage(w.PP, first); err == nil {
			err = q.divide(m, t)
		}
	}
	if err != nil {
		return nil, err
	}
	m.Params = t.Tensors(m.Params)
	if w.Active > 0 {
		m.SetActive(w.Active)
	}
	return m, nil
}

// setRun combines the trainer's defaults, its settings file and the request.
func (q *Question) setRun(t trainer.Trainer) (err error) {
	r := trainer.Run{GradDtype: t.GradDtype, ParamDtype: "bfloat16", Zero: t.Stages[0]}
	follows := t.GradDtype == r.ParamDtype // gradients have the parameters' type
	if m := q.in.Model; m != nil && follows {
		if len(m.Dtypes) == 1 {
			r.GradDtype = m.Dtypes[0]
		} else if len(m.Dtypes) > 1 {
			m.Notes = append(m.Notes, "the tensors are "+plain.And(m.Dtypes)+": gradients of different types have buckets of their own, which is not simulated")
		}
	}
	w := &q.want
	if q.in.Config != nil {
		q.in.Config.Apply(&r)
		follows = follows && (q.in.Config.GradDtype == "" || q.in.Config.LoadedType)
	}
	if follows {
		r.GradDtype = cmp.Or(w.ParamDtype, r.GradDtype)
	}
	for _, x := range []struct{ to, from *int }{{&r.DP, &w.DP}, {&r.EP, &w.EP}, {&r.TP, &w.TP}, {&r.Instances, &w.Instances}, {&r.Accum, &w.Accum}} {
		if *x.from != 0 {
			*x.to = *x.from
		}
	}
	if w.Zero != nil {
		r.Zero = *w.Zero
	}
	r.GradDtype, r.ParamDtype = cmp.Or(w.GradDtype, r.GradDtype), cmp.Or(w.ParamDtype, r.ParamDtype)
	if w.Optimizer != "" {
		r.LayerWise, err = trainer.LayerWiseOptimizer(w.Optimizer)
	}
	q.in.Run = r
	return err
}

// compute returns the times of a microbatch; zero if unknown.
func (q *Question) compute() (trainer.Compute, error) {
	w := &q.want
	switch {
	case w.Backward > 0:
		c, err := trainer.ComputeTimed(w.Backward, w.Forward)
		if m := q.in.Model; m != nil && slices.ContainsFunc(m.Params, func(p trainer.Param) bool { return p.Ready > 0 }) {
			c.Source += ", each gradient ready as in the trace"
		}
		return c, err
	case w.Step > 0:
		return trainer.ComputeOfStep(w.Step)
	}
	l, source := q.load()
	switch {
	case l.Tokens == 0 || w.Observed != nil && w.Flops == 0: // a rule, or the observed steps, provide the time
		return trainer.Compute{}, nil
	case l.ActiveParams == 0 && q.in.Model != nil && w.Flops > 0:
		return trainer.Compute{}, errors.New("the model has routed experts: give the parameters that a token uses with --active-params")
	case l.ActiveParams == 0:
		return trainer.Compute{}, nil
	}
	c, err := l.Estimate()
	c.Source += source
	return c, err
}

// load returns the known work of a microbatch, and the source of its FLOP/s unless the user gave them.
func (q *Question) load() (l trainer.Load, source string) {
	w := &q.want
	l = trainer.Load{Tokens: w.Tokens, ActiveParams: w.Active, Flops: w.Flops, Recompute: w.Recompute}
	if l.Flops == 0 {
		l.Flops, source = published.flops, ", "+published.source
	}
	if c := q.in.Config; c != nil {
		if l.Tokens == 0 && c.TokensPerMicrobatch != nil {
			l.Tokens = *c.TokensPerMicrobatch
		}
		l.Recompute = l.Recompute || c.Recompute != nil && *c.Recompute
	}
	if m := q.in.Model; m != nil {
		l.ActiveParams, l.Spared = cmp.Or(l.ActiveParams, m.ActiveParams), m.Spared()
	}
	return l, source
}

// pace returns the time per token and the rate in FLOP/s; zero values if the number of parameters that a
// token uses is unknown.
func (q *Question) pace() (*recommend.Pace, string) {
	l, source := q.load()
	l.Tokens = 1
	c, err := l.Estimate()
	if err != nil {
		return &recommend.Pace{}, ""
	}
	return &recommend.Pace{Backward: c.Backward, Forward: c.Forward}, fmt.Sprintf("%.4g TFLOP/s%s", l.Flops/1e12, source)
}

// `sharing` returns the question with plans that it shares with other questions about the model.
func (q *Question) sharing(plans *recommend.Plans) *Question {
	other := *q
	other.in.Plans = plans
	return &other
}

// Ask answers the question with the curves of the sources.
func (q *Question) Ask(sources []recommend.Source) (*Document, error) {
	if q.in.Plans == nil { // the questions at the ends of the model share these plans
		q = q.sharing(&recommend.Plans{})
	}
	d, err := q.ask(q.in, sources)
	if err != nil {
		return d, err
	}
	if d.Answered() {
		if d.Bracket, err = q.bracket(d, sources); err != nil {
			return d, err
		}
		if err := q.otherType(d, sources); err != nil {
			return d, err
		}
		d.Sentence = d.sentence()
	}
	d.store(sources)
	return d, nil
}

// otherType adds the answer for the other element type if the file does not say in which type the parameters
// were loaded.
func (q *Question) otherType(d *Document, sources []recommend.Source) error {
	c, m := q.in.Config, q.in.Model
	if c == nil || !c.LoadedType || q.want.GradDtype != "" || q.want.ParamDtype != "" || m != nil && len(m.Dtypes) > 0 {
		return nil
	}
	other := q.sharing(q.in.Plans)
	dtype := map[bool]string{true: "bfloat16", false: "float"}[d.Answer.Run.GradDtype == "float"]
	other.in.Run.GradDtype, other.in.Run.ParamDtype = dtype, dtype
	x, err := other.AskBriefly(sources)
	if err != nil || !x.Answered() {
		return err
	}
	todo := map[bool]string{true: "keep ", false: "set "}
	d.Config.Notes = append(d.Config.Notes, fmt.Sprintf("parameters loaded in %s: %s%s; in %s: %s%s", d.Answer.Run.GradDtype, todo[d.Answer.Keep], d.Amount(d.Answer.Elements), dtype, todo[x.Answer.Keep], x.Amount(x.Answer.Elements)))
	return nil
}

// AskBriefly is Ask without resampled curves and without the ends of the model. Neither changes the answer.
// It also makes no rule: if the backward time is unknown, it averages over several backward times.
func (q *Question) AskBriefly(sources []recommend.Source) (*Document, error) {
	in := q.in
	in.Bootstrap, in.Pace = 0, nil
	return q.ask(in, sources)
}

func (q *Question) ask(in Input, sources []recommend.Source) (*Document, error) {
	in.Sources = sources
	if in.Run.DP == 0 {
		var err error
		if in.Run.DP, err = q.divided(worldOf(sources, q.replica())); err != nil {
			return nil, err
		}
		in.Model = q.noted(in.Model, in.Run.DP)
	}
	in = q.accumulated(in)
	d, err := Recommend(in)
	if err != nil {
		return nil, exit.UsageError(err, adviceHelp)
	}
	for _, s := range sources {
		d.Answer.Warnings = append(d.Answer.Warnings, s.Record.Edits()...)
	}
	return d, nil
}

// `accumulated` returns the input with the microbatches per step, if the trainer derives them from its number
// of ranks.
func (q *Question) accumulated(in Input) Input {
	if in.Config == nil || in.Run.Accum > 0 {
		return in
	}
	n, note := in.Config.Microbatches(in.Run.DP)
	if in.Run.Accum = n; note != "" {
		in.ConfigNotes = append(slices.Clone(in.ConfigNotes), note)
	}
	return in
}

// worldOf returns the number of ranks behind the curves: the largest number of any curve. If several ranks
// hold one copy of the model (replica > 1), it returns the size of the world if that is larger.
func worldOf(sources []recommend.Source, replica int) int {
	most := ranksOf(sources)
	for _, s := range sources {
		if replica > 1 {
			most = max(most, s.Record.World.Ranks)
		}
	}
	return most
}

// ranksOf returns the largest number of ranks of a curve.
func ranksOf(sources []recommend.Source) int {
	return max(1, slice.Most(sources, func(s recommend.Source) int {
		return slice.Most(s.Record.Results, func(r record.Result) int { return r.Ranks })
	}))
}

// HasModel reports whether the question has a model.
func (q *Question) HasModel() bool { return q != nil && q.in.Model != nil }

// Rescale reports whether curves of another number of ranks may be used.
func (q *Question) Rescale() bool { return q.in.Rescale }

// Experts returns the number of expert-parallel groups whose gradients need a curve of their own; 0 if all
// gradients are reduced by the same ranks.
func (q *Question) Experts() int {
	if !q.HasModel() || q.in.Run.EP < 2 ||
		!slices.ContainsFunc(q.in.Model.Params, func(p trainer.Param) bool { return p.Expert && p.Elements > 0 }) {
		return 0
	}
	return q.in.Run.EP
}

// ExpertRanks returns the number of ranks that hold the same experts, in a world of the given size.
func (q *Question) ExpertRanks(world int) int {
	run := q.in.Run
	run.DP = q.DataRanks(world)
	return run.Ranks(true)
}

// Strides returns the distances between ranks that reduce a gradient together, in a world of the given size;
// none if there are several pipeline stages.
func (q *Question) Strides(world int) []int {
	if q == nil || q.DataRanks(world)*q.in.Run.Apart(false) != world {
		return nil
	}
	all := []int{q.in.Run.Apart(false)}
	if q.Experts() > 0 {
		all = append(all, q.in.Run.Apart(true))
	}
	return all
}

// DataRanks returns the number of data-parallel ranks in a world of the given size.
func (q *Question) DataRanks(world int) int {
	if dp, err := q.divided(world); q.in.Run.DP == 0 && err == nil {
		return dp
	}
	return max(1, cmp.Or(q.in.Run.DP, world))
}

// Answered reports whether a document has a setting to use, or a rule.
func (d *Document) Answered() bool {
	return d != nil && (d.Answer.Verdict == recommend.Recommended || d.Answer.Verdict == recommend.Ruled)
}

// Kept reports whether a document is written to a file. A requested document is always written. An assumed
// document is written only if it has an answer.
func (d *Document) Kept() bool { return d != nil && (!d.IsAssumed() || d.Answered()) }

// Refused returns the error of a document without an answer; nil if the document has an answer, or if the
// request was assumed.
func (d *Document) Refused() error {
	if d == nil || d.Answer.Refusal == nil || d.IsAssumed() {
		return nil
	}
	return exit.With(exit.Want, errors.New(strings.TrimSuffix(d.Sentence, ".")), d.Answer.Refusal.Hint)
}

// usage adds the exit code for wrong usage to an error that has no exit code.
func usage(err error, hint string) error {
	if _, has := errors.AsType[*exit.Error](err); has {
		return err
	}
	return exit.UsageError(err, hint)
}

// Stages returns the number of pipeline stages, which all have the same number of ranks.
func (q *Question) Stages() int { return max(1, q.want.PP) }

// replica returns the number of ranks that together hold one copy of the model.
func (q *Question) replica() int { return max(1, q.want.TP) * q.Stages() }

// divide reduces a model to one tensor-parallel rank's part.
func (q *Question) divide(m *trainer.Model, t trainer.Trainer) error {
	experts, vocab := q.want.TP, t.VocabMultiple
	if c := q.in.Config; c != nil {
		if c.ETP != nil {
			experts = *c.ETP
		}
		if c.VocabMultiple != nil {
			vocab = *c.VocabMultiple
		}
	}
	if err := m.Tensor(q.want.TP, experts, vocab); err != nil {
		return exit.With(exit.Want, err, "give one rank's own list with --params")
	}
	return nil
}

// `divided` returns the number of data-parallel ranks of a world. The number includes context-parallel ranks,
// because they reduce gradients together.
func (q *Question) divided(world int) (int, error) {
	parts, cp := q.replica(), max(1, q.want.CP)
	const hint = "give --dp, the ranks that reduce a gradient together"
	switch {
	case parts*cp == 1:
		return world, nil
	case world%(parts*cp) != 0:
		return 0, exit.With(exit.Want, fmt.Errorf("the curve's %d ranks do not divide by %s: the number of data-parallel ranks is not known", world, q.parts()), hint)
	case world == parts:
		return 0, exit.With(exit.Want, fmt.Errorf("the curve's %d ranks are one copy of the model (%s): the number of data-parallel ranks is not known", world, q.parts()), hint)
	}
	return world / parts, nil
}

// parts returns the ways in which a world is divided, in words.
func (q *Question) parts() string {
	return fmt.Sprintf("tensor parallel %d × pipeline %d × context parallel %d", max(1, q.want.TP), max(1, q.want.PP), max(1, q.want.CP))
}

// `noted` returns the model with a note on the source of the number of data-parallel ranks.
func (q *Question) noted(m *trainer.Model, dp int) *trainer.Model {
	parts := q.replica()
	if m == nil || parts == 1 {
		return m
	}
	with := *m
	with.Notes = append(slices.Clone(m.Notes), fmt.Sprintf("%d ranks reduce a gradient together: the curve's %d over %s; --dp says otherwise", dp, dp*parts, q.parts()))
	return &with
}
