package kernel

import (
	"fmt"
	"math"

	"zbench/bench/base/unit"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
)

// Shares describes the rate of executed operations of a product: as a share of the published peak,
// of that peak at the measured clock, and of the rate that others reached on such a GPU. The text
// begins with a comma. It is empty on the loopback, whose rates are invented.
func Shares(rec *record.Record, k *record.Kernel) string {
	d, text := rec.DeviceOf(k), ""
	if d.Kind != record.GPU || k.Metrics.Executed == nil {
		return ""
	}
	rate := *k.Metrics.Executed
	if peak := device.PeakOf(d.Name, k.Dtype); peak > 0 {
		text = fmt.Sprintf(", %s of the published %s", unit.Percent(rate/peak), unit.Flops(peak))
		if hz, _ := k.Timing.Clock(); hz > 0 && d.Clock > 0 && d.Units > 0 {
			// The operations of a unit per clock are a power of two. The peak may be published for
			// another clock than the driver's highest (H100: 1.83 GHz of 1.98).
			each := math.Exp2(math.Round(math.Log2(peak / d.Clock / float64(d.Units))))
			text += fmt.Sprintf(" (%s of what its units do at %s)", unit.Percent(rate/each/hz/float64(d.Units)), unit.Hertz(hz))
		}
	}
	if r, ok := device.ReachOf(d.Name, k.Dtype); ok {
		text += fmt.Sprintf(", %s of the %s that others reached (%s)", unit.Percent(rate/r.Rate), unit.Flops(r.Rate), r.Source)
	}
	return text
}
