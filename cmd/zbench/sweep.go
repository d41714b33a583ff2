package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/base/plain"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/spec"
)

// sweepOptions are the options of the collectives command.
type sweepOptions struct {
	worldRun
	advice spec.Asked
}

// sweep starts or resumes a sweep, as the flags say.
func (o *sweepOptions) sweep(ctx context.Context, s State, cmd *cobra.Command) (err error) {
	if err := o.deadlines.check(); err != nil {
		return err
	}
	if err := o.gates.read(); err != nil {
		return err
	}
	if o.want.Advice, err = completeAdvice(s, &o.advice); err != nil {
		return err
	}
	f := cmd.Flags()
	if err := sizesAgree(f); err != nil {
		return err
	}
	if o.want.Sweep.Skew, err = skewOf(s, o.want.Sweep.Skew); err != nil {
		return err
	}
	if err := o.ask(s, cmd); err != nil {
		return err
	}
	l, err := o.place(s, cmd)
	if err == nil && o.launch.screen {
		if err = o.screenFirst(ctx, s, cmd, l); err == nil {
			l, err = o.place(s, cmd)
		}
	}
	resumed := f.Changed("resume")
	switch {
	case err != nil:
		return err
	case l.starts() && !o.launch.dry:
		return o.startWorld(ctx, s, l, resumed)
	case o.launch.dry && resumed:
		return o.dryResume(ctx, s, cmd, l)
	case o.launch.dry:
		return o.dryRun(ctx, s, l, nil)
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	if resumed {
		e.Force = o.force
		return o.measure(ctx, s, e, func(kept spec.Spec) (spec.Spec, error) { return o.joined(cmd, kept) })
	}
	o.want.World, o.want.Faults = l.want.World, l.want.Faults
	return o.measure(ctx, s, e, nil)
}

// skewOf returns the value of --skew. If it names a file, it returns the weights in the file.
func skewOf(s State, asked string) (string, error) {
	skew, err := collective.ReadSkew(asked)
	if err == nil {
		return string(skew), nil
	}
	text, missing := s.FS.ReadFile(asked)
	if missing == nil {
		skew, err = collective.ReadSkew(string(text))
	}
	if err != nil {
		return "", usage(fmt.Errorf("--skew %s: %w", plain.Line(asked), err), "give uniform, zipf:1.2, or a file with a weight for each rank")
	}
	return string(skew), nil
}

// ask applies the request of --spec. Collectives and a model on the command line replace those in
// the file.
func (o *sweepOptions) ask(s State, cmd *cobra.Command) error {
	flags := o.want
	err := o.runOptions.ask(s, cmd)
	if names := flags.Sweep.Collectives; len(names) > 0 {
		o.want.Sweep.Collectives = names
	}
	if flags.Advice != nil {
		o.want.Advice = flags.Advice
	}
	return err
}

// joined returns the request of a resumed sweep, with those flags that may change. It returns an
// error that names all other flags whose values differ. With --force, flags that describe the
// measured machine may change, too.
func (o *sweepOptions) joined(cmd *cobra.Command, kept spec.Spec) (spec.Spec, error) {
	want, list, err := unchanged(cmd, kept, o.force)
	if given := o.want.Sweep.Collectives; len(given) > 0 && !slices.Equal(given, kept.Sweep.Collectives) {
		list = append([]string{clash("collectives", strings.Join(kept.Sweep.Collectives, " "), strings.Join(given, " "))}, list...)
	}
	if o.want.Advice != nil {
		want.Advice = o.want.Advice
	}
	return want, cmp.Or(clashes(o.resume, list), err)
}

func addCollectivesFlags(cmd *cobra.Command, o *sweepOptions) {
	addSpecFlags(cmd, &o.want)
	addFlags(cmd, &o.advice, spec.AdviceFlags)
	addRunFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.Lookup("force").Usage += "; with --resume: resume even if hardware or libraries differ"
	f.Lookup("resume").Usage = "resume the sweep in this folder with its own options"
	addLaunchFlags(f, &o.launch)
	f.StringVar(&o.launch.bad, "exclude-bad", "", "leave out the nodes that a screen has failed: the folder of that (zbench screen)")
	f.BoolVar(&o.launch.screen, "screen-first", false, "screen the nodes first, into a folder beside --out, and leave out those that fail")
	addCountersFlag(f, &o.counters)
	addDeadlineFlags(f, &o.deadlines)
}
