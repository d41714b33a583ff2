package main

import (
	"fmt"
	"slices"
	"strconv"

	"zbench/bench/engine"
	"zbench/bench/kernel"
	"zbench/bench/spec"
)

// giga is the unit of --peak, in bytes per second.
const giga = 1e9

// timingFlags are common to all benchmarks of kernels; their timings end after some seconds.
func timingFlags(maxTime string) []specFlag {
	return []specFlag{
		named("backend", "libraries underneath"),
		optional(wholeFlag("device", "0", "index of the GPU", func(s *spec.Spec) *int { return &s.Kernels.Device })),
		floatFlag("precision", "share", "0.01", "end a timing when half the 95 % interval is within this fraction of the median", func(s *spec.Spec) *float64 { return &s.Kernels.Precision }),
		floatFlag("max-time", "seconds", maxTime, "end a timing after this many seconds", func(s *spec.Spec) *float64 { return &s.Kernels.MaxTime }),
		named("seed", "seed of the data"),
		valueFlag("c", "check", "0 or 1", "1", "0 leaves results unverified: for further runs of what was", func(s *spec.Spec) *bool { return &s.Kernels.Unchecked },
			func(v string) (bool, error) {
				if v != "0" && v != "1" {
					return false, fmt.Errorf("--check is %q: give 0 or 1", v)
				}
				return v == "0", nil
			}, func(unchecked bool) string { return map[bool]string{true: "0", false: "1"}[unchecked] }),
	}
}

// memoryFlags are for families that measure memory, on any number of devices.
var memoryFlags = []specFlag{
	boolFlag("all-gpus", "all GPUs of this machine at once; outliers are named", func(s *spec.Spec) *bool { return &s.Kernels.AllGPUs }),
	optional(valueFlag("", "peak", "GB/s", "", "the memory's peak, instead of the published one", func(s *spec.Spec) *float64 { return &s.Kernels.Peak }, func(v string) (float64, error) {
		peak, err := notNegative(v)
		if err == nil && peak > engine.MaxPeak/giga {
			err = fmt.Errorf("--peak is %g: the memory's peak in GB/s must be a number from 0 to %g", peak, engine.MaxPeak/giga)
		}
		return peak * giga, err
	}, func(v float64) string { return strconv.FormatFloat(v/giga, 'g', -1, 64) })),
}

// faultFlag is for families that plant faults.
func faultFlag() specFlag {
	return named("fault", `plant a fault into the loopback: "store 0 BYTE" flips a bit of that byte of the output after each launch; gemm takes also "clock GPU HERTZ SECONDS": after so many seconds that GPU's clock is HERTZ; --peak also slow_compute:node=0,gpu=5,left=0.85`)
}

// familyFlags are the flags of a family's command.
func familyFlags(f kernel.Family) []specFlag {
	var all []specFlag
	for _, s := range f.Settings {
		all = append(all, specFlag{
			name: s.Name, unit: s.Unit, fallback: s.Fallback, meaning: s.Meaning,
			set:  func(to *spec.Spec, values []string) error { return s.Set(to.Kernels, values) },
			show: func(of *spec.Spec) []string { return s.Show(of.Kernels) },
		})
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

// named is a flag of collectives with another meaning.
func named(name, meaning string) specFlag {
	f := ownFlags[slices.IndexFunc(ownFlags, func(f specFlag) bool { return f.name == name })]
	if name == "backend" {
		meaning = f.meaning
	}
	f.meaning, f.fact = meaning, false
	return f
}
