package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	method "zbench/bench/muon"
	"zbench/bench/spec"
	driver "zbench/hbm/muon"
	"zbench/internal/native"
)

// muonTexts is the command with what its help says.
func muonTexts() *cobra.Command {
	return &cobra.Command{
		Short: "The Muon step: products, Newton–Schulz, passes over memory",
		Long: `Times a Muon step on one GPU, product by product, for a model's weight matrices
or a shape, against our own kernel without symmetry and the vendor's product,
and compares the results with float64. docs/METHOD.md defines what is counted.

Without a GPU the kernels are emulated: results are checked, rates are not
shown, and shapes that would take minutes are refused; --reduce checks reduced
shapes instead. The run writes a folder with a page, JSON and CSV; --resume DIR
continues an interrupted run.`,
		Example: `  zbench kernels muon --preset moonlight-16b
  zbench kernels muon --shape 2048x4096x16 --coefficients polar-express
  zbench kernels muon --shape 256x512                  seconds without a GPU
  zbench kernels muon --preset zaya1-base --reduce 192 reduced shapes, seconds too`,
	}
}

// chosenShapes are the shapes that were asked for; few tells that their batches are
// a model's.
func chosenShapes(k *spec.Kernels) (shapes []method.Shape, few bool, err error) {
	if k.Preset != "" {
		p, err := method.PresetByName(k.Preset)
		return p.Shapes, true, err
	}
	for _, text := range k.Shapes {
		s, err := method.ParseShape(text)
		if err != nil {
			return nil, false, err
		}
		shapes = append(shapes, s)
	}
	return shapes, false, nil
}

// emulatedRate is about what one core does of the emulated products, and
// referenceRate of float64 ones, in operations per second.
const (
	emulatedRate  = 3e9
	referenceRate = 4e9
	// maxEmulatedSeconds is the longest that an emulated check may take, in seconds.
	maxEmulatedSeconds = 60.0
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

// openMuon opens the device and plans the shapes. What would be emulated for minutes
// is refused: by the device, as the loopback may have a vendor's name.
func openMuon(ctx context.Context, s State, o *kernelOptions) (*engine.Kernels, error) {
	a, k := o.want, o.want.Kernels
	help := flagsHelp(spec.Muon)
	shapes, few, err := chosenShapes(k)
	if err != nil {
		return nil, usage(err, help)
	}
	c, err := method.ByName(k.Coefficients)
	if err != nil {
		return nil, usage(err, help)
	}
	if a.Backend != "loopback" && k.Reduce != 0 {
		return nil, usagef("leave it out, or add --backend loopback", "--reduce needs emulated kernels: a GPU runs the full shapes")
	}
	cfg := driver.Config{
		Native: native.Options{Backend: a.Backend, Machine: driver.Machine(), Getenv: s.Getenv}, Device: k.Device, Coefficients: c, Seed: a.Seed, Reduce: k.Reduce,
		Say: func(text string) { s.note(o.quiet, "%s\n", text) },
	}
	if _, err := o.libraries.fill(ctx, s, &cfg.Native); err != nil {
		return nil, err
	}
	d, err := driver.Open(cfg)
	if errors.Is(err, driver.ErrDevice) {
		err = usage(err, help)
	}
	if err != nil {
		return nil, err
	}
	out := &engine.Kernels{Driver: d, Spec: a, Facts: o.facts(s, d.Devices(), d.Libraries()), Vendor: d.VendorText()}
	if d.Emulated() {
		err = checkEmulationTime(shapes, c, k.Reduce)
	}
	if err == nil {
		out.Rows, out.Jobs, err = d.Plan(shapes, few, o.rule())
	}
	if errors.Is(err, driver.ErrMemory) {
		err = usage(err, "give a smaller --shape, or a smaller batch of it")
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return out, nil
}

// standInSide is the longer side of a reduced shape that takes seconds.
const standInSide = 192

// checkEmulationTime refuses shapes whose emulation exceeds maxEmulatedSeconds.
func checkEmulationTime(shapes []method.Shape, c method.Coefficients, reduce int) error {
	total := 0.0
	for _, s := range shapes {
		if reduce != 0 {
			s = s.Reduced(reduce)
		}
		total += emulatedSeconds(s, c)
	}
	if total <= maxEmulatedSeconds {
		return nil
	}
	return usagef(fmt.Sprintf("run on a machine with a GPU, check reduced shapes with --reduce %d, or give a smaller one: --shape 256x512", standInSide),
		"emulation on this machine would take about %.0f s; the limit is %.0f s", total, maxEmulatedSeconds)
}
