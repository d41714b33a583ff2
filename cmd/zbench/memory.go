package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"zbench/hbm"
	"zbench/internal/native"
)

// addMemoryFlags puts the flags on a command that streams and fused kernels share.
func addMemoryFlags(cmd *cobra.Command, o *kernelOptions, peak *float64) {
	f := cmd.Flags()
	f.BoolVar(&o.asked.AllGPUs, "all-gpus", false, "all GPUs of this machine at once; outliers are named")
	f.Float64Var(peak, "peak", 0, "the memory's peak in GB/s, instead of the published one")
	f.StringArrayVar(&o.asked.Faults, "fault", nil, "plant a fault into the loopback: \"store 0 BYTE\" flips a bit of that byte of the output after each launch")
}

// maxPeak is beyond any memory, in GB/s.
const maxPeak = 1e9

// checkMemory refuses options that no run of streams or fused kernels can have.
func (o *kernelOptions) checkMemory(help string, peak float64) error {
	rule := o.rule()
	if err := rule.Validate(); err != nil {
		return usage(err, help)
	}
	if rule.MaxTime == 0 {
		return usagef(help, "--max-time must be positive")
	}
	if !(peak >= 0 && peak <= maxPeak) {
		return usagef("give the published peak, as 5300", "--peak %g: the memory's peak in GB/s is a number from 0 to %g", peak, maxPeak)
	}
	if o.asked.AllGPUs && o.asked.Device != 0 {
		return usagef(help, "give either --device or --all-gpus")
	}
	o.asked.Peak = peak * 1e9
	return nil
}

// openMemory opens the devices. streams: the loopback is the host on the wall clock;
// else it checks results alone.
func (o *kernelOptions) openMemory(ctx context.Context, s State, help string, streams bool) (*hbm.Driver, error) {
	a := &o.asked
	loopback := a.Backend == "loopback"
	switch {
	case len(a.Faults) > 0 && !loopback:
		return nil, usagef("give --backend loopback", "--fault is for the loopback; real faults are looked for")
	case len(a.Faults) > 1:
		return nil, usagef("give one", "--fault was given %d times, and one is planted: the last", len(a.Faults))
	}
	cfg := hbm.Config{
		Native: native.Options{Backend: a.Backend, Getenv: s.Getenv}, Seed: a.Seed, Warm: hbm.DefaultWarm, Peak: a.Peak,
		Devices: []int{a.Device}, All: a.AllGPUs, Host: loopback && streams, Norms: !streams, HostFacts: hostFacts(s),
	}
	if loopback {
		cfg.Native.Machine = hbm.HostMachine(streams, a.Faults, cfg.HostFacts)
	}
	cache, err := o.libraries.fill(ctx, s, &cfg.Native)
	if err != nil {
		return nil, err
	}
	d, err := hbm.Open(cfg)
	switch {
	case errors.Is(err, hbm.ErrDevice):
		return nil, usage(err, help)
	case errors.Is(err, native.ErrMachine) && len(a.Faults) > 0:
		return nil, usage(err, `give --fault "store 0 BYTE"`)
	case err != nil:
		return nil, err
	}
	if !loopback {
		o.libraries.tell(s, cache)
	}
	return d, nil
}
