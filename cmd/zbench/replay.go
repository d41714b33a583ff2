package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/replay"
	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// replayOptions are the options of the command replay.
type replayOptions struct {
	// run says how the processes start and in which world. advice is the question about a bucket
	// size.
	run    worldRun
	advice spec.Asked
	// settings are the settings to compare, in elements; empty means the recommended setting and
	// its neighbours.
	settings []string
	// margin is in per cent.
	margin float64
	// compute is the kind of computation in a step: spin, triad or gemm.
	compute string
	// registers and ctas are the library policies to compare.
	registers, ctas []string
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
(triad with - triad alone) - (spin with - spin alone). With --register and
--cta-policy the first setting's step is taken with each policy of the library
and without, in turn: whether copy engines help this job.

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
			if len(args) == 0 && !o.advice.Given() {
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
	addFlags(cmd, &o.advice, spec.AdviceFlags)
	o.run.addWorldFlags(cmd, "replay")
	f := cmd.Flags()
	f.StringSliceVar(&o.settings, "settings", nil, "settings to compare in place of the answer and its neighbours, in elements; k, M, G are decimal")
	f.Float64Var(&o.margin, "margin", 0.5, "difference that matters, in per cent of a step")
	f.StringVar(&o.compute, "compute", computeSpin, "triad or gemm: measure what computation that goes through memory, or multiplies matrices, and messages take from each other")
	f.StringSliceVar(&o.registers, "register", nil, "with --compute: ways to register the buffers, each compared with none: "+strings.Join(policy.Registers(), ", "))
	f.StringSliceVar(&o.ctas, "cta-policy", nil, "with --compute: policies of compute units, each compared with the default; zero asks for copy engines: "+strings.Join(policy.CTAs(), ", "))
	f.IntVar(&o.block, "block", replay.DefaultBlock, "timed steps of a setting before it is the next one's turn")
	f.IntVar(&o.maxSteps, "max-steps", 20000, "most steps of all settings together")
	o.run.addFlags(f, "folder to create for replay.json, report.html and the chart (default none)")
	o.run.addForce(f)
	o.run.counters = "off"
}

// check refuses an impossible replay before anything is read.
func (o *replayOptions) check() error {
	switch {
	case !(o.margin >= 0.01 && o.margin <= 50):
		return usagef(replayHelp, "--margin is 0.01 to 50 per cent, not %g", o.margin)
	case o.compute != computeSpin && !plan.StepDo(o.compute).Works():
		return usagef(replayHelp, "--compute is spin, triad or gemm, not %q", o.compute)
	case len(o.registers)+len(o.ctas) > 0 && o.compute == computeSpin:
		return usagef(replayHelp, "--register and --cta-policy say what computation gains or loses: give --compute gemm or triad")
	case o.block < 1 || o.block >= plan.MaxSteps:
		return usagef(replayHelp, "--block is 1 to %d, not %d", plan.MaxSteps-1, o.block)
	case o.maxSteps < 1 || o.maxSteps > 1e9:
		return usagef(replayHelp, "--max-steps is 1 to 1000000000, not %d", o.maxSteps)
	case len(o.settings) > 5:
		return usagef(replayHelp, "--settings has %d settings; at most 5 beside the default are compared", len(o.settings))
	}
	if err := policy.Check(o.registers, o.ctas); err != nil {
		return usage(err, replayHelp)
	}
	return o.run.deadlines.check()
}

// design returns how the settings are compared.
func (o *replayOptions) design(a *asked) replay.Design {
	return replay.Design{Settings: len(a.turns), Block: o.block, Margin: o.margin / 100, MaxSteps: o.maxSteps}
}

// announcement says what will be replayed.
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

// replay measures the steps, or starts the processes that do this.
func (o *replayOptions) replay(ctx context.Context, s State, cmd *cobra.Command, paths []string) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := o.ask(s, cmd, paths)
	if err != nil {
		return err
	}
	a.want.Advice = nil
	o.run.want = a.want
	l, err := o.run.placed(s, a.want, true)
	if err != nil {
		return err
	}
	var steps []*plan.Step
	return o.run.take(ctx, s, l, task{
		row:  "Steps",
		kept: func(string) string { return "what was decided before stands" },
		announce: func(w spec.World) (string, plan.Span, error) {
			err := a.planned(w)
			return o.announcement(a), plan.Span{}, err
		},
		prepare: func(_ State, e *engine.Engine, want spec.Spec) (u *engine.Setup, cases []plan.Case, err error) {
			u, steps, cases, err = a.prepare(e, want)
			return u, cases, err
		},
		tooLarge: func(c plan.Case) error {
			return exit.With(exit.Run, errors.New(c.Skip), "give smaller --settings")
		},
		measure: func(ctx context.Context, w *openWorld) (*result, error) { return o.measure(ctx, w, a, steps) },
	})
}
