package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/memory"
	"zbench/bench/stat"
	"zbench/bench/unit"
	"zbench/hbm"
)

// hbmOptions is everything the hbm command was told.
type hbmOptions struct {
	memoryOptions
	size        string
	sweep, tune bool
	kernels     []string
	dtypes      []string
	data        string
}

// dataKinds are what arrays can hold.
var dataKinds = []string{"random", "zeros"}

// sweepFrom is the smallest array of a sweep in bytes, sweepKernels what it runs
// where no kernel is named.
const sweepFrom = 256 << 10

var sweepKernels = []string{"read", "copy", "triad"}

func newHBM(s State) *cobra.Command {
	var o hbmOptions
	cmd := &cobra.Command{
		Use:   "hbm",
		Short: "Memory bandwidth of a GPU; without one, of this host's memory",
		Long: `Measures ` + strings.Join(hbm.StreamNames(), ", ") + ` over arrays that no cache
holds, each in a fixed configuration that compares with BabelStream and in
zbench's own, checks every element on the device, and leaves one folder:
results.json, results.csv, report.html, journal.jsonl and run.json.

Bandwidths count every array of a kernel once, as STREAM does. Without a GPU
the host's memory is measured, on all CPUs and the wall clock: a real figure,
labelled host memory.`,
		Example: `  zbench hbm
  zbench hbm --kernels copy,triad --dtype float64 --size 1G
  zbench hbm --sweep --tune --all-gpus`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHBM(cmd.Context(), s, o) },
	}
	addMemoryFlags(cmd, &o.memoryOptions)
	f := cmd.Flags()
	f.StringVar(&o.size, "size", "", "size of one array (default four times the last level of cache, on a GPU 1 GiB at the least)")
	f.BoolVar(&o.sweep, "sweep", false, "also run every size from 256 KiB up: shows the levels of cache, and marks sizes that a launch decides")
	f.BoolVar(&o.tune, "tune", false, "try up to 16 configurations of each kernel and measure the best")
	f.StringSliceVar(&o.kernels, "kernels", nil, "streams to run: "+strings.Join(hbm.StreamNames(), ", ")+" (default all)")
	f.StringSliceVar(&o.dtypes, "dtype", hbm.TypeNames(), "element types: "+strings.Join(hbm.TypeNames(), ", "))
	f.StringVar(&o.data, "data", "random", "what the arrays hold: "+strings.Join(dataKinds, ", ")+"; zeros let some GPUs clock higher")
	return cmd
}

// streamPlan is what hbm will run.
type streamPlan struct {
	streams []hbm.Stream
	types   []hbm.Type
	size    int64
	zeros   bool
}

const hbmHelp = "zbench hbm --help lists the flags"

// plan checks the options that need no device.
func (o hbmOptions) plan() (p streamPlan, err error) {
	if !slices.Contains(dataKinds, o.data) {
		return p, usagef(hbmHelp, "unknown --data %q: valid are %s", o.data, strings.Join(dataKinds, ", "))
	}
	p.zeros = o.data == "zeros"
	names := o.kernels
	if len(names) == 0 {
		names = hbm.StreamNames()
	}
	for _, name := range names {
		st, ok := hbm.StreamByName(name)
		if !ok {
			return p, usagef(hbmHelp, "unknown kernel %q: valid are %s", name, strings.Join(hbm.StreamNames(), ", "))
		}
		if !slices.Contains(p.streams, st) {
			p.streams = append(p.streams, st)
		}
	}
	for _, name := range o.dtypes {
		t, ok := hbm.TypeByName(name)
		if !ok {
			return p, usagef(hbmHelp, "unknown --dtype %q: valid are %s", name, strings.Join(hbm.TypeNames(), ", "))
		}
		if !slices.Contains(p.types, t) {
			p.types = append(p.types, t)
		}
	}
	if len(p.types) == 0 {
		return p, usagef(hbmHelp, "--dtype is empty: valid are %s", strings.Join(hbm.TypeNames(), ", "))
	}
	if o.size != "" {
		if p.size, err = unit.ParseBytes(o.size); err != nil {
			return p, usage(fmt.Errorf("--size: %w", err), "give a size as 1G or 256M")
		}
		if p.size < 16 {
			return p, usagef("give a size as 1G or 256M", "--size %s: an array has at least 16 B", o.size)
		}
	}
	return p, nil
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
		if dev.Kind == memory.GPU {
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
// the sweep.
func (o hbmOptions) cases(p streamPlan, backend string) []hbm.Case {
	var out []hbm.Case
	for _, t := range p.types {
		for _, s := range p.streams {
			for _, role := range []string{memory.Reference, memory.Preset} {
				out = append(out, hbm.NewCase(backend, s, t, role, p.size, p.zeros))
			}
		}
	}
	if !o.sweep {
		return out
	}
	for _, s := range p.streams {
		if len(o.kernels) == 0 && !slices.Contains(sweepKernels, s.Name) {
			continue
		}
		for size := int64(sweepFrom); size < p.size; size *= 2 {
			out = append(out, hbm.NewCase(backend, s, p.types[0], memory.Sweep, size, p.zeros))
		}
		out = append(out, hbm.NewCase(backend, s, p.types[0], memory.Sweep, p.size, p.zeros))
	}
	return out
}

func runHBM(ctx context.Context, s State, o hbmOptions) error {
	p, err := o.plan()
	if err != nil {
		return err
	}
	m, err := o.open(ctx, s, "hbm", hbmHelp, true)
	if err != nil {
		return err
	}
	defer m.close()
	if err := p.fit(m.driver); err != nil {
		return err
	}
	if err := m.driver.Allocate(p.size); err != nil {
		return err
	}
	cases := o.cases(p, m.driver.Backend())
	m.rec.Asked = memory.Asked{Sizes: []int64{p.size}, Data: o.data, Precision: o.precision, MaxTime: o.maxTime, Seed: o.seed, Faults: o.faults}
	for _, st := range p.streams {
		m.rec.Asked.Kernels = append(m.rec.Asked.Kernels, st.Name)
	}
	for _, t := range p.types {
		m.rec.Asked.Dtypes = append(m.rec.Asked.Dtypes, t.Name)
	}
	for _, c := range cases {
		m.rec.Results = append(m.rec.Results, m.driver.Planned(c)...)
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	for _, c := range cases {
		if err := m.run(c.Key(), func() ([]memory.Result, error) { return m.driver.Measure(c, o.rule()) }); err != nil {
			return err
		}
	}
	if o.tune {
		if err := o.tuned(m, p); err != nil {
			return err
		}
	}
	return m.finish()
}

// tuned tries the configurations of each kernel for a short time and measures
// the best of them, by the least of the devices, as long as the others.
func (o hbmOptions) tuned(m *memoryRun, p streamPlan) error {
	short := o.rule()
	short.MaxTime, short.MinSamples = min(short.MaxTime, 0.1), 6
	host := m.driver.Devices()[0].Kind != memory.GPU
	for _, t := range p.types {
		for _, st := range p.streams {
			best, most := hbm.Case{}, 0.0
			for _, config := range hbm.TuneConfigs(host) {
				c := hbm.NewCase(m.driver.Backend(), st, t, memory.Tune, p.size, p.zeros)
				c.Config = config
				var results []memory.Result
				err := m.run(c.Key(), func() (r []memory.Result, err error) {
					results, err = m.driver.Measure(c, short)
					return results, err
				})
				if err != nil {
					return err
				}
				if rate := slowest(results); rate > most {
					best, most = c, rate
				}
			}
			if most == 0 {
				continue
			}
			best.Role = memory.Best
			if err := m.run(best.Key(), func() ([]memory.Result, error) { return m.driver.Measure(best, o.rule()) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// slowest is the least rate of the results, 0 where one has none.
func slowest(results []memory.Result) float64 {
	least := 0.0
	for i, r := range results {
		if r.Rate == nil {
			return 0
		}
		if i == 0 || *r.Rate < least {
			least = *r.Rate
		}
	}
	return least
}

// rule is the stopping rule that was asked for.
func (o memoryOptions) rule() stat.Rule {
	r := stat.DefaultRule()
	r.Precision, r.MaxTime, r.MinSamples = o.precision, o.maxTime, 20
	return r
}
