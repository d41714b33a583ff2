package engine

import (
	"zbench/bench/exit"
	"zbench/bench/kernel"
	"zbench/bench/spec"
	"zbench/bench/stat"
)

// giga is the unit of --peak, MaxPeak beyond any memory, in bytes per second.
const (
	giga    = 1e9
	MaxPeak = 1e18
)

// KernelRule is the stopping rule of a request of hbm or a kernel.
func KernelRule(k *spec.Kernels) stat.Rule {
	r := stat.DefaultRule()
	r.Precision, r.MaxTime, r.MinSamples = k.Precision, k.MaxTime, 20
	return r
}

// CheckKernels refuses an invalid request of hbm or a kernel. What its kernels are called and
// how large they may be is the driver's to check.
func CheckKernels(want *spec.Spec) error {
	k, help := want.Kernels, "zbench "+Command(want.Benchmark)+" --help-all lists the flags"
	rule := KernelRule(k)
	if err := rule.Validate(); err != nil {
		return exit.UsageError(err, help)
	}
	switch {
	case rule.MaxTime == 0:
		return exit.Usagef(help, "--max-time must be positive")
	case !(k.Peak <= MaxPeak):
		return exit.Usagef("give the published peak, for example 5300", "--peak is %g: the memory's peak in GB/s must be a number from 0 to %g", k.Peak/giga, MaxPeak/giga)
	case k.AllGPUs && k.Device != 0:
		return exit.Usagef(help, "give either --device or --all-gpus")
	}
	if lacks := kernel.Of(want.Benchmark).Lacks; lacks != nil && lacks(k) != "" {
		return exit.Usagef(help, "%s", lacks(k))
	}
	return nil
}
