package judge

import (
	"fmt"
	"math"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
)

const (
	// lowClockPart is the share of the highest clock below which a finding names the clock.
	lowClockPart = 0.75
	// fellClockPart is the share by which the clock must fall from the first pass to the last for a
	// finding.
	fellClockPart = 0.05
	// A low clock is expected if it is at least expectedClockPart times the clock that others measured under
	// such a load.
	expectedClockPart = 0.9
)

// lowClock names rows whose compute units ran well below the driver's highest clock. For products the finding
// is a note if others measured such a clock under that load.
func (j judgedKernels) lowClock() finding.List {
	n, least, expected := 0, 1.0, true
	worst, timed := (*record.Kernel)(nil), 0
	for _, k := range j.KernelRows() {
		hz, _ := k.Timing.Clock()
		highest := j.DeviceOf(k).Clock
		if hz > 0 {
			timed++
		}
		if hz == 0 || highest == 0 || hz >= lowClockPart*highest {
			continue
		}
		if n++; hz/highest < least {
			worst, least = k, hz/highest
		}
		expected = expected && hz >= expectedClockPart*j.loadedClock(k)
	}
	if worst == nil {
		return nil
	}
	hz, _ := worst.Timing.Clock()
	text := fmt.Sprintf("Clock: in %d of %s the compute units ran below %s of their highest clock, %s. Lowest, %s: %s, %s",
		n, unit.Count(int64(timed), "case"), unit.Part(lowClockPart), unit.Hertz(j.DeviceOf(worst).Clock), j.name(worst), unit.Hertz(hz), unit.Part(least))
	most := worst.Timing.Most()
	if most.Power > 0 && most.PowerLimit > 0 {
		text += fmt.Sprintf(", at %.0f W of the %.0f W that it may draw", most.Power, most.PowerLimit)
	}
	if most.LimitedBy != "" {
		text += ", limited by " + plain.Line(most.LimitedBy)
	}
	if expected {
		return finding.List{{Code: CodeClock, Text: text + "; others measured " + unit.Hertz(j.loadedClock(worst)) + " under such products."}}
	}
	return j.clockFinding(worst, text+".")
}

// `throttled` names rows during which a driver lowered the clock because of heat or the hardware. A limit by
// power alone is not named: most GPUs have it under load.
func (j judgedKernels) throttled() finding.List {
	lowered := j.where(func(k *record.Kernel) bool {
		by := k.Timing.Most().LimitedBy
		return by != "" && by != record.ByPower
	})
	n := len(lowered)
	if n == 0 {
		return nil
	}
	first := lowered[0]
	most := first.Timing.Most()
	return j.clockFinding(first, fmt.Sprintf("Clock: lowered by its driver in %s. First, %s: by %s, at %.0f °C.",
		unit.Count(int64(n), "case"), j.name(first), plain.Line(most.LimitedBy), most.Temperature))
}

// fellClock names rows whose clock fell from the first pass to the last.
func (j judgedKernels) fellClock() finding.List {
	n, most := 0, fellClockPart
	var worst *record.Kernel
	for _, k := range j.KernelRows() {
		if _, lost := k.Timing.Clock(); lost > fellClockPart {
			if n++; lost > most {
				worst, most = k, lost
			}
		}
	}
	if worst == nil {
		return nil
	}
	c := worst.Timing.Conditions
	return j.clockFinding(worst, fmt.Sprintf("Clock: in %s it fell during the run by more than %s. At the most, %s: from %s to %s.",
		unit.Count(int64(n), "case"), unit.Part(fellClockPart), j.name(worst), unit.Hertz(c[0].Clock), unit.Hertz(c[len(c)-1].Clock)))
}

func (j judgedKernels) clockFinding(k *record.Kernel, text string) finding.List {
	return finding.List{{
		Code: CodeClock, Severity: finding.Warning, Text: text, Subject: &finding.Subject{Kind: finding.GPU, Name: j.GPU(k)},
		Hint: "Look at power limit, temperature and throttling (" + backend.ToolOf(j.Source.Backend) + "); compare rates with others' at the same clock.",
	}}
}

// loadedClock returns the clock that others measured under products of the row's type on such a
// GPU; infinite if unknown.
func (j judgedKernels) loadedClock(k *record.Kernel) float64 {
	d := j.DeviceOf(k)
	if r, ok := device.ReachOf(d.Name, k.Dtype); ok && r.Clock > 0 && d.Kind == record.GPU && k.Metrics.Effective != nil {
		return r.Clock
	}
	return math.Inf(1)
}
