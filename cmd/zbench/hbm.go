package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/unit"
	"zbench/hbm"
)

// dataKinds are what arrays can hold.
var dataKinds = []string{"random", "zeros"}

// sweepFrom is the smallest array of a sweep in bytes, sweepKernels what it runs
// where no kernel is named.
const sweepFrom = 256 << 10

var sweepKernels = []string{"read", "copy", "triad"}

func newHBM(s State) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hbm",
		Short: "Memory bandwidth of a GPU; without one, of this host's memory",
		Long: `Measures ` + strings.Join(hbm.StreamNames(), ", ") + ` over arrays that no cache
holds, each in a fixed configuration that compares with BabelStream and in
zbench's own, checks every element on the device, and leaves one folder:
results.json, results.csv, report.html, journal.jsonl and run.json. Each case
has two passes, each written to disk at once: --resume DIR continues an
interrupted run.

Bandwidths count every array of a kernel once, as STREAM does. Without a GPU
the host's memory is measured, on all CPUs and the wall clock: a real figure,
labelled host memory.`,
		Example: `  zbench hbm
  zbench hbm --kernels copy,triad --dtype float64 --size 1G
  zbench hbm --sweep --tune --all-gpus`,
		Args: noArgs,
	}
	kernelBenches[0].add(cmd, s)
	return cmd
}

// streamPlan is what hbm will run.
type streamPlan struct {
	streams []hbm.Stream
	types   []hbm.Type
	size    int64
	zeros   bool
}

// streamsOf are the streams and types that were asked for, by their own names.
func streamsOf(k *spec.Kernels) streamPlan {
	p := streamPlan{size: k.Size, zeros: k.Data == "zeros"}
	if len(k.Streams) == 0 {
		k.Streams = hbm.StreamNames()
	}
	for _, name := range k.Streams {
		if st, ok := hbm.StreamByName(name); ok {
			p.streams = append(p.streams, st)
		}
	}
	for _, name := range k.Dtypes {
		if t, ok := hbm.TypeByName(name); ok {
			p.types = append(p.types, t)
		}
	}
	return p
}

// fit chooses the size where none was given, and refuses one that three arrays
// of do not fit.
func (p *streamPlan) fit(d *hbm.Driver) error {
	free, err := d.Free()
	if err != nil {
		return err
	}
	dev := d.Devices()[0]
	most := (free - free/10) / 3
	if p.size == 0 {
		// off a power of two, which some memories like less than others
		p.size = 4*max(dev.Cache, 16<<20) + 768<<10
		if dev.Kind == record.GPU {
			p.size = max(p.size, 1<<30+768<<10)
		}
		p.size = min(p.size, most)
	}
	if p.size > most {
		return usagef("choose a smaller --size", "--size %s: three arrays need %s, and device %d (%s) has %s free",
			unit.Bytes(p.size), unit.Bytes(3*p.size), dev.Index, dev.Name, unit.Bytes(free))
	}
	return nil
}

// cases lists what is known beforehand: each kernel in two configurations, then
// the sweep and the points of the tuning.
func (p streamPlan) cases(k *spec.Kernels, d *hbm.Driver) []hbm.Case {
	backend := d.Backend()
	var out []hbm.Case
	for _, t := range p.types {
		for _, s := range p.streams {
			for _, role := range []string{record.Reference, record.Preset} {
				out = append(out, hbm.NewCase(backend, s, t, role, p.size, p.zeros))
			}
		}
	}
	for _, s := range p.streams {
		if !k.Sweep || len(p.streams) == len(hbm.Streams()) && !slices.Contains(sweepKernels, s.Name) {
			continue
		}
		for size := int64(sweepFrom); size < p.size; size *= 2 {
			out = append(out, hbm.NewCase(backend, s, p.types[0], record.SizeSweep, size, p.zeros))
		}
		out = append(out, hbm.NewCase(backend, s, p.types[0], record.SizeSweep, p.size, p.zeros))
	}
	if k.Tune {
		out = append(out, p.tuning(d)...)
	}
	return out
}

// tuning lists the configurations of each kernel.
func (p streamPlan) tuning(d *hbm.Driver) []hbm.Case {
	var out []hbm.Case
	for _, t := range p.types {
		for _, st := range p.streams {
			for _, config := range hbm.TuneConfigs(d.Devices()[0].Kind != record.GPU) {
				c := hbm.NewCase(d.Backend(), st, t, record.Tune, p.size, p.zeros)
				c.Config = config
				out = append(out, c)
			}
		}
	}
	return out
}

// openHBM opens the devices and plans the streams.
func openHBM(ctx context.Context, s State, o *kernelOptions) (*engine.Kernels, error) {
	want := o.want.Kernels
	p := streamsOf(want)
	if len(p.types) == 0 {
		return nil, usagef(flagsHelp(spec.HBM), "--dtype is empty: valid are %s", strings.Join(hbm.TypeNames(), ", "))
	}
	d, err := o.openMemory(ctx, s)
	if err != nil {
		return nil, err
	}
	if err = p.fit(d); err == nil {
		err = d.Allocate(p.size)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	want.Size = p.size
	k := &engine.Kernels{Driver: d, Spec: o.want, Facts: o.facts(s, d.Devices(), d.Libraries())}
	short := o.rule() // for the points of the tuning
	short.MaxTime, short.MinSamples = min(short.MaxTime, 0.1), 6
	for _, c := range p.cases(want, d) {
		rule := o.rule()
		if c.Role == record.Tune {
			rule = short
		}
		k.Rows, k.Jobs = append(k.Rows, d.Planned(c)...), append(k.Jobs, d.Job(c, rule))
	}
	if want.Tune {
		k.More = func(rec *record.Record) (rows []record.Kernel, jobs []plan.Job) {
			for _, c := range p.best(d, rec) {
				rows, jobs = append(rows, d.Planned(c)...), append(jobs, d.Job(c, o.rule()))
			}
			return rows, jobs
		}
	}
	return k, nil
}

// best are the fastest configurations of each kernel, by the slowest of the devices;
// they are measured as long as the others.
func (p streamPlan) best(d *hbm.Driver, rec *record.Record) []hbm.Case {
	rates := map[string]float64{}
	for _, k := range rec.Kernels {
		rate := 0.0
		if k.Metrics.Rate != nil {
			rate = *k.Metrics.Rate
		}
		if least, known := rates[k.Case()]; !known || rate < least {
			rates[k.Case()] = rate
		}
	}
	var out []hbm.Case
	for of := range slices.Chunk(p.tuning(d), len(hbm.TuneConfigs(d.Devices()[0].Kind != record.GPU))) {
		c := slices.MaxFunc(of, func(a, b hbm.Case) int { return cmp.Compare(rates[a.Key()], rates[b.Key()]) })
		if rates[c.Key()] > 0 {
			c.Role = record.Best
			out = append(out, c)
		}
	}
	return out
}
