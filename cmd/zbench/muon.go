package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	method "zbench/bench/muon"
	"zbench/bench/stat"
	driver "zbench/hbm/muon"
	"zbench/internal/native"
)

// muonOptions is everything that kernels muon was told.
type muonOptions struct {
	preset, coefficients string
	shapes               []string
	backend, format      string
	device               int
	seed                 uint64
	precision, maxTime   float64
	libraries            libraryOptions
}

func newMuon(s State) *cobra.Command {
	var o muonOptions
	var presets []string
	for _, p := range method.Presets() {
		presets = append(presets, p.Name)
	}
	cmd := &cobra.Command{
		Use:   "muon",
		Short: "The Muon optimiser's step: symmetric products, Newton–Schulz, the passes over memory",
		Long: `Times a Muon step on one GPU, product by product, for a model's weight matrices
or a shape, against our own kernel without symmetry and the vendor's product, and
holds the results against float64. docs/METHOD.md says what is counted.

Without a GPU the kernels are emulated: results are checked, no rates are shown,
and what would take minutes is refused.

` + exitCodes,
		Example: `  zbench kernels muon --preset moonlight
  zbench kernels muon --shape 2048x4096x16 --coefficients polar-express
  zbench kernels muon --shape 256x512          seconds on the loopback`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMuon(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.preset, "preset", "", "a model's matrices: "+strings.Join(presets, ", "))
	f.StringArrayVar(&o.shapes, "shape", nil, "matrices to step, as MxN or MxNxBATCH; may be repeated")
	f.StringVar(&o.coefficients, "coefficients", method.Sets()[0].Name, "of Newton–Schulz: "+strings.Join(setNames(), ", "))
	f.StringVar(&o.backend, "backend", "auto", "libraries underneath: auto, "+strings.Join(native.Backends(), ", "))
	f.IntVar(&o.device, "device", 0, "the device's index")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the matrices")
	f.Float64Var(&o.precision, "precision", 0.01, "a timing ends when half the median's interval is within this share of it")
	f.Float64Var(&o.maxTime, "max-time", 0.4, "or after so many seconds")
	f.StringVar(&o.format, "format", "table", "form of standard output: "+strings.Join(muonFormatNames(), ", "))
	addLibraryFlags(cmd, &o.libraries)
	return cmd
}

func setNames() []string {
	var names []string
	for _, c := range method.Sets() {
		names = append(names, c.Name)
	}
	return names
}

// chosen are the shapes that were asked for, and the preset's name.
func (o muonOptions) chosen() ([]method.Shape, error) {
	if (o.preset == "") == (len(o.shapes) == 0) {
		return nil, errors.New("give either --preset or --shape")
	}
	if o.preset != "" {
		p, err := method.PresetByName(o.preset)
		return p.Shapes, err
	}
	var shapes []method.Shape
	for _, text := range o.shapes {
		s, err := method.ParseShape(text)
		if err != nil {
			return nil, err
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

// emulatedRate is about what one core does of the emulated products, and
// referenceRate of float64 ones, in operations per second.
const (
	emulatedRate  = 3e9
	referenceRate = 4e9
	// patience is the longest that an emulated check may take, in seconds.
	patience = 60.0
)

// emulatedSeconds estimates a check on the loopback.
func emulatedSeconds(s method.Shape, c method.Coefficients) float64 {
	one, all := 0.0, 0.0
	for _, p := range method.Products() {
		one += p.Effective(s)
		all += p.Executed(s, p.Tile(s, 1), false) * float64(s.Batch)
	}
	steps := float64(len(c.Steps))
	return steps*all/emulatedRate + 2*steps*one/referenceRate
}

func runMuon(ctx context.Context, s State, o muonOptions) error {
	const help = "zbench kernels muon --help lists the flags"
	shapes, err := o.chosen()
	if err != nil {
		return usage(err, help)
	}
	c, err := method.ByName(o.coefficients)
	if err != nil {
		return usage(err, help)
	}
	rule := stat.DefaultRule()
	rule.Precision, rule.MaxTime, rule.MinSamples = o.precision, o.maxTime, 20
	if err := rule.Validate(); err != nil {
		return usage(err, help)
	}
	if !validMuonFormat(o.format) {
		return usagef(help, "unknown format %q: valid are %s", o.format, strings.Join(muonFormatNames(), ", "))
	}
	backend, err := chooseBackend(s, o.backend)
	if err != nil {
		return err
	}
	if backend == "loopback" {
		if err := bearable(shapes, c); err != nil {
			return err
		}
	}
	cfg := driver.Config{
		Native: native.Options{Backend: backend, Machine: driver.Machine(), Getenv: s.Getenv}, Device: o.device, Coefficients: c, Seed: o.seed,
	}
	if _, err := o.libraries.fill(s, &cfg.Native); err != nil {
		return err
	}
	d, err := driver.Open(cfg)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, d.Cancel)
	defer stop()
	report, err := d.Report(shapes, o.preset, rule, func(text string) { fmt.Fprintf(s.Stderr, "%s\n", text) })
	err = errors.Join(err, d.Close())
	if errors.Is(err, native.ErrCancelled) {
		return &codeError{exitInterrupted, errors.New("interrupted"), "nothing is kept of a run that was"}
	}
	if err != nil {
		return err
	}
	if err := printMuon(s.Stdout, report, o.format); err != nil {
		return err
	}
	return muonVerdict(report)
}

// bearable refuses what would be emulated for minutes.
func bearable(shapes []method.Shape, c method.Coefficients) error {
	total := 0.0
	for _, s := range shapes {
		total += emulatedSeconds(s, c)
	}
	if total <= patience {
		return nil
	}
	return usagef("run it where the GPU is, or check a smaller one here: --shape 256x512",
		"emulated on this machine that would take about %.0f minutes", max(1, total/60))
}

// muonVerdict is the exit code that the checks earn.
func muonVerdict(r *method.Report) error {
	for _, c := range r.Checks {
		if !c.OK() {
			return &codeError{exitWrongData, fmt.Errorf("wrong data: %s of %s: %s", c.What, c.Shape, errorText(c)), "the table has every check"}
		}
	}
	return nil
}

func errorText(c method.Check) string {
	return fmt.Sprintf("%.3g in all (bar %.3g), %.3g at the most (bar %.3g)", c.Found.Frobenius, c.Bar.Frobenius, c.Found.Max, c.Bar.Max)
}

// printMuon writes a report in one of muonFormats.
func printMuon(w io.Writer, r *method.Report, format string) error {
	for _, f := range muonFormats {
		if f.name == format {
			return f.write(w, r)
		}
	}
	return nil
}
