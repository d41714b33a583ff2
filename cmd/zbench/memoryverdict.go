package main

import (
	"fmt"

	"zbench/bench/memory"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// outlierBelow is how far below the median of all GPUs one is named.
const outlierBelow = 0.97

// outliers names the GPUs that were slower than the others in the same case.
func outliers(rec *memory.Record) []record.Warning {
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

// memoryVerdict is the exit code a record earns.
func memoryVerdict(rec *memory.Record) error {
	count := map[record.Status]int{}
	var first *memory.Result
	for i, r := range rec.Results {
		count[r.Status]++
		if r.Status == record.WrongData && first == nil {
			first = &rec.Results[i]
		}
	}
	switch {
	case first != nil:
		return &codeError{exitWrongData, fmt.Errorf("wrong data: %s on device %d: %s", first.Key, first.Device, first.Reason), "its bandwidth is not to be trusted; run it again, then look at the memory's error counters"}
	case count[record.Interrupted] > 0:
		return &codeError{exitInterrupted, fmt.Errorf("interrupted: %d of %d cases finished and are saved", count[record.OK], len(rec.Results)), "run it again for the rest"}
	}
	return nil
}
