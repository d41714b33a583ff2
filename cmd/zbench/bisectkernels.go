package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/bisect"
	"zbench/bench/compare"
	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/jsonfile"
	"zbench/bench/record"
	"zbench/bench/spec"
)

// kernelTiming is the kind of time that kernels have.
const kernelTiming = "kernel"

// addBisectKernels adds a search for hbm and for each kernel.
func addBisectKernels(to *cobra.Command, s State) {
	for _, b := range kernelBenches {
		o := &bisectOptions{Criteria: bisect.Defaults(), timing: kernelTiming}
		o.sweep.want = spec.Spec{Schema: spec.Schema, Benchmark: b.Name, Kernels: &spec.Kernels{}}
		cmd := &cobra.Command{
			Use:   b.Name + " --variant NAME=SETTINGS --variant NAME=SETTINGS… [flags]",
			Short: "The same for zbench " + engine.Command(b.Name),
			Long: "Every child is a zbench " + engine.Command(b.Name) + " of its own; its flags say what\n" +
				"it measures. The first child only finds out the rows. zbench bisect --help\nexplains variants and rounds.",
			Example: "  zbench bisect " + b.Name + " --variant 6.4='--rocm-path /opt/rocm-6.4' --variant 7.0='--rocm-path /opt/rocm-7.0'",
			Args:    noArgs,
			RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s, cmd) },
		}
		addFlags(cmd, &o.sweep.want, b.flags)
		addSearchFlags(cmd, o)
		to.AddCommand(cmd)
	}
}

// givenOf are the variants as the journal has them.
func givenOf(variants []variant) []bisect.Given {
	var out []bisect.Given
	for _, v := range variants {
		out = append(out, bisect.Given{Name: v.name, Settings: v.text})
	}
	return out
}

// beginKernels opens a new search over kernels. Which rows there are is known once the
// devices are open: a child finds them out.
func (o *bisectOptions) beginKernels(ctx context.Context, s State, cmd *cobra.Command) (*bisecting, error) {
	k := kernelOptions{want: o.sweep.want.Clone()}
	if k.want.Kernels.Tune {
		return nil, usagef("leave --tune out", "bisect has no --tune: each child would choose configurations of its own")
	}
	if err := benchOf(k.want.Benchmark).checked(&k.want, ""); err != nil {
		return nil, err
	}
	variants, err := parseVariants(s, o.given, k.want.Benchmark)
	if err != nil {
		return nil, err
	}
	dir, err := engine.NewFolder(s.host(o.sweep.quiet), o.sweep.out, "bisect", o.sweep.force)
	if err != nil {
		return nil, err
	}
	h := bisect.Header{
		Schema: bisect.JournalSchema, Options: o.Criteria, Spec: k.want, Common: jsonfile.Filled(commonArgs(cmd)), Timing: o.timing, Variants: givenOf(variants),
	}
	if err := o.scout(ctx, s, dir, variants, &h); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return o.start(s, dir, h, nil)
}

// scout starts a child of the first variant that works, with the whole request, and takes
// the rows from its record. Its times do not count.
func (o *bisectOptions) scout(ctx context.Context, s State, dir *engine.Folder, variants []variant, h *bisect.Header) error {
	b := &bisecting{s: s, dir: dir, header: *h, quiet: o.sweep.quiet, timeout: o.childTimeout(), timer: newTimer}
	var why error
	for i, v := range variants {
		s.note(b.quiet, "%s: which rows there are\n", v.name)
		folder := filepath.Join(dir.Path, "children", fmt.Sprintf("%03d-%s", i+1, v.name))
		seconds := 0.0
		failed, tail, err := b.start(ctx, v, folder, nil, &seconds)
		if err != nil {
			return err
		}
		h.Scouts = append(h.Scouts, seconds)
		if failed != "" {
			why = errors.Join(why, fmt.Errorf("%s: %s: %q", v.name, failed, tail.lines(evidenceLines)))
			continue
		}
		rec, err := readAny(s, folder)
		if err == nil {
			err = plannedRows(rec, h)
		}
		if err == nil {
			return nil
		}
		why = errors.Join(why, fmt.Errorf("%s: %w", v.name, err))
	}
	return exit.With(exit.Run, fmt.Errorf("no variant could be measured: %w", why), "zbench "+engine.Command(h.Spec.Benchmark)+" with the settings of one variant shows more")
}

// plannedRows takes the cases from a record, with the sizes that follow from the devices.
func plannedRows(rec *record.Record, h *bisect.Header) error {
	for _, r := range compare.Readings(rec, h.Timing) {
		if r.Seconds > 0 {
			h.Cases = append(h.Cases, bisect.Planned{Key: r.Key, Bytes: r.Bytes})
		}
	}
	if len(h.Cases) == 0 {
		return errors.New("no row has a time: this device checks kernels and times none")
	}
	if rec.Spec != nil && rec.Spec.Kernels != nil {
		h.Spec.Kernels = rec.Spec.Clone().Kernels
	}
	h.GPUs = max(rec.World.Ranks, 1)
	return nil
}
