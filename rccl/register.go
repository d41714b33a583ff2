package rccl

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/backend"
	"zbench/bench/plan"
	"zbench/bench/policy"
	"zbench/bench/slice"
	"zbench/internal/native"
)

var _ plan.Registering = (*Driver)(nil)

// Unserved returns the missing condition if the library would not run the case as its policy
// requests.
func (d *Driver) Unserved(c plan.Case) string {
	p := d.provider
	name, getenv := "RCCL", d.cfg.Native.Getenv
	nccl := backend.Like(p.Backend).NCCL
	if nccl {
		name = "NCCL"
	}
	version := p.CollectivesVersion()
	return c.Policy.Unserved(c.Collective, c.Nodes, policy.Library{
		Name: name + " " + version, Version: version, NCCL: nccl, Lacks: p.Lacks,
		CUMem: getenv != nil && getenv("NCCL_CUMEM_ENABLE") == "1",
	})
}

// Registration returns how long the last Begin registered buffers, in seconds.
func (d *Driver) Registration() float64 { return d.registration }

// register registers the ranks' arenas with the case's communicators, if its policy requests it and
// it was not done. All ranks of all processes do so at once; a missing one would let the others
// wait. Both buffers lie in the arena, at the same offsets on all ranks.
func (d *Driver) register(c plan.Case) error {
	d.registration = 0
	if c.Policy.Register == "" || len(d.registered) > 0 || d.local == 0 {
		return nil
	}
	type result struct {
		all     []native.Registration
		seconds float64
		err     error
	}
	leave, deadline := d.enter(), d.cfg.Deadlines.Init
	mine := d.ranks[:d.local]
	comms := slice.Map(mine, func(m member) native.Comm { return m.rank.Comm })
	arenas := slice.Map(mine, func(m member) native.Buffer { return m.arena })
	r, ended := within(context.Background(), seconds(deadline), func() result {
		defer leave()
		all, took, err := d.library.Register(c.Policy.Register == policy.Window, comms, arenas)
		return result{all, took, err}
	})
	if !ended {
		d.broken = true
		return fmt.Errorf("registering the buffers of %d ranks (%s): not finished at the deadline of %g s", c.Ranks, c.Policy, deadline)
	}
	d.registered, d.registration = r.all, r.seconds
	return r.err
}

// deregister undoes all registrations.
func (d *Driver) deregister() error {
	all := d.registered
	d.registered = nil
	return errors.Join(slice.Map(all, d.library.Deregister)...)
}
