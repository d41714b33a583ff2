package judge

import (
	"fmt"
	"math"

	"zbench/bench/backend"
	"zbench/bench/device"
	"zbench/bench/finding"
	"zbench/bench/record"
	"zbench/bench/unit"
)

const (
	// lowClock is the part of the highest clock below which a finding names the clock.
	lowClock = 0.75
	// fellClock is the part of the clock that is lost from the first pass to the last.
	fellClock = 0.05
	// expectedClock is the part of the clock that others measured under such a load from
	// which a low one is no surprise.
	expectedClock = 0.9
)

// clock tells of rows whose compute units ran well below the highest clock that the driver
// reports, and of those whose clock fell during the run. Of products a low clock is a note
// where others measured it under such a load.
func (j judgedKernels) clock() finding.List {
	var low, fell struct {
		n     int
		worst *record.Kernel
		by    float64
	}
	timed, expected := 0, true
	for i := range j.Kernels {
		k := &j.Kernels[i]
		hz, lost := k.Timing.Clock()
		if hz == 0 {
			continue
		}
		timed++
		if highest := j.DeviceOf(k).Clock; highest > 0 && hz < lowClock*highest {
			if low.n++; low.worst == nil || hz/highest < low.by {
				low.worst, low.by = k, hz/highest
			}
			expected = expected && hz >= expectedClock*j.loadedClock(k)
		}
		if lost > fellClock {
			if fell.n++; lost > fell.by {
				fell.worst, fell.by = k, lost
			}
		}
	}
	var out finding.List
	add := func(k *record.Kernel, text string) {
		out = append(out, finding.Finding{
			Code: CodeClock, Severity: finding.Warning, Text: text,
			Subject: &finding.Subject{Kind: finding.GPU, Name: fmt.Sprintf("GPU %d", k.Device)},
			Hint:    "Look at power limit, temperature and throttling (" + backend.Tools() + "); compare rates with others' at the same clock.",
		})
	}
	if k := low.worst; k != nil {
		hz, _ := k.Timing.Clock()
		highest := j.DeviceOf(k).Clock
		text := fmt.Sprintf("Clock: in %d of %s the compute units ran below %s of their highest clock, %s. Lowest, %s: %s, %s",
			low.n, unit.Count(int64(timed), "case"), unit.Part(lowClock), unit.Hertz(highest), j.name(k), unit.Hertz(hz), unit.Part(low.by))
		if most := k.Timing.Most(); most.Power > 0 && most.PowerLimit > 0 {
			text += fmt.Sprintf(", at %.0f W of the %.0f W that it may draw", most.Power, most.PowerLimit)
		}
		if expected {
			text += "; others measured " + unit.Hertz(j.loadedClock(k)) + " under such products"
		}
		add(k, text+".")
		if expected {
			out[0].Severity, out[0].Hint = finding.Note, ""
		}
	}
	if k := fell.worst; k != nil {
		c := k.Timing.Conditions
		add(k, fmt.Sprintf("Clock: in %d of %s it fell during the run by more than %s. At the most, %s: from %s to %s.",
			fell.n, unit.Count(int64(timed), "case"), unit.Part(fellClock), j.name(k), unit.Hertz(c[0].Clock), unit.Hertz(c[len(c)-1].Clock)))
	}
	return out
}

// loadedClock is what others measured under products of the row's type on such a GPU;
// infinite where none is known.
func (j judgedKernels) loadedClock(k *record.Kernel) float64 {
	d := j.DeviceOf(k)
	if r, ok := device.ReachOf(d.Name, k.Dtype); ok && r.Clock > 0 && d.Kind == record.GPU && k.Metrics.Effective != nil {
		return r.Clock
	}
	return math.Inf(1)
}
