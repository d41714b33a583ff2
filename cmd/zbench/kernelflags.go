package main

import (
	"fmt"
	"strconv"

	"zbench/bench/base/option"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// giga converts --peak from GB/s to bytes per second.
const giga = 1e9

// timingFlags are the flags that all benchmarks of kernels have. maxTime is the default time, in
// seconds, at which a timing ends.
func timingFlags(maxTime string) []specFlag {
	return []specFlag{
		named("backend", "libraries underneath"),
		{Name: "device", Unit: "int", Meaning: "index of the GPU", Value: option.Whole(func(s *spec.Spec) *int { return &s.Kernels.Device })},
		{Name: "precision", Unit: "share", Default: "0.01", Meaning: "end a timing when half the 95 % interval is within this fraction of the median", Value: option.Float(func(s *spec.Spec) *float64 { return &s.Kernels.Precision })},
		{Name: "max-time", Unit: "seconds", Default: maxTime, Meaning: "end a timing after this many seconds", Value: option.Float(func(s *spec.Spec) *float64 { return &s.Kernels.MaxTime })},
		named("seed", "seed of the data"),
		{
			Letter: "c", Name: "check", Unit: "0 or 1", Default: "1", Meaning: "0 leaves results unverified: for further runs of what was",
			Value: option.Of(func(s *spec.Spec) *bool { return &s.Kernels.Unchecked }, func(v string) (bool, error) {
				if v != "0" && v != "1" {
					return false, fmt.Errorf("--check is %q: give 0 or 1", v)
				}
				return v == "0", nil
			}, func(unchecked bool) string { return map[bool]string{true: "0", false: "1"}[unchecked] }),
		},
	}
}

// memoryFlags are the flags of families that measure memory on any number of devices.
var memoryFlags = []specFlag{
	{Name: "all-gpus", Meaning: "all GPUs of this machine at once; outliers are named", Value: option.Switch(func(s *spec.Spec) *bool { return &s.Kernels.AllGPUs })},
	{
		Name: "peak", Unit: "GB/s", Meaning: "the memory's peak, instead of the published one",
		Value: option.Of(func(s *spec.Spec) *float64 { return &s.Kernels.Peak }, func(v string) (float64, error) {
			peak, err := option.NotNegative(v)
			if err == nil && peak > engine.MaxPeak/giga {
				err = fmt.Errorf("--peak is %g: the memory's peak in GB/s must be a number from 0 to %g", peak, engine.MaxPeak/giga)
			}
			return peak * giga, err
		}, func(v float64) string { return strconv.FormatFloat(v/giga, 'g', -1, 64) }),
	},
}

// faultFlag is the flag of families that can plant faults.
func faultFlag() specFlag {
	return named("fault", `plant a fault into the loopback: "store 0 BYTE" flips a bit of that byte of the output after each launch; gemm takes also "clock GPU HERTZ SECONDS": after so many seconds that GPU's clock is HERTZ; --peak also slow_compute:node=0,gpu=5,left=0.85`)
}

// familyFlags returns the flags of a family's command.
func familyFlags(f kernel.Family) []specFlag {
	var all []specFlag
	for _, row := range f.Settings {
		all = append(all, option.Within(row, func(s *spec.Spec) *spec.Kernels { return s.Kernels }))
	}
	if !f.OneDevice {
		all = append(all, memoryFlags...)
	}
	if !f.OneDevice || f.Faults {
		all = append(all, faultFlag())
	}
	if f.Everywhere != nil {
		all = append(all, named("nodes", "number of nodes of --peak (default those of the launcher)"))
	}
	return append(all, timingFlags(f.MaxTime)...)
}

// named returns a flag of collectives with another description.
func named(name, meaning string) specFlag {
	f := specRows([]string{name})[0]
	if name == "backend" {
		meaning = f.Meaning
	}
	f.Meaning, f.Fact = meaning, false
	return f
}
