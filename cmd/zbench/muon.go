package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/model"
	method "zbench/bench/muon"
	"zbench/bench/stat"
	driver "zbench/hbm/muon"
	"zbench/internal/native"
	"zbench/report"
)

// muonOptions is everything that kernels muon was told.
type muonOptions struct {
	preset, coefficients string
	shapes               []string
	backend, format, out string
	device, reduce       int
	force, quiet         bool
	seed                 uint64
	precision, maxTime   float64
	libraries            libraryOptions
}

func newMuon(s State) *cobra.Command {
	var o muonOptions
	cmd := &cobra.Command{
		Use:   "muon",
		Short: "The Muon step: products, Newton–Schulz, passes over memory",
		Long: `Times a Muon step on one GPU, product by product, for a model's weight matrices
or a shape, against our own kernel without symmetry and the vendor's product,
and holds the results against float64. docs/METHOD.md says what is counted.

Without a GPU the kernels are emulated: results are checked, no rates are
shown, and what would take minutes is refused; --reduce checks a smaller
stand-in of each shape instead. The results are left in a folder, as a page and
as JSON and CSV.`,
		Example: `  zbench kernels muon --preset moonlight-16b
  zbench kernels muon --shape 2048x4096x16 --coefficients polar-express
  zbench kernels muon --shape 256x512                  seconds without a GPU
  zbench kernels muon --preset zaya1-base --reduce 192 a stand-in of each shape, too`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMuon(cmd.Context(), s, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.preset, "preset", "", "a model's matrices: "+strings.Join(model.PresetNames(), ", "))
	f.StringArrayVar(&o.shapes, "shape", nil, "matrices to step, as MxN or MxNxBATCH; may be repeated")
	f.StringVar(&o.coefficients, "coefficients", method.Sets()[0].Name, "of Newton–Schulz: "+strings.Join(setNames(), ", "))
	f.StringVar(&o.backend, "backend", "auto", "libraries underneath: auto, "+strings.Join(native.Backends(), ", "))
	f.IntVar(&o.device, "device", 0, "the device's index")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the matrices")
	f.Float64Var(&o.precision, "precision", 0.01, "a timing ends when half the median's interval is within this share of it")
	f.Float64Var(&o.maxTime, "max-time", 0.4, "or after so many seconds")
	f.IntVar(&o.reduce, "reduce", 0, "without a GPU: check each shape with its longer side brought to at most this, batches to 2")
	f.StringVar(&o.out, "out", "", "folder to make and fill (default a new dated one)")
	f.BoolVar(&o.force, "force", false, "write into a folder that holds files")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	muonDocument.flag(f, &o.format)
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

// settings checks what was told and what follows from it.
func (o muonOptions) settings() (shapes []method.Shape, c method.Coefficients, rule stat.Rule, err error) {
	if shapes, err = o.chosen(); err != nil {
		return nil, c, rule, err
	}
	if c, err = method.ByName(o.coefficients); err != nil {
		return nil, c, rule, err
	}
	rule = stat.DefaultRule()
	rule.Precision, rule.MaxTime, rule.MinSamples = o.precision, o.maxTime, 20
	if err = rule.Validate(); err != nil {
		return nil, c, rule, err
	}
	if o.reduce < 0 || o.reduce > method.MaxSide {
		err = fmt.Errorf("--reduce %d: a side is 1 to %d", o.reduce, method.MaxSide)
	}
	return shapes, c, rule, err
}

const muonHelp = "zbench kernels muon --help lists the flags"

func runMuon(ctx context.Context, s State, o muonOptions) error {
	if err := muonDocument.check(o.format, muonHelp); err != nil {
		return err
	}
	shapes, c, rule, err := o.settings()
	if err != nil {
		return usage(err, muonHelp)
	}
	if name, err := model.PresetName(o.preset); err == nil {
		o.preset = name // an alias is recorded under the preset's own name
	}
	backend, err := o.libraries.choose(s, o.backend)
	if err != nil {
		return err
	}
	if backend != "loopback" && o.reduce != 0 {
		return usagef("leave it out, or add --backend loopback", "--reduce is for kernels that are emulated: a GPU runs the shapes as they are")
	}
	cfg := driver.Config{
		Native: native.Options{Backend: backend, Machine: driver.Machine(), Getenv: s.Getenv}, Device: o.device, Coefficients: c, Seed: o.seed, Reduce: o.reduce,
	}
	if _, err := o.libraries.fill(ctx, s, &cfg.Native); err != nil {
		return err
	}
	return o.measure(ctx, s, cfg, shapes, rule)
}

// openMuon opens the device, and refuses what would be emulated for minutes: by
// the device, as the loopback may have a vendor's name.
func (o muonOptions) openMuon(cfg driver.Config, shapes []method.Shape) (*driver.Driver, error) {
	d, err := driver.Open(cfg)
	if errors.Is(err, driver.ErrDevice) {
		return nil, usage(err, muonHelp)
	}
	if err == nil && d.Emulated() {
		if err = o.bearable(shapes, cfg.Coefficients); err != nil {
			err = errors.Join(err, d.Close())
		}
	}
	return d, err
}

// measure leaves what the shapes gave in a folder, shape after shape.
func (o muonOptions) measure(ctx context.Context, s State, cfg driver.Config, shapes []method.Shape, rule stat.Rule) error {
	started := s.Now()
	when, err := created(s)
	if err != nil {
		return err
	}
	d, err := o.openMuon(cfg, shapes)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, d.Cancel)
	defer stop()
	dir, err := engine.NewFolder(s.host(o.quiet), o.out, "muon", o.force)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	say := func(text string) { s.note(o.quiet, "%s\n", text) }
	keep := func(r *method.Report) error {
		r.Tool, r.Created = tool(), when
		return dir.Write(engine.ResultsFile, func(w io.Writer) error { return method.Encode(w, r) })
	}
	r, err := d.Report(shapes, o.preset, rule, say, keep)
	err = errors.Join(err, d.Close())
	if r.Done == 0 {
		dir.Abandon()
	}
	switch {
	case errors.Is(err, native.ErrCancelled):
		return muonInterrupted(r, dir)
	case errors.Is(err, driver.ErrMemory):
		return usage(err, "give a smaller --shape, or a smaller batch of it")
	case err != nil:
		return err
	}
	return o.finish(s, dir, r, started)
}

// muonInterrupted says what was saved: results.json after each shape.
func muonInterrupted(r *method.Report, dir *engine.Folder) error {
	next := "run it again"
	if r.Done > 0 {
		next = "zbench report " + dir.Path + " draws them; run it again for the rest"
	}
	return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %d of %d shapes finished and are saved", r.Done, len(r.Asked)), next)
}

// finish draws the report, prints it and gives its verdict.
func (o muonOptions) finish(s State, dir *engine.Folder, r *method.Report, started time.Time) error {
	if err := drawMuon(dir, r, "zbench "+strings.Join(s.Args, " ")); err != nil {
		return err
	}
	if err := writeRun(dir, s, started); err != nil {
		return err
	}
	if _, err := muonDocument.print(s, o.format, r); err != nil {
		return err
	}
	s.note(o.quiet, "Wrote %s (report.html, results.json, results.csv)\n", dir.Path)
	return muonVerdict(r)
}

// drawMuon writes what can be made again of a report.
func drawMuon(dir *engine.Folder, r *method.Report, command string) error {
	if err := dir.Write("results.csv", func(w io.Writer) error { return muonCSV(w, r) }); err != nil {
		return err
	}
	return dir.Write("report.html", func(w io.Writer) error { return report.WriteHTML(w, report.Muon(r, command)) })
}

// standInSide is a longer side at which a stand-in takes seconds.
const standInSide = 192

// bearable refuses what would be emulated for minutes.
func (o muonOptions) bearable(shapes []method.Shape, c method.Coefficients) error {
	total := 0.0
	for _, s := range shapes {
		if o.reduce != 0 {
			s = s.Reduced(o.reduce)
		}
		total += emulatedSeconds(s, c)
	}
	if total <= patience {
		return nil
	}
	return usagef(fmt.Sprintf("run it where the GPU is, add --reduce %d to check a smaller stand-in of each shape here, or give a smaller one: --shape 256x512", standInSide),
		"emulated on this machine that would take about %.0f s, and more than %.0f s are refused", total, patience)
}

// muonVerdict is the exit code that the checks earn.
func muonVerdict(r *method.Report) error {
	for _, c := range r.Checks {
		if !c.OK() {
			return exit.With(exit.WrongData, fmt.Errorf("wrong data: %s of %s: %s", c.What, c.Shape, errorText(c)), "the table has every check")
		}
	}
	return nil
}

func errorText(c method.Check) string {
	return fmt.Sprintf("%.3g in all (bar %.3g), %.3g at the most (bar %.3g)", c.Found.Frobenius, c.Bar.Frobenius, c.Found.Max, c.Bar.Max)
}
