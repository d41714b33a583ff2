package hbm

import (
	"context"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// kernelCase is a kernel at one shape. The record has one row per case and device.
type kernelCase interface {
	// Key returns the name of the case, without the device.
	Key() string
	// row returns the facts known before the case runs, without key, device and status.
	row(u *unit) record.Kernel
	// steps returns the launches on a device.
	steps(d *Driver, u *unit) ([]native.Step, error)
	// fill makes the inputs, and fills the outputs with NaN.
	fill(d *Driver, u *unit, steps []native.Step) error
	// verify checks the result of the last launch.
	verify(d *Driver, u *unit, steps []native.Step) (record.Verified, error)
}

// Planned returns a case's rows before it runs, one per device.
func (d *Driver) Planned(c kernelCase) []record.Kernel {
	return slice.Map(d.units, func(u *unit) record.Kernel { return PlannedRow(c.row(u), c.Key(), u.info.Index) })
}

// PlannedRow completes the row of a case that has not run: its key, from the name of the case and
// the device, and its status.
func PlannedRow(k record.Kernel, of string, device int) record.Kernel {
	k.Key, k.Device = record.KernelKey(of, device), device
	k.Status, k.Reason = record.Interrupted, "the run ended before it"
	k.Verified, k.Warnings = record.Verified{State: record.NotVerified, Reason: "not run"}, []record.Warning{}
	return k
}

// Job measures a case on all devices at once. Each pass fills the inputs and samples until its
// share of the rule is satisfied. The first pass also checks the result of the timed launches.
// Emulated kernels are launched once and checked, not timed.
func (d *Driver) Job(c kernelCase, rule stat.Rule) plan.Job {
	keys := slice.Map(d.Planned(c), func(k record.Kernel) string { return k.Key })
	return KernelJob(d.p, keys, func(pass int) ([]record.Part, error) { return d.take(c, plan.PerPass(rule), pass) })
}

// KernelJob returns a job. All of its rows fail if `take` fails. `take` returns one part per key,
// in the order of the keys. It may leave the keys of the parts empty. The loopback's noise depends
// on the keys and the pass alone, so that a resumed run has the figures of an uninterrupted one.
func KernelJob(p *native.Provider, keys []string, take func(pass int) ([]record.Part, error)) plan.Job {
	return plan.Job{Keys: keys, Take: func(ctx context.Context, pass int) ([]record.Part, bool) {
		p.BeginCase(plan.CaseSeed(keys[0], pass))
		parts, err := take(pass)
		if err != nil {
			parts = slices.Repeat([]record.Part{{Status: record.Failed, Reason: err.Error()}}, len(keys))
		}
		for i := range parts {
			parts[i].Key, parts[i].Pass = keys[i], pass
		}
		return parts, err == nil || ctx.Err() == nil
	}}
}

// take runs one pass of a case.
func (d *Driver) take(c kernelCase, rule stat.Rule, pass int) ([]record.Part, error) {
	steps := make([][]native.Step, len(d.units))
	for i, u := range d.units {
		var err error
		if steps[i], err = c.steps(d, u); err != nil {
			return nil, err
		}
	}
	launches, err := d.launchSeconds(c)
	if err != nil {
		return nil, err
	}
	for i, u := range d.units {
		if err := c.fill(d, u, steps[i]); err != nil {
			return nil, err
		}
	}
	if err := d.timer.Load(steps); err != nil {
		return nil, err
	}
	parts := make([]record.Part, len(d.units))
	samples, err := d.samples(rule)
	if err != nil {
		return nil, err
	}
	for i, u := range d.units {
		parts[i].Status = record.OK
		if samples != nil {
			parts[i].Kernel = &samples[i]
		}
		if launches != nil && launches[i] > 0 {
			parts[i].Kernel.Launch = &launches[i]
		}
		if pass > 0 {
			continue
		}
		v := NotAsked
		if !d.cfg.Unchecked {
			if v, err = c.verify(d, u, steps[i]); err != nil {
				return nil, err
			}
		}
		if parts[i].Verified = &v; v.State == record.VerifiedWrong {
			parts[i].Status, parts[i].Reason = record.WrongData, wrongText(v)
		}
	}
	return parts, nil
}

// NotAsked is the result of a row that the request leaves unverified.
var NotAsked = record.Verified{State: record.NotVerified, Reason: "--check 0"}

// samples times the loaded sequence on each device. Emulated kernels run once and give no times.
func (d *Driver) samples(rule stat.Rule) ([]record.KernelSamples, error) {
	if d.units[0].info.Kind == record.Checked {
		_, err := d.timer.Run(1, deadline)
		return nil, err
	}
	return Time(d.timer, rule, d.batch, d.cfg.Warm, func(i int) record.Conditions { return d.cfg.Sense.Of(d.p, d.units[i].info) })
}

// launchSeconds returns, per device, the time of back-to-back launches that move almost no data. It
// is a lower bound for every size of a sweep, however fast the cache. The result is nil for other
// cases.
func (d *Driver) launchSeconds(of kernelCase) ([]float64, error) {
	c, stream := of.(Case)
	if !stream || c.Role != record.SizeSweep {
		return nil, nil
	}
	c.Array = vector * int64(max(1, c.Config.Block)*max(1, c.Config.Loads)) // one block
	if known, ok := d.launches[c.kernel()]; ok {
		return known, nil
	}
	steps := make([][]native.Step, len(d.units))
	for i, u := range d.units {
		var err error
		if steps[i], err = c.steps(d, u); err != nil {
			return nil, err
		}
	}
	if err := d.timer.Load(steps); err != nil {
		return nil, err
	}
	samples, err := d.samples(stat.Fixed(launchSamples))
	if err != nil {
		return nil, err
	}
	seconds := slice.Map(samples, func(b record.KernelSamples) float64 { return stat.Quantile(b.Seconds, 0.5) })
	if d.launches == nil {
		d.launches = map[string][]float64{}
	}
	d.launches[c.kernel()] = seconds
	return seconds, nil
}

// wrongText returns the number of wrong elements and the first wrong element, as text.
func wrongText(v record.Verified) string {
	s := fmt.Sprintf("%d of %d elements are wrong", *v.Wrong, v.Elements)
	if v.First != nil {
		s += fmt.Sprintf("; the first is %d: expected %s, got %s", v.First.Index, v.First.Expected, v.First.Got)
	}
	return s
}
