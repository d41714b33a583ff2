package main

import (
	"context"
	"errors"

	"zbench/bench/engine"
	"zbench/hbm"
	"zbench/internal/native"
)

// openMemory opens the devices and plans the streams, or the shapes of a fused kernel.
func openMemory(ctx context.Context, s State, o *kernelOptions) (*engine.Kernels, error) {
	family, _ := hbm.FamilyByName(o.want.Benchmark)
	d, err := o.memory(ctx, s, family.Files...)
	if err != nil {
		return nil, err
	}
	p, err := d.Plan(o.want.Benchmark, o.want.Kernels, engine.KernelRule(o.want.Kernels))
	if errors.Is(err, hbm.ErrRequest) {
		hint := "choose a smaller --size"
		if len(family.Files) > 0 {
			hint = "choose fewer --rows or a smaller --hidden"
		}
		err = usage(err, hint)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &engine.Kernels{Driver: d, Spec: o.want, Facts: o.facts(s, d.Devices(), d.Libraries()), Rows: p.Rows, Jobs: p.Jobs, More: p.More}, nil
}

// memory opens the devices with the sources of a fused kernel: then the loopback
// checks results alone. Without, for streams, it is the host on the wall clock.
func (o *kernelOptions) memory(ctx context.Context, s State, files ...string) (*hbm.Driver, error) {
	a, k := &o.want, o.want.Kernels
	loopback := a.Backend == "loopback"
	switch {
	case len(a.Faults) > 0 && !loopback:
		return nil, usagef("give --backend loopback", "--fault needs the loopback: it plants a simulated fault")
	case len(a.Faults) > 1:
		return nil, usagef("give one", "--fault is given %d times; only one is possible", len(a.Faults))
	}
	cfg := hbm.Config{
		Native: native.Choice{Backend: a.Backend, Getenv: s.Getenv}, Seed: a.Seed, Warm: hbm.DefaultWarm, Peak: k.Peak,
		Devices: []int{k.Device}, All: k.AllGPUs, Host: loopback && len(files) == 0, Files: files, HostFacts: hostFacts(s),
	}
	if loopback {
		cfg.Native.Machine = hbm.HostMachine(len(files) == 0, a.Faults, cfg.HostFacts)
	}
	cache, err := o.libraries.fill(ctx, s, &cfg.Native)
	if err != nil {
		return nil, err
	}
	d, err := hbm.Open(cfg)
	switch {
	case errors.Is(err, hbm.ErrDevice):
		return nil, usage(err, flagsHelp(a.Benchmark))
	case errors.Is(err, native.ErrMachine) && len(a.Faults) > 0:
		return nil, usage(err, `give --fault "store 0 BYTE"`)
	case err != nil:
		return nil, err
	}
	if !loopback {
		o.libraries.report(s, cache)
	}
	return d, nil
}
