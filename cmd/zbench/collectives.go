package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/collective"
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/unit"
	"zbench/internal/native"
	"zbench/rccl"
)

// collectivesOptions is everything the collectives command was told.
type collectivesOptions struct {
	sweepOptions
	advice             adviceOptions
	names              []string
	backend, fabric    string
	nodes, gpusPerNode int
	ranksPerGPU        int
	libraries          libraryOptions
	seed               uint64
	faults             []string
	groups, strides    []int
	scales             []int
	out, format        string
	force, quiet       bool
	keepSamples        bool
	// fixedSizes adds no cases for the bucket size's sake.
	fixedSizes bool
	// resume is the folder of a sweep to go on with.
	resume string
}

func newCollectives(s State) *cobra.Command {
	var o collectivesOptions
	cmd := &cobra.Command{
		Use:   "collectives [NAME…]",
		Short: "Sweep collectives by message size: results, report and plots",
		Long: `Sweeps ` + strings.Join(collective.Default(), ", ") + `, or the collectives named,
over message sizes and leaves one folder: results.json, results.csv,
report.html, plots as PNG and SVG, bucket.json and run.json. The table goes to
standard output. "zbench list collectives" describes all collectives. Each
finished pass of a case is on disk at once, in journal.jsonl: a sweep that was
killed goes on with --resume DIR, and every command reads what it left. What a
sweep will take, in measured time and GPU-hours, is said before it begins.

With --framework, a model and the time of a microbatch it ends with the bucket
size to set, as zbench recommend gives it. Then the sweep serves the answer: it
goes on upwards while messages are larger and the curve is not saturated, and a
second pass takes the real sizes of the messages around the answer. Each round
is announced before it begins; --fixed-sizes leaves them out. --resume takes
the same flags again, for the journal does not hold them.

The one-letter flags are rccl-tests'. Sizes are total bytes, as there: for
all_gather and reduce_scatter the full buffer. They grow by a factor (-f) or by
steps (-i). -G captures a burst's launches into a graph and replays it.`,
		Example: `  zbench collectives --nodes 128
  zbench collectives all_reduce -b 1M -e 1G -d bfloat16
  zbench collectives all_gather -b 64M -e 512M -i 64M
  zbench collectives --fabric mi300x-8gpu -g 8 -G 4 --out one-process
  zbench collectives --nodes 128 --framework megatron --preset llama3-8b --step-ms 900`,
		ValidArgs: collective.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			if cmd.Flags().Changed("resume") {
				return runResume(cmd.Context(), s, cmd, o)
			}
			if f := cmd.Flags(); f.Changed("stepbytes") && f.Changed("stepfactor") {
				return usagef("-f multiplies sizes, -i adds to them", "-i and -f exclude each other")
			}
			return runCollectives(cmd.Context(), s, o)
		},
	}
	addCollectivesFlags(cmd, &o)
	return cmd
}

func addCollectivesFlags(cmd *cobra.Command, o *collectivesOptions) {
	addSweepFlags(cmd, &o.sweepOptions)
	addAdviceFlags(cmd, &o.advice)
	f := cmd.Flags()
	f.IntVar(&o.nodes, "nodes", 1, "number of nodes")
	f.IntVar(&o.gpusPerNode, "gpus-per-node", 0, "GPUs used on each node (default all)")
	f.IntVar(&o.ranksPerGPU, "ranks-per-gpu", 1, "ranks that share each GPU (NCCL 2.30, NCCL_MULTI_RANK_GPU_ENABLE=1)")
	addLibraryFlags(cmd, &o.libraries)
	f.StringVar(&o.fabric, "fabric", fabric.Default, "hardware to simulate (zbench list fabrics)")
	f.StringVar(&o.backend, "backend", "auto", "libraries underneath: auto, "+strings.Join(native.Backends(), ", "))
	f.Uint64Var(&o.seed, "seed", 1, "seed of the simulated noise and of the verification's data")
	f.StringArrayVar(&o.faults, "fault", nil, "plant a fault into the simulation (zbench list faults); may be repeated")
	f.IntSliceVar(&o.groups, "groups", nil, "also run all disjoint groups of so many GPUs of all nodes at once: 2,4,8")
	f.IntSliceVar(&o.strides, "strides", nil, "also run all groups of ranks so far apart at once, as expert or tensor parallelism leaves them: 2,8")
	f.IntSliceVar(&o.scales, "scale", nil, "also run the first so many nodes while the others wait: 1,2,4")
	f.StringVar(&o.out, "out", "", "folder to make and fill (default a new dated one)")
	f.StringVar(&o.format, "format", "table", "form of standard output: "+strings.Join(formatNames(), ", "))
	f.BoolVar(&o.force, "force", false, "write into a folder that holds files; with --resume go on though something else differs")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	f.BoolVar(&o.keepSamples, "keep-samples", false, fmt.Sprintf("leave samples.f32 above %d ranks too", samplesRanks))
	f.BoolVar(&o.fixedSizes, "fixed-sizes", false, "with a model: measure the sizes of -b, -e, -f and -i alone, none that the bucket size needs beside them")
	f.StringVar(&o.resume, "resume", "", "go on with the sweep that this folder holds, with its own options")
}

// setup is a sweep ready to run.
type setup struct {
	backend string
	machine *fabric.Machine // nil on real hardware
	fabric  *record.Fabric
	world   fabric.World
	// share is how many ranks each GPU has.
	share int
	axes  plan.Axes
	// cache is the last level of cache to rotate over, in bytes; 0 is not to.
	cache int64
	// extrapolated tells of the driver's model whether parts of it, for a case, are
	// not measured.
	extrapolated func(plan.Case) bool
}

// prepare checks every option before anything is opened or written.
func prepare(s State, o collectivesOptions) (*setup, error) {
	const help = "zbench collectives --help lists the flags"
	if err := checkFormat(o.format); err != nil {
		return nil, err
	}
	q, err := prepareAdvice(s, o.advice)
	if err != nil {
		return nil, err // before hours of measuring, not after
	}
	backend, err := o.libraries.choose(s, o.backend)
	if err != nil {
		return nil, err
	}
	f, err := fabric.ByName(o.fabric)
	if err != nil {
		return nil, usage(err, "zbench list fabrics describes them")
	}
	u := &setup{backend: backend, share: 1, world: fabric.World{Nodes: o.nodes, GPUsPerNode: o.gpusPerNode, GPUsPerProcess: o.gpusPerProcess}}
	if backend == "loopback" {
		if o.ranksPerGPU != 1 {
			return nil, usagef("leave it out", "--ranks-per-gpu is for real GPUs")
		}
		if u.world.GPUsPerNode == 0 {
			u.world.GPUsPerNode = f.Node.GPUs
		}
		o.strides = withExperts(o, q, u.world)
		if u.machine, err = f.Resolve(u.world, fabric.Options{Seed: o.seed, Faults: o.faults, Groups: o.groups, Strides: o.strides, Scales: o.scales}); err != nil {
			return nil, usage(err, help)
		}
		u.fabric = f.Describe(u.machine)
	} else {
		if err := u.oneProcess(o); err != nil {
			return nil, err
		}
		o.strides = withExperts(o, q, u.world)
	}
	if caches[o.cache] {
		u.cache = f.Node.CacheBytes
	}
	if u.axes, err = o.axes(o, u.world, u.share); err != nil {
		return nil, usage(err, help)
	}
	if err := u.checkExperts(q); err != nil {
		return nil, err
	}
	return u, u.foresee(q)
}

// oneProcess fits the world to a real backend, where this process is the only
// one: as many ranks as it drives GPUs, as rccl-tests' -g has it.
func (u *setup) oneProcess(o collectivesOptions) error {
	if len(o.faults) > 0 {
		return usagef("give --backend loopback", "--fault is for simulations; real faults are looked for")
	}
	if o.nodes != 1 || o.gpusPerProcess < 1 || (o.gpusPerNode != 0 && o.gpusPerNode != o.gpusPerProcess) {
		return usagef("give -g the number of this machine's GPUs, or simulate with --backend loopback",
			"--backend %s drives the GPUs of this one process: --nodes must be 1 and -g the number of GPUs", u.backend)
	}
	if o.ranksPerGPU < 1 {
		return usagef("give 1 or more", "--ranks-per-gpu %d: a GPU has at least one rank", o.ranksPerGPU)
	}
	u.world = fabric.World{Nodes: 1, GPUsPerNode: o.gpusPerProcess, GPUsPerProcess: o.gpusPerProcess}
	u.share = o.ranksPerGPU
	return nil
}

func runCollectives(ctx context.Context, s State, o collectivesOptions) error {
	u, err := prepare(s, o)
	if err != nil {
		return err
	}
	when, err := created(s)
	if err != nil {
		return err
	}
	dir, err := newFolder(s, o.out, "collectives", o.force)
	if err != nil {
		return err
	}
	return u.sweep(ctx, s, o, dir, nil, when)
}

// cases lists the sweep and marks what does not fit or is extrapolated.
func (u *setup) cases(d plan.Process) ([]plan.Case, error) {
	room, err := d.Budget()
	if err != nil {
		return nil, err
	}
	cases := u.axes.Cases()
	plan.Fit(cases, room)
	for i := range cases {
		u.mark(&cases[i])
	}
	return cases, nil
}

// mark says of a case whether its model has parts that are not measured. Before a
// driver is open, when it is only asked what is missing, nothing is known of that.
func (u *setup) mark(c *plan.Case) {
	c.Extrapolated = u.extrapolated != nil && u.extrapolated(*c)
}

// record is everything that is known before the first result.
func (u *setup) record(d *rccl.Driver, o collectivesOptions) *record.Record {
	rec := &record.Record{
		Schema: record.Schema, Tool: tool(), Benchmark: record.Collectives, Simulated: d.Simulated(), Fabric: u.fabric,
		Source:   record.Source{Kind: record.Measured, Backend: u.backend, Clock: "monotonic"},
		World:    record.World{Nodes: u.world.Nodes, Ranks: u.world.Ranks() * u.share, GPUsPerNode: u.world.GPUsPerNode, GPUsPerProcess: u.world.GPUsPerProcess},
		Sweep:    o.record(u.axes, o.seed),
		Warnings: []record.Warning{},
	}
	if d.Simulated() {
		rec.Source.Kind, rec.Source.Clock = record.Simulated, "virtual"
	}
	if u.machine != nil {
		rec.World.GPU = u.machine.GPU
	} else {
		u.describe(rec, d.Devices())
	}
	for _, l := range d.Libraries() {
		rec.Source.Libraries = append(rec.Source.Libraries, record.Library{Name: l.Name, Version: l.Version, Path: l.Path})
	}
	rec.Sweep.Faults = o.faults
	return rec
}

// verdict is the exit code a record earns.
func verdict(rec *record.Record, dir string) error {
	count, partly := map[record.Status]int{}, 0
	for _, r := range rec.Results {
		count[r.Status]++
		if r.Status == record.Interrupted && r.Burst != nil {
			partly++
		}
	}
	switch {
	case count[record.Interrupted] > 0:
		return &codeError{exitInterrupted, fmt.Errorf("interrupted: %d of %d cases finished, %d more have 1 of %d passes; all of it is saved", count[record.OK], len(rec.Results), partly, record.Passes), "go on with: zbench collectives --resume " + dir}
	case count[record.WrongData] > 0:
		return &codeError{exitWrongData, fmt.Errorf("%d cases have wrong data", count[record.WrongData]), "the report names them"}
	case count[record.OK] == 0 && count[record.Failed] == 0:
		return &codeError{exitRun, errors.New("nothing was measured: every case was skipped"), "the table says why; choose other sizes (-b, -e) or fewer ranks"}
	}
	return failed(rec, dir)
}

// failed is the first failed case as an error, nil when there is none.
func failed(rec *record.Record, dir string) error {
	for _, r := range rec.Results {
		if r.Status == record.Failed {
			return &codeError{exitRun, fmt.Errorf("%s at %s failed: %s", r.Collective, unit.Bytes(r.BytesRequested), r.Reason), "what finished before it is saved; what came after it: zbench collectives --resume " + dir}
		}
	}
	return nil
}
