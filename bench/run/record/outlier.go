package record

import (
	"fmt"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

// outlierBelow is the share of the median of all GPUs below which a GPU is named.
const outlierBelow = 0.97

// outliers names the devices that were slower than the others in the same case, with three or more
// devices. Products are judged by their operations.
func (rec *Record) outliers() []Warning {
	byKey := map[string][]float64{}
	for _, r := range rec.Kernels {
		if r.Metrics.Rate != nil && r.Metrics.Effective == nil {
			byKey[r.Job()] = append(byKey[r.Job()], *r.Metrics.Rate)
		}
	}
	var out []Warning
	for _, r := range rec.Kernels {
		if all := byKey[r.Job()]; r.Metrics.Rate != nil && len(all) > 2 {
			if middle := stat.Quantile(all, 0.5); *r.Metrics.Rate < outlierBelow*middle {
				out = append(out, Warning{
					Code:    "slow_gpu",
					Message: fmt.Sprintf("GPU %d gives %s in %s, %.1f %% below the median of %d GPUs", r.Device, unit.Rate(*r.Metrics.Rate), r.Job(), 100*(1-*r.Metrics.Rate/middle), len(all)),
					Hint:    "check its clocks, temperature and ECC counters; run it alone with --device",
				})
			}
		}
	}
	return out
}
