package kernel

import (
	"fmt"

	"zbench/bench/device"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Shares is in words what part a product's rate is of the published peak, of that peak at the
// clock that the units had, and of what others reached on such a GPU. It begins with a comma,
// and is empty on the loopback, whose rates are nobody's.
func Shares(rec *record.Record, k *record.Kernel) string {
	d, text := rec.DeviceOf(k), ""
	if d.Kind != record.GPU || k.Metrics.Effective == nil {
		return ""
	}
	rate := *k.Metrics.Effective
	if peak := device.PeakOf(d.Name, k.Dtype); peak > 0 {
		text = fmt.Sprintf(", %s of the published %s", unit.Percent(rate/peak), unit.Flops(peak))
		if hz, _ := k.Timing.Clock(); hz > 0 && d.Clock > 0 {
			text += fmt.Sprintf(" (%s of it at %s)", unit.Percent(rate/peak*d.Clock/hz), unit.Hertz(hz))
		}
	}
	if r, ok := device.ReachOf(d.Name, k.Dtype); ok {
		text += fmt.Sprintf(", %s of the %s that others reached (%s)", unit.Percent(rate/r.Rate), unit.Flops(r.Rate), r.Source)
	}
	return text
}
