package memory

import (
	"fmt"

	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// outlierBelow is how far below the median of all GPUs one is named.
const outlierBelow = 0.97

// Outliers names the devices that were slower than the others in the same case,
// where there are three or more.
func (rec *Record) Outliers() []record.Warning {
	byKey := map[string][]float64{}
	for _, r := range rec.Results {
		if r.Rate != nil {
			byKey[r.Key] = append(byKey[r.Key], *r.Rate)
		}
	}
	var out []record.Warning
	for _, r := range rec.Results {
		if all := byKey[r.Key]; r.Rate != nil && len(all) > 2 {
			if middle := stat.Quantile(all, 0.5); *r.Rate < outlierBelow*middle {
				out = append(out, record.Warning{
					Code:    "slow_gpu",
					Message: fmt.Sprintf("GPU %d gives %s in %s, %.1f %% below the median of %d GPUs", r.Device, unit.Rate(*r.Rate), r.Key, 100*(1-*r.Rate/middle), len(all)),
					Hint:    "look at its clocks, temperature and ECC counters; run it alone with --device",
				})
			}
		}
	}
	return out
}
