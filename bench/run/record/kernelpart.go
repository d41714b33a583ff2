package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/stat"
)

// KernelSamples are the batches of one pass over a kernel in order of time, in seconds per launch.
type KernelSamples struct {
	// Launches behind one sample.
	Launches int `json:"launches" jsonschema:"minimum=1"`
	// Seconds per launch.
	Seconds []float64 `json:"seconds"`
	// Stop is the rule that ended the pass.
	Stop string `json:"stop"`
	// Seconds of a launch with almost no data; absent if not measured.
	Launch *float64 `json:"launch,omitempty"`
	// Conditions of the device during the pass; absent if none were read.
	Conditions *Conditions `json:"conditions,omitempty"`
}

// Conditions describe a device during a pass. Missing readings are absent.
type Conditions struct {
	// Mean clock of the compute units during the batches, from their own counters, in hertz.
	Clock float64 `json:"clock,omitempty"`
	// Power draw of the GPU, averaged by its driver, directly after the last batch, in watts.
	Power float64 `json:"power,omitempty"`
	// Highest power that its driver allows, in watts.
	PowerLimit float64 `json:"power_limit,omitempty"`
	// Temperature of the hottest sensor of its chips at the same time, in degrees Celsius.
	Temperature float64 `json:"temperature,omitempty"`
	// Temperature of its memory at the same time, in degrees Celsius.
	MemoryTemperature float64 `json:"memory_temperature,omitempty"`
	// Limits of its clock at that time, as its driver states them, separated by commas.
	LimitedBy string `json:"limited_by,omitempty"`
}

// Limits of a clock.
const (
	ByTemperature = "temperature"
	ByPower       = "power"
	ByHardware    = "hardware"
)

func (c *Conditions) check() error {
	if c == nil {
		return nil
	}
	for _, v := range []float64{c.Clock, c.Power, c.PowerLimit, c.Temperature, c.MemoryTemperature} {
		if !finite(v) {
			return fmt.Errorf("a clock, power or temperature of %g", v)
		}
	}
	return nil
}

func (b *KernelSamples) check() error {
	switch {
	case b == nil:
		return nil
	case b.Launches < 1 || b.Launches > maxCount:
		return fmt.Errorf("batches of %d launches", b.Launches)
	case b.Launch != nil && !(*b.Launch >= 0 && *b.Launch <= maxSeconds):
		return fmt.Errorf("a launch of %g s", *b.Launch)
	}
	return errors.Join(seconds(b.Seconds), b.Conditions.check())
}

// KernelKey returns the key of a case on a device.
func KernelKey(of string, device int) string { return fmt.Sprintf("%s@%d", of, device) }

// Job returns the key without the device: rows that were measured at once share it.
func (k *Kernel) Job() string {
	return k.Key[:max(strings.LastIndex(k.Key, "@"), 0)]
}

// AssembleKernel makes a kernel's row from the planned row and its passes, in order. It is the only
// place where a kernel's samples become figures. peak is the peak bandwidth of its device in bytes per
// second, nil if unknown. An unfinished row has the figures of its passes.
func AssembleKernel(planned Kernel, parts []Part, peak *float64) Kernel {
	k := planned
	k.Case = planned.assembled(parts)
	var all series
	for _, p := range parts {
		b := p.Kernel
		if b == nil || len(b.Seconds) == 0 {
			continue
		}
		if k.Timing == nil {
			k.Timing = &KernelTiming{Launches: b.Launches, Launch: b.Launch}
		}
		k.Timing.Launches = min(k.Timing.Launches, b.Launches)
		if b.Conditions != nil {
			k.Timing.Conditions = append(k.Timing.Conditions, *b.Conditions)
		}
		all.add(b.Seconds, b.Stop)
	}
	if k.Timing == nil {
		return k
	}
	k.Timing.Seconds, k.Timing.Stop = stat.Summarize(all.values), all.stop
	k.setRates(peak)
	if share, ok := all.drift(); ok {
		k.Warnings = append(k.Warnings, driftWarning(share))
	}
	return k
}

// conclude fills in the results across rows: the metrics that compare rows, the devices that are
// slower than other devices, and the seconds of all sequences.
func (rec *Record) conclude() {
	for i := range rec.Kernels {
		rec.compare(&rec.Kernels[i])
	}
	rec.Warnings = append(slices.Clip(rec.Warnings), rec.outliers()...)
	rec.SequenceSeconds = rec.sequences()
}

// Method `beside` returns the row of the same kernel and shape in another role, or nil if there is
// none.
func (rec *Record) beside(k *Kernel, role string) *Kernel {
	for i := range rec.Kernels {
		o := &rec.Kernels[i]
		if o.Role == role && o.Device == k.Device && o.Kernel == k.Kernel && o.Dtype == k.Dtype && o.Shape == k.Shape {
			return o
		}
	}
	return nil
}

// sequences returns the total seconds of the sequences of all shapes for whole batches; null if
// there are none, or one was not timed completely.
func (rec *Record) sequences() *float64 {
	total, found := 0.0, false
	for _, k := range rec.Kernels {
		if k.Role != Sequence {
			continue
		}
		if k.Timing == nil || k.Status == Interrupted || k.Status == Skipped {
			return nil
		}
		share := 1.0
		if k.Shape.Measured > 0 {
			share = float64(k.Shape.Batch) / float64(k.Shape.Measured)
		}
		total, found = total+k.Timing.Seconds.Median*share, true
	}
	if !found || !(total > 0) {
		return nil
	}
	return &total
}
