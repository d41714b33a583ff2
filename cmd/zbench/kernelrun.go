package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/spec"
	"zbench/hbm"
	"zbench/internal/linux"
	"zbench/internal/native"
)

// kernelBench is a family with the flags of its command.
type kernelBench struct {
	hbm.Family
	flags []specFlag
}

// flagsHelp says where the flags of a benchmark are described.
func flagsHelp(benchmark string) string { return listedBy(spec.Command(benchmark)) }

// command is the command of the benchmark.
func (b kernelBench) command(s State) *cobra.Command {
	cmd := &cobra.Command{Use: b.Name, Short: b.Short, Long: b.Long, Example: b.Example, Args: noArgs}
	b.add(cmd, s)
	return cmd
}

// add puts the flags on a command, and makes it run the benchmark.
func (b kernelBench) add(cmd *cobra.Command, s State) {
	var o runOptions
	o.want = spec.Spec{Schema: spec.Schema, Benchmark: b.Name, Kernels: &spec.Kernels{}}
	addFlags(cmd, &o.want, b.flags)
	addRunFlags(cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd, s, &o) }
}

// run measures into a new folder, or resumes the run of an existing one.
func (b kernelBench) run(cmd *cobra.Command, s State, o *runOptions) error {
	if err := cmp.Or(checkFormat(o.format, flagsHelp(b.Name)), o.gates.read()); err != nil {
		return err
	}
	if err := o.ask(s, cmd); err != nil {
		return err
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	e.OpenKernels = func(ctx context.Context, _ *engine.Setup) (*engine.Kernels, error) { return b.opened(ctx, s, o) }
	e.Watch = func(total, done int) engine.Watcher { return newProgress(s, total, done, o.quiet, true) }
	if cmd.Flags().Changed("resume") {
		return o.measure(cmd.Context(), s, e, func(kept spec.Spec) (spec.Spec, error) {
			want, list, err := unchanged(cmd, kept, false)
			return want, cmp.Or(err, clashes(o.resume, list))
		})
	}
	if b.Fill != nil && o.file == "" {
		s.note(o.quiet, "%s", b.Fill(o.want.Kernels))
	}
	if err := b.checked(&o.want, o.file); err != nil {
		return err
	}
	return o.measure(cmd.Context(), s, e, nil)
}

// checked refuses an invalid request, which is of a file where one is named.
func (b kernelBench) checked(want *spec.Spec, file string) error {
	if err := engine.CheckKernels(want); err != nil {
		return err
	}
	err := b.Check(want.Kernels)
	switch {
	case err == nil:
		return nil
	case file != "":
		err = fmt.Errorf("%s: %w", file, err)
	}
	return usage(err, flagsHelp(b.Name))
}

// opened is the open devices with the planned rows.
func (b kernelBench) opened(ctx context.Context, s State, o *runOptions) (*engine.Kernels, error) {
	to := hbm.Opening{
		Spec: &o.want, Native: native.Choice{Backend: o.want.Backend, Getenv: s.Getenv}, Host: hostFacts(s), Rule: engine.KernelRule(o.want.Kernels),
		Sense: linux.Tree{FS: treeFS{s.FS, "/"}}.Sense,
		Say:   func(text string) { s.note(o.quiet, "%s\n", text) }, Help: flagsHelp(b.Name),
	}
	cache, err := o.libraries.fill(ctx, s, &to.Native)
	if err != nil {
		return nil, err
	}
	p, err := b.Open(to)
	if o.want.Backend != "loopback" {
		o.libraries.report(s, cache)
	}
	if err != nil {
		return nil, err
	}
	p.Spec, p.Facts.KernelDriver = o.want, driverVersion(s, o.want.Backend)
	return p, nil
}

// flagsOf are the flags of a benchmark's request.
func flagsOf(benchmark string) []specFlag {
	if b := benchOf(benchmark); b != nil {
		return b.flags
	}
	return specFlags
}
