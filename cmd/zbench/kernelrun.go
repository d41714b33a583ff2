package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/internal/native"
)

// kernelOptions are the options of hbm and of kernels: those of any run.
type kernelOptions = runOptions

// kernelBench is what one command of kernels has of its own.
type kernelBench struct {
	name  string // of the benchmark
	flags []specFlag
	// check refuses a request that names what the benchmark does not have.
	check func(benchmark string, k *spec.Kernels) error
	// fill completes a request that leaves out what the benchmark needs, and says what it takes; nil
	// completes none.
	fill func(k *spec.Kernels) (note string)
	// open opens the devices and plans the rows.
	open func(context.Context, State, *kernelOptions) (*engine.Kernels, error)
}

// flagsHelp says where the flags of a benchmark are described.
func flagsHelp(benchmark string) string { return listedBy(spec.Command(benchmark)) }

// add puts the flags on a command, and makes it run the benchmark.
func (b kernelBench) add(cmd *cobra.Command, s State) {
	var o kernelOptions
	o.want = spec.Spec{Schema: spec.Schema, Benchmark: b.name, Kernels: &spec.Kernels{}}
	addFlags(cmd, &o.want, b.flags)
	addRunFlags(cmd, &o)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd, s, &o) }
}

// run measures into a new folder, or resumes the run of an existing one.
func (b kernelBench) run(cmd *cobra.Command, s State, o *kernelOptions) error {
	if err := cmp.Or(checkFormat(o.format, flagsHelp(b.name)), o.gates.read()); err != nil {
		return err
	}
	if err := o.ask(s, cmd); err != nil {
		return err
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	e.OpenKernels = func(ctx context.Context, _ *engine.Setup) (*engine.Kernels, error) { return b.open(ctx, s, o) }
	e.Watch = func(total, done int) engine.Watcher { return newProgress(s, total, done, o.quiet, true) }
	if cmd.Flags().Changed("resume") {
		return o.measure(cmd.Context(), s, e, func(kept spec.Spec) (spec.Spec, error) {
			want, list, err := unchanged(cmd, kept, false)
			return want, cmp.Or(err, clashes(o.resume, list))
		})
	}
	if b.fill != nil && o.file == "" {
		s.note(o.quiet, "%s", b.fill(o.want.Kernels))
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
	err := b.check(b.name, want.Kernels)
	switch {
	case err == nil:
		return nil
	case file != "":
		err = fmt.Errorf("%s: %w", file, err)
	}
	return usage(err, flagsHelp(b.name))
}

// facts are what the record says of the libraries and devices.
func (o *kernelOptions) facts(s State, devices []record.Device, libraries []native.Library) engine.Facts {
	f := engine.Facts{Devices: devices, KernelDriver: driverVersion(s, o.want.Backend)}
	for _, l := range libraries {
		f.Libraries = append(f.Libraries, record.Library{Name: l.Name, Version: l.Version, Path: l.Path})
	}
	return f
}

// flagsOf are the flags of a benchmark's request.
func flagsOf(benchmark string) []specFlag {
	if i := slices.IndexFunc(kernelBenches, func(b kernelBench) bool { return b.name == benchmark }); i >= 0 {
		return kernelBenches[i].flags
	}
	return specFlags
}
