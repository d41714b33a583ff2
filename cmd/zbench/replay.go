package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/advice"
	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/finding"
	"zbench/bench/fleet/rails"
	"zbench/bench/formats"
	"zbench/bench/plan"
	"zbench/bench/replay"
	"zbench/bench/slice"
	"zbench/bench/spec"
	"zbench/bench/stat"
	"zbench/bench/trace"
	"zbench/bench/trainer"
	"zbench/bench/unit"
	"zbench/internal/launch"
)

// replayOptions are the options of replay.
type replayOptions struct {
	// run is how the processes start and what world they are of; advice is the question.
	run    collectivesOptions
	advice adviceFlagSet
	// settings are those to compare, in elements; empty for the answer and its neighbours.
	settings []string
	// margin is in per cent.
	margin float64
	// compute is what computation does: spin, triad or gemm.
	compute         string
	block, maxSteps int
}

// computeSpin is computation that only takes time.
const computeSpin = "spin"

var replayHelp = listedBy("replay")

const replayLong = `Takes steps of the trainer with several bucket sizes and says which is faster:
the default (or what --config sets), the answer of zbench recommend, half and
twice of it, and the default again, in turn and in reverse. The curves of RECORD
and the flags of the trainer are those of recommend. Without RECORD there is no
answer: --settings, or a quarter to 64 times the default, are compared.

A step of TRACE, a profile of a job, is taken first, as the job took it. If it
is more than 1 % longer or shorter than in the job, the replay is not of that
job: no other setting is tried, and the exit code is 6. A trace without RECORD
and --framework is replayed alone.

A step is computation on one stream of each GPU and the trainer's messages on
others, one for each communicator: those of experts (--ep) and of optimizer
instances (--instances) run beside the rest, as the trainer's do. Groups of
ranks of the same size, as far apart, share one. With --pp all stages take the
first one's step, without messages between stages, and --tp is 1. A message is
launched when computation has come to its last gradient; computation waits
where the trainer's does. Computation is a kernel of one thread that spins for
the time of the microbatch: it takes no memory bandwidth, and nothing that
messages slow down. So what is measured is the messages, their order, and what
of them is not hidden. No figure of the prediction enters a verdict; it stands
beside the measurement.

--compute triad (or gemm) measures also what computation that uses the GPU and
messages take from each other: the computation of steps with a kernel that goes
through memory (or matrix products) in place of the spin, about as long, and
with spins, each with messages and without, in turn. Computation loses
(triad with - triad alone) - (spin with - spin alone).

After ten rounds the number of steps is announced at which a difference of half
of --margin can be told. With all settings together at most 2 % of the runs have
a verdict that is false. The exit code is 0 if each setting is decided and
no message waits for a rank, a launch or a busy network; in a simulation also if
no step is longer than predicted. Else it is 6.`

func newReplay(s State) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay [RECORD…] [TRACE…]",
		Short: "Bucket sizes compared by timed steps of the trainer",
		Long:  replayLong,
		Example: `  zbench replay DIR --framework ddp --preset llama3-8b --step-ms 900
  zbench replay --framework ddp --preset llama3-8b --step-ms 900 --nodes 2 --settings 100M,400M
  zbench replay rank0.pt.trace.json.gz --nodes 2
  zbench replay DIR rank0.pt.trace.json.gz --framework ddp
  zbench replay DIR --config train.sh --preset zaya1-base --step-ms 900 --out replay
  zbench replay DIR --framework megatron --preset llama3-8b --step-ms 900 --settings 300M,900M`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !o.advice.given {
				return usagef("`zbench replay DIR --framework ddp --preset llama3-8b --step-ms 900`", "replay needs the record of a sweep, a trace, or a trainer with a model")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run.start(cmd.Context(), s, func(ctx context.Context) error { return o.replay(ctx, s, cmd, args) })
		},
	}
	addReplayFlags(cmd, &o)
	return cmd
}

func addReplayFlags(cmd *cobra.Command, o *replayOptions) {
	addFlags(cmd, &o.advice, adviceFlags)
	o.run.addWorldFlags(cmd, "replay")
	f := cmd.Flags()
	f.StringSliceVar(&o.settings, "settings", nil, "settings to compare in place of the answer and its neighbours, in elements; k, M, G are decimal")
	f.Float64Var(&o.margin, "margin", 0.5, "difference that matters, in per cent of a step")
	f.StringVar(&o.compute, "compute", computeSpin, "triad or gemm: measure what computation that goes through memory, or multiplies matrices, and messages take from each other")
	f.IntVar(&o.block, "block", replay.DefaultBlock, "timed steps of a setting before it is the next one's turn")
	f.IntVar(&o.maxSteps, "max-steps", 20000, "most steps of all settings together")
	o.run.addFlags(f, "folder to create for replay.json, report.html and the chart (default none)")
	o.run.addForce(f)
	o.run.counters = "off"
}

// check refuses what cannot be run before anything is read.
func (o *replayOptions) check() error {
	switch {
	case !(o.margin >= 0.01 && o.margin <= 50):
		return usagef(replayHelp, "--margin is 0.01 to 50 per cent, not %g", o.margin)
	case o.compute != computeSpin && !plan.StepDo(o.compute).Works():
		return usagef(replayHelp, "--compute is spin, triad or gemm, not %q", o.compute)
	case o.block < 1 || o.block >= plan.MaxSteps:
		return usagef(replayHelp, "--block is 1 to %d, not %d", plan.MaxSteps-1, o.block)
	case o.maxSteps < 1 || o.maxSteps > 1e9:
		return usagef(replayHelp, "--max-steps is 1 to 1000000000, not %d", o.maxSteps)
	case len(o.settings) > 5:
		return usagef(replayHelp, "--settings has %d settings; at most 5 beside the default are compared", len(o.settings))
	}
	return o.run.deadlines.check()
}

// asked is the question with its answer, the settings that take turns, and the request of the world that the
// curves are of; and the trace's own step. Either may be nil.
type asked struct {
	advice *advice.Document
	turns  []advice.Turn
	own    *trace.Own
	file   string // the trace's
	// plan is a question without curves, which is answered by no setting, and the settings to compare.
	plan     *advice.Question
	elements []int64
	want     spec.Spec
	// stages is the number of pipeline stages.
	stages int
}

// isTrace tells whether a file, or one of a folder that is not a record's, has the calls of a job.
func isTrace(s State, path string) bool {
	if info, err := s.FS.Stat(path); err == nil && info.IsDir() {
		entries, err := s.FS.ReadDir(path)
		return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() == engine.ResultsFile || e.Name() == engine.JournalFile
		}) && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Type().IsRegular() && isTrace(s, filepath.Join(path, e.Name()))
		})
	}
	file, err := s.FS.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was read only
	return formats.HasCalls(base(path), file)
}

// ask reads the traces and the records, and answers the question: which settings take turns.
func (o *replayOptions) ask(s State, cmd *cobra.Command, paths []string) (*asked, error) {
	a := &asked{want: o.run.want.Clone()}
	var records []string
	for _, path := range paths {
		if isTrace(s, path) {
			o.advice.traces = append(o.advice.traces, path)
		} else {
			records = append(records, path)
		}
	}
	if len(o.advice.traces) == 0 {
		return a, o.compare(s, cmd, a, records)
	}
	t, err := readTraces(s, o.advice.traces)
	if err != nil {
		return nil, err
	}
	a.file = base(filepath.Clean(o.advice.traces[0]))
	if a.own, err = t.Own(); err != nil {
		return nil, exit.With(exit.Want, fmt.Errorf("%s cannot be replayed: %w", a.file, err), "profile three steps of the job with ProfilerActivity.CUDA")
	}
	if o.advice.given = o.advice.given || len(records) > 0; o.advice.given {
		err = o.compare(s, cmd, a, records)
	}
	return a, err
}

// planned makes the settings of a question without curves, for a world.
func (a *asked) planned(w spec.World) (err error) {
	if a.plan != nil {
		a.advice, a.turns, err = a.plan.Planned(w.Size(), a.elements)
	}
	return err
}

// compare answers the question by the curves of records: which settings take turns. Without records that is for
// planned.
func (o *replayOptions) compare(s State, cmd *cobra.Command, a *asked, records []string) error {
	want, err := o.advice.read(s)
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
		n, err := count(text)
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

// ranks is the number of ranks that the job of the steps has.
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

// place makes the request of the steps' world, with the communicators and the collectives of their messages.
func (a *asked) place(w spec.World, cases []plan.Case) {
	a.want.World = w
	sweep := *a.want.Sweep
	sweep.Collectives, sweep.Sizes, sweep.Groups, sweep.Scales, sweep.Strides = nil, nil, nil, nil, nil
	sweep.MinBytes, sweep.MaxBytes, sweep.Factor, sweep.StepBytes, sweep.GraphLaunches = 1<<20, 1<<20, 2, 0, 0
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

// replay takes the steps, or starts the processes that do.
func (o *replayOptions) replay(ctx context.Context, s State, cmd *cobra.Command, paths []string) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := o.ask(s, cmd, paths)
	if err != nil {
		return err
	}
	a.want.Advice = nil
	l, err := o.run.launch.place(s, a.want, true)
	if err == nil {
		err = l.realNodes(s, true)
	}
	if err != nil {
		return err
	}
	o.run.want = a.want
	switch {
	case o.run.launch.dry && l.method == launch.Env && l.role.Rank > 0:
		return nil // rank 0 prints it
	case o.run.launch.dry:
		return o.dryRun(s, l, a)
	case l.starts():
		l.note(s, o.run.quiet)
		return o.run.startWorld(ctx, s, l, false)
	}
	return o.measure(ctx, s, a, l.want.World)
}

// dryRun prints what would start.
func (o *replayOptions) dryRun(s State, l launching, a *asked) error {
	u, backend, err := o.run.dryPrepare(s, l, false)
	if err == nil {
		err = a.planned(u.Spec.World)
	}
	if err != nil {
		return err
	}
	return o.run.dryMeasurement(s, l, u.Spec, backend, "Steps", o.announcement(a))
}

// design is how the settings are compared.
func (o *replayOptions) design(a *asked) replay.Design {
	return replay.Design{Settings: len(a.turns), Block: o.block, Margin: o.margin / 100, MaxSteps: o.maxSteps}
}

// announcement says what is about to be taken.
func (o *replayOptions) announcement(a *asked) string {
	var parts []string
	if a.own != nil {
		parts = append(parts, fmt.Sprintf("the step of %s, %s", a.file, unit.Count(replay.OwnBlocks*(o.block+1), "step")))
	}
	names := slice.Map(a.turns, func(t advice.Turn) string {
		return strings.TrimSpace(t.Name + " " + a.advice.Amount(t.Candidate.Elements))
	})
	if len(names) > 0 {
		parts = append(parts, fmt.Sprintf("%s in turn: %s; %s, then as many as it takes to tell %g %%",
			unit.Count(len(names), "setting"), strings.Join(names, ", "), unit.Count(o.design(a).FirstSteps(), "step"), o.margin))
	}
	return strings.Join(parts, "; then ")
}

// measure takes the steps in the world that this process leads, or holds alone.
func (o *replayOptions) measure(ctx context.Context, s State, a *asked, w spec.World) (err error) {
	started := s.Now()
	a.want.World = w
	if a.want.Backend, err = o.run.libraries.choose(s, a.want.Backend); err != nil {
		return err
	}
	e, err := o.run.engine(s)
	if err != nil {
		return err
	}
	u, err := e.Prepare(a.want)
	if err != nil {
		return err
	}
	if err = a.planned(u.Spec.World); err != nil {
		return err
	}
	steps, cases, err := a.steps(u.Spec.World)
	if err != nil {
		return err
	}
	a.place(u.Spec.World, cases)
	if u, err = e.Prepare(a.want); err == nil { // with the communicators
		err = withPairs(u)
	}
	if err != nil {
		return err
	}
	message, err := rails.CaseOf(u.Spec.World, pairBytes)
	if err != nil {
		return usage(err, replayHelp)
	}
	cases = append(cases, message)
	d, err := e.Open(ctx, u)
	if err != nil {
		return err
	}
	doc, err := o.observe(ctx, s, u, d, a, steps, cases)
	if err == nil && doc.Slower() {
		err = o.survey(ctx, s, u, d, message, cases[0], doc)
	}
	err = cmp.Or(err, d.Close())
	if doc == nil {
		return err
	}
	return o.finish(s, started, doc, err)
}

// pairBytes is the size of a message between two ranks where slow components are looked for.
const pairBytes = 64 << 20

// survey looks for the rank that is late and, where there is none, for the component that makes messages slow, by
// messages between pairs of ranks: those of a late rank are long. Others on the network lengthen a few launches of any pair.
func (o *replayOptions) survey(ctx context.Context, s State, u *engine.Setup, d engine.Ranks, message, first plan.Case, doc *replay.Document) error {
	exchanger, can := d.(rails.Exchanger)
	err := launches(ctx, d, first, doc)
	if err != nil || !can || doc.Messages != nil && doc.Messages.Late != nil {
		return err
	}
	facts, err := d.Facts()
	if err != nil {
		return err
	}
	s.note(o.run.quiet, "steps are longer than expected: messages between pairs of ranks show where\n")
	of := railsOptions{run: o.run, measureOptions: measureOptions{launches: rails.DefaultLaunches}}
	about := of.about(s, u, facts)
	about.Bytes = message.Layout.Bytes
	fleet := rails.Fleet{Nodes: u.Spec.World.Nodes, GPUs: u.Spec.World.GPUsPerNode}
	got, err := rails.Measurement{Fleet: fleet, Case: message, Launches: of.launches, Plan: rails.Bounds{Seed: u.Spec.Seed}}.Run(ctx, exchanger)
	if err != nil {
		return err
	}
	verdict := rails.Judge(rails.Data{Fleet: fleet, Timings: got.Timings})
	doc.Slow = slice.Where(rails.OfSurvey(about, got.Timings, verdict).Verdict(), func(f finding.Finding) bool {
		return f.Code == rails.CodeSlow || f.Code == finding.CodeUnclear
	})
	return nil
}

// lateLaunches is how many single launches show which rank is late.
const lateLaunches = 32

// launches looks for the late rank by single launches of a step's message.
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

// steps are those of the turns, of which the last is the first again, then that of the trace, and the cases of all
// their messages.
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

// observe takes the steps on an open driver. Without a document nothing was measured; with one, an error is
// what ended it early.
func (o *replayOptions) observe(ctx context.Context, s State, u *engine.Setup, d engine.Ranks, a *asked, steps []*plan.Step, cases []plan.Case) (doc *replay.Document, err error) {
	facts, err := d.Facts()
	if err != nil {
		return nil, err
	}
	player, can := d.(plan.Player)
	if !can {
		return nil, errors.New("this driver takes no steps")
	}
	if err := o.ready(ctx, s, u, d, player, a, len(steps), cases); err != nil {
		return nil, err
	}
	doc = o.document(u, facts, a)
	defer func() {
		if err != nil {
			doc.Ended = err.Error()
		}
	}()
	if a.own != nil {
		err := o.takeOwn(ctx, player, len(steps), steps[len(a.turns)], doc)
		if err != nil || len(a.turns) == 0 || !doc.Own.Fits() {
			return doc, err
		}
	}
	if err := o.prepare(ctx, player, a, steps, doc); err != nil {
		return doc, err
	}
	design := o.design(a)
	seconds := 0.0 // of the steps so far
	out, err := design.Run(func(setting, n int) ([]float64, error) {
		steps, err := taken(ctx, player, setting, n)
		seconds += stat.Mean(steps) * float64(n)
		return steps, err
	}, func(next replay.Announced) {
		took := time.Duration(float64(next.Total-next.Taken) * seconds / float64(next.Taken) * float64(time.Second)).Round(time.Second)
		s.note(o.run.quiet, "%s more, about %s: they tell differences to ± %.2g %%\n", unit.Count(next.Total-next.Taken, "step"), took, 100*next.Precision)
	})
	doc.Fill(out)
	return doc, err
}

// ready allocates what the steps need. What computation lacks is missed here, before anything is timed.
func (o *replayOptions) ready(ctx context.Context, s State, u *engine.Setup, d engine.Ranks, player plan.Player, a *asked, free int, cases []plan.Case) error {
	room, err := d.Budget()
	if err != nil {
		return err
	}
	do := plan.StepDo(o.compute)
	room.Bytes -= do.Bytes(room.Cache)
	plan.Fit(cases, room)
	if at := slices.IndexFunc(cases, func(c plan.Case) bool { return c.Skip != "" }); at >= 0 {
		return exit.With(exit.Run, errors.New(cases[at].Skip), "give smaller --settings")
	}
	if err := o.run.check(s, u, d, cases, 0); err != nil {
		return err
	}
	s.note(o.run.quiet, "%s\n", o.announcement(a))
	if err := d.Allocate(ctx, room.For(cases)); err != nil || !do.Works() {
		return err
	}
	return player.Stage(ctx, free, &plan.Step{Ops: []plan.StepOp{{Do: do, Launches: 1}}})
}

// prepare stages the settings, and times computation alone.
func (o *replayOptions) prepare(ctx context.Context, player plan.Player, a *asked, steps []*plan.Step, doc *replay.Document) error {
	for i, t := range a.turns {
		setting := replay.Setting{Name: t.Name, Amount: a.advice.Amount(t.Candidate.Elements), Elements: t.Candidate.Elements, Messages: len(steps[i].Sends)}
		if t.Candidate.Step > 0 {
			setting.Predicted = &t.Candidate.Step
		}
		doc.Settings = append(doc.Settings, setting)
	}
	for i := range a.turns {
		if err := stage(ctx, player, i, steps[i]); err != nil {
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

// messages times the messages of the step of setting 0, beside computation and, as a setting from free on, without;
// and what computation of the kind that was asked for and messages take from each other.
func (o *replayOptions) messages(ctx context.Context, p plan.Player, free int, step *plan.Step, doc *replay.Document) error {
	err := stage(ctx, p, free, replay.Bare(step))
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

// aloneSteps is how many steps of computation alone are timed.
const aloneSteps = 8

// stage stages a step and takes two, which connect the ranks and load what is loaded once.
func stage(ctx context.Context, p plan.Player, setting int, step *plan.Step) error {
	err := p.Stage(ctx, setting, step)
	if err == nil {
		_, err = p.Play(ctx, setting, 2)
	}
	return err
}

// alone times the computation of a step by itself.
func alone(ctx context.Context, p plan.Player, setting int, step *plan.Step) (float64, error) {
	if err := stage(ctx, p, setting, replay.Alone(step)); err != nil {
		return 0, err
	}
	seconds, err := taken(ctx, p, setting, aloneSteps)
	if err != nil {
		return 0, err
	}
	return stat.Quantile(seconds, 0.5), nil
}

// taken are the seconds of steps of the slowest rank.
func taken(ctx context.Context, p plan.Player, setting, steps int) ([]float64, error) {
	seconds, err := p.Play(ctx, setting, steps)
	if err != nil {
		return nil, err
	}
	return plan.SlowestOf(seconds, steps), nil
}

// takeOwn takes the trace's own step; the first of a block is not timed.
func (o *replayOptions) takeOwn(ctx context.Context, p plan.Player, free int, step *plan.Step, doc *replay.Document) (err error) {
	if doc.Own.Compute, err = alone(ctx, p, 0, step); err != nil {
		return err
	}
	if err = stage(ctx, p, 0, step); err != nil {
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

// document is what is known before the first step.
func (o *replayOptions) document(u *engine.Setup, facts engine.Facts, a *asked) *replay.Document {
	d := &replay.Document{
		Schema: replay.Schema, Simulated: facts.Simulated, Backend: u.Spec.Backend, Faults: u.Spec.Faults,
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

// finish delivers the document. failed is what ended the steps early.
func (o *replayOptions) finish(s State, started time.Time, doc *replay.Document, failed error) error {
	r := result{shown: doc.Shown(), started: started, checks: o.run.checks, control: o.run.world.control()}
	switch {
	case errors.Is(failed, context.Canceled):
		r.verdict = exit.With(exit.Interrupted, failed, "what was decided before stands")
	case failed != nil:
		r.verdict = exit.With(exit.Run, failed, "fix the cause, and repeat the command")
	}
	to := o.run.output
	to.verbose = false // it is for the checks before a run
	return s.deliver(to, r)
}
