package hbm

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/base/stat"
	units "zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// sweepFrom is the smallest array of a sweep in bytes; sweepKernels are the streams that a sweep
// measures by default.
const sweepFrom = 256 << 10

var sweepKernels = []string{"read", "copy", "triad"}

// streamPlan is a checked request of hbm.
type streamPlan struct {
	streams []Stream
	types   []Type
	size    int64
	zeros   bool
}

// streamsOf returns the plan of a checked request.
func streamsOf(k *spec.Kernels) streamPlan {
	p := streamPlan{size: k.Size, zeros: k.Data == "zeros"}
	for _, name := range k.Streams {
		st, _ := StreamByName(name)
		p.streams = append(p.streams, st)
	}
	for _, name := range k.Dtypes {
		t, _ := TypeByName(name)
		p.types = append(p.types, t)
	}
	return p
}

// planStreams plans each stream in all of its roles.
func (d *Driver) planStreams(k *spec.Kernels, rule stat.Rule) (*engine.Kernels, error) {
	if len(k.Streams) == 0 {
		k.Streams = StreamNames()
	}
	p, out := streamsOf(k), &engine.Kernels{}
	if err := p.fit(d); err != nil {
		return nil, err
	}
	k.Size = p.size
	short := rule // the rule for the configurations of a tuning
	short.MaxTime, short.MinSamples = min(short.MaxTime, 0.1), 6
	for _, c := range p.cases(k, d) {
		if c.Role == record.Tune {
			d.add(out, c, short)
		} else {
			d.add(out, c, rule)
		}
	}
	if k.Tune {
		out.More = func(rec *record.Record) ([]record.Kernel, []plan.Job) {
			var more engine.Kernels
			for _, c := range p.best(d, rec) {
				d.add(&more, c, rule)
			}
			return more.Rows, more.Jobs
		}
	}
	return out, d.Allocate(p.size)
}

// fit() chooses the array size if none was given. It refuses a size if three such arrays do not fit
// into the memory.
func (p *streamPlan) fit(d *Driver) error {
	free, err := d.Free()
	if err != nil {
		return err
	}
	dev := d.Devices()[0]
	most := (free - free/10) / 3
	if p.size == 0 {
		p.size = min(defaultSize(dev), most)
	}
	if p.size > most {
		return fmt.Errorf("%w: size %s: three arrays need %s, and device %d (%s) has %s free",
			ErrRequest, units.Bytes(p.size), units.Bytes(3*p.size), dev.Index, dev.Name, units.Bytes(free))
	}
	return nil
}

// defaultSize returns an array size in bytes that no cache holds. Memory-side caches keep data
// between passes, so four times their size still gives hits: on a GPU an array is 16 times as large
// as the last-level cache. The size is not a power of two, which some memories handle worse.
func defaultSize(dev record.Device) int64 {
	size := 4 * max(dev.Cache, 16<<20)
	if dev.Kind == record.GPU {
		size = max(4*size, 1<<30)
	}
	return size + 768<<10
}

// cases lists the cases that are known before the run: each stream in two configurations, the
// sweep, and the configurations to tune.
func (p streamPlan) cases(k *spec.Kernels, d *Driver) []Case {
	backend := d.Backend()
	var out []Case
	for _, t := range p.types {
		for _, s := range p.streams {
			for _, role := range []string{record.Reference, record.Preset} {
				out = append(out, NewCase(backend, s, t, role, p.size, p.zeros))
			}
		}
	}
	for _, s := range p.streams {
		if !k.Sweep || len(p.streams) == len(Streams()) && !slices.Contains(sweepKernels, s.Name) {
			continue
		}
		for size := int64(sweepFrom); size < p.size; size *= 2 {
			out = append(out, NewCase(backend, s, p.types[0], record.SizeSweep, size, p.zeros))
		}
		out = append(out, NewCase(backend, s, p.types[0], record.SizeSweep, p.size, p.zeros))
	}
	if k.Tune {
		out = append(out, p.tuning(d)...)
	}
	return out
}

// tuning lists the cases that try each configuration of each stream.
func (p streamPlan) tuning(d *Driver) []Case {
	var out []Case
	for _, t := range p.types {
		for _, st := range p.streams {
			for _, config := range TuneConfigs(d.Devices()[0].Kind != record.GPU) {
				c := NewCase(d.Backend(), st, t, record.Tune, p.size, p.zeros)
				c.Config = config
				out = append(out, c)
			}
		}
	}
	return out
}

// best() returns the fastest tuned configurations of each stream, compared by the slowest device.
// They are then measured as long as the other cases.
func (p streamPlan) best(d *Driver, rec *record.Record) []Case {
	rates := map[string]float64{}
	for _, k := range rec.Kernels {
		rate := 0.0
		if k.Metrics.Rate != nil {
			rate = *k.Metrics.Rate
		}
		if least, known := rates[k.Job()]; !known || rate < least {
			rates[k.Job()] = rate
		}
	}
	var out []Case
	for of := range slices.Chunk(p.tuning(d), len(TuneConfigs(d.Devices()[0].Kind != record.GPU))) {
		c := slices.MaxFunc(of, func(a, b Case) int { return cmp.Compare(rates[a.Key()], rates[b.Key()]) })
		if rates[c.Key()] > 0 {
			c.Role = record.Best
			out = append(out, c)
		}
	}
	return out
}
