package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/model"
	method "zbench/bench/muon"
	"zbench/bench/record"
	driver "zbench/hbm/muon"
	"zbench/internal/native"
)

func newMuon(s State) *cobra.Command {
	var o kernelOptions
	cmd := &cobra.Command{
		Use:   "muon",
		Short: "The Muon step: products, Newton–Schulz, passes over memory",
		Long: `Times a Muon step on one GPU, product by product, for a model's weight matrices
or a shape, against our own kernel without symmetry and the vendor's product,
and holds the results against float64. docs/METHOD.md says what is counted.

Without a GPU the kernels are emulated: results are checked, no rates are
shown, and what would take minutes is refused; --reduce checks a smaller
stand-in of each shape instead. The results are left in a folder, as a page and
as JSON and CSV; --resume DIR goes on with a run that was cut off.`,
		Example: `  zbench kernels muon --preset moonlight-16b
  zbench kernels muon --shape 2048x4096x16 --coefficients polar-express
  zbench kernels muon --shape 256x512                  seconds without a GPU
  zbench kernels muon --preset zaya1-base --reduce 192 a stand-in of each shape, too`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return kernelBench{name: record.Muon, help: muonHelp, check: checkMuon, open: openMuon}.run(cmd, s, o)
		},
	}
	addKernelFlags(cmd, &o, 0.4)
	f, a := cmd.Flags(), &o.asked
	f.StringVar(&a.Preset, "preset", "", "a model's matrices: "+strings.Join(model.PresetNames(), ", "))
	f.StringArrayVar(&a.Shapes, "shape", nil, "matrices to step, as MxN or MxNxBATCH; may be repeated")
	f.StringVar(&a.Coefficients, "coefficients", method.Sets()[0].Name, "of Newton–Schulz: "+strings.Join(setNames(), ", "))
	f.IntVar(&a.Reduce, "reduce", 0, "without a GPU: check each shape with its longer side brought to at most this, batches to 2")
	return cmd
}

func setNames() []string {
	var names []string
	for _, c := range method.Sets() {
		names = append(names, c.Name)
	}
	return names
}

// chosenShapes are the shapes that were asked for; few tells that their batches are
// a model's.
func chosenShapes(a record.Asked) (shapes []method.Shape, few bool, err error) {
	if (a.Preset == "") == (len(a.Shapes) == 0) {
		return nil, false, errors.New("give either --preset or --shape")
	}
	if a.Preset != "" {
		p, err := method.PresetByName(a.Preset)
		return p.Shapes, true, err
	}
	shapes, err = parseShapes(a.Shapes)
	return shapes, false, err
}

func parseShapes(texts []string) ([]method.Shape, error) {
	var shapes []method.Shape
	for _, text := range texts {
		s, err := method.ParseShape(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(shapes, s) {
			shapes = append(shapes, s)
		}
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

const muonHelp = "zbench kernels muon --help lists the flags"

// checkMuon refuses options that no run can have, and brings them to one form.
func checkMuon(o *kernelOptions) error {
	a := &o.asked
	if o.resume == "" || a.Preset != "" || len(a.Shapes) > 0 {
		if _, _, err := chosenShapes(*a); err != nil {
			return usage(err, muonHelp)
		}
	}
	shapes, err := parseShapes(a.Shapes)
	if err != nil {
		return usage(err, muonHelp)
	}
	a.Shapes = nil
	for _, s := range shapes {
		a.Shapes = append(a.Shapes, s.String())
	}
	if name, err := model.PresetName(a.Preset); err == nil {
		a.Preset = name // an alias is recorded under the preset's own name
	}
	if _, err := method.ByName(a.Coefficients); err != nil {
		return usage(err, muonHelp)
	}
	if err := o.rule().Validate(); err != nil {
		return usage(err, muonHelp)
	}
	if a.Reduce < 0 || a.Reduce > method.MaxSide {
		return usagef(muonHelp, "--reduce %d: a side is 1 to %d", a.Reduce, method.MaxSide)
	}
	return nil
}

// openMuon opens the device and plans the shapes. What would be emulated for minutes
// is refused: by the device, as the loopback may have a vendor's name.
func openMuon(ctx context.Context, s State, o *kernelOptions) (*kernelDevices, error) {
	a := o.asked
	shapes, few, err := chosenShapes(a)
	if err != nil {
		return nil, usage(err, muonHelp)
	}
	c, err := method.ByName(a.Coefficients)
	if err != nil {
		return nil, usage(err, muonHelp)
	}
	if a.Backend != "loopback" && a.Reduce != 0 {
		return nil, usagef("leave it out, or add --backend loopback", "--reduce is for kernels that are emulated: a GPU runs the shapes as they are")
	}
	cfg := driver.Config{
		Native: native.Options{Backend: a.Backend, Machine: driver.Machine(), Getenv: s.Getenv}, Device: a.Device, Coefficients: c, Seed: a.Seed, Reduce: a.Reduce,
		Say: func(text string) { s.note(o.quiet, "%s\n", text) },
	}
	if _, err := o.libraries.fill(ctx, s, &cfg.Native); err != nil {
		return nil, err
	}
	d, err := driver.Open(cfg)
	if errors.Is(err, driver.ErrDevice) {
		err = usage(err, muonHelp)
	}
	if err != nil {
		return nil, err
	}
	k := &kernelDevices{driver: d, devices: d.Devices(), vendor: d.VendorText()}
	if d.Emulated() {
		err = bearable(shapes, c, a.Reduce)
	}
	if err == nil {
		k.rows, k.jobs, err = d.Plan(shapes, few, o.rule())
	}
	if errors.Is(err, driver.ErrMemory) {
		err = usage(err, "give a smaller --shape, or a smaller batch of it")
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return k, nil
}

// standInSide is a longer side at which a stand-in takes seconds.
const standInSide = 192

// bearable refuses what would be emulated for minutes.
func bearable(shapes []method.Shape, c method.Coefficients, reduce int) error {
	total := 0.0
	for _, s := range shapes {
		if reduce != 0 {
			s = s.Reduced(reduce)
		}
		total += emulatedSeconds(s, c)
	}
	if total <= patience {
		return nil
	}
	return usagef(fmt.Sprintf("run it where the GPU is, add --reduce %d to check a smaller stand-in of each shape here, or give a smaller one: --shape 256x512", standInSide),
		"emulated on this machine that would take about %.0f s, and more than %.0f s are refused", total, patience)
}
