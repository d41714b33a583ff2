package main

import (
	"context"
	"errors"

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
  zbench kernels muon                                  one small shape, seconds without a GPU
  zbench kernels muon --preset zaya1-base --reduce 192 reduced shapes, seconds too`,
	}
}

// smallMuon takes a small shape where neither a model nor a shape is asked for.
func smallMuon(k *spec.Kernels) (note string) {
	if k.Preset != "" || len(k.Shapes) > 0 {
		return ""
	}
	k.Shapes = []string{driver.SmallShape}
	return "Neither --preset nor --shape: a small default, --shape " + driver.SmallShape + ". For a model's matrices: --preset zaya1-base\n"
}

// openMuon opens the device and plans the shapes. What would be emulated for minutes
// is refused: by the device, as the loopback may have a vendor's name.
func openMuon(ctx context.Context, s State, o *kernelOptions) (*engine.Kernels, error) {
	a, k := o.want, o.want.Kernels
	help := flagsHelp(spec.Muon)
	shapes, few, err := driver.Shapes(k)
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
		Native: native.Choice{Backend: a.Backend, Machine: driver.Machine(), Getenv: s.Getenv}, Device: k.Device, Coefficients: c, Seed: a.Seed, Reduce: k.Reduce,
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
		err = driver.CheckTime(shapes, c, k.Reduce)
	}
	if err == nil {
		out.Rows, out.Jobs, err = d.Plan(shapes, few, engine.KernelRule(k))
	}
	if errors.Is(err, driver.ErrMemory) {
		err = usage(err, "give a smaller --shape, or a smaller batch of it")
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return out, nil
}
