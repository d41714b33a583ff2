package rccl

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

var _ plan.Registering = (*Driver)(nil)

// Unserved returns the condition that is missing for the library to run the case as its policy
// requests; "" if none is.
func (d *Driver) Unserved(c plan.Case) string {
	p := d.provider
	name, getenv := "RCCL", d.cfg.Native.Getenv
	nccl := backend.Like(p.Backend).NCCL
	if nccl {
		name = "NCCL"
	}
	version := p.CollectivesVersion()
	if symbol := p.Lacks("opCreate", "opDestroy"); c.Op == collective.Mulsum && symbol != "" {
		return fmt.Sprintf("%s %s has no %s, which -o %s needs", name, version, symbol, c.Op)
	}
	return c.Policy.Unserved(c.Collective, c.Nodes, policy.Library{
		Name: name + " " + version, Version: version, NCCL: nccl, Lacks: p.Lacks,
		CUMem: getenv != nil && getenv("NCCL_CUMEM_ENABLE") == "1",
	})
}

// Registration returns how long the last Begin took to register buffers, in seconds.
func (d *Driver) Registration() float64 { return d.registration }

// log returns what the library has logged.
func (d *Driver) log() ([]byte, bool) {
	if d.cfg.Log == nil {
		return nil, false
	}
	return d.cfg.Log()
}

// Ran returns how the library ran the case, as far as the library reports it. The case must have
// been launched since Begin.
func (d *Driver) Ran(c plan.Case) policy.Ran {
	if r := d.ranks[0].rank; d.local > 0 {
		if name := d.library.Implementation(r.Comm, d.work, r.Send, r.Recv, c.Graph > 0); name != "" {
			return policy.Ran{By: name, Source: "rcclGetCollImplInfo"}
		}
	}
	if text, known := d.log(); known && len(text) >= d.logged {
		return policy.Logged(text[d.logged:], c.Collective)
	}
	return policy.Ran{}
}

// register registers the ranks' arenas with a lane's communicators, if the policy requests
// registration and the arenas are not registered yet. All ranks of all processes must register
// together; if one rank did not, all other ranks would wait for it. Both buffers are in the arena,
// at the same offsets on all ranks.
func (d *Driver) register(l *lane) error {
	c := l.comms
	var comms []native.Comm
	var arenas []native.Buffer
	for i, r := range l.ranks {
		if r.Comm != (native.Comm{}) {
			comms, arenas = append(comms, r.Comm), append(arenas, d.ranks[i].arena)
		}
	}
	if c.Policy.Register == "" || len(l.registered) > 0 || len(comms) == 0 {
		return nil
	}
	type result struct {
		all     []native.Registration
		seconds float64
		err     error
	}
	leave, deadline := d.enter(), d.cfg.Deadlines.Init
	r, ended := within(context.Background(), seconds(deadline), func() result {
		defer leave()
		all, took, err := d.library.Register(c.Policy.Register == policy.Window, comms, arenas)
		return result{all, took, err}
	})
	if !ended {
		d.broken = true
		return fmt.Errorf("registering the buffers of %d ranks (%s): not finished at the deadline of %g s", c.Ranks, c.Policy, deadline)
	}
	l.registered, d.registration = r.all, r.seconds
	return r.err
}

// deregister undoes all registrations.
func (d *Driver) deregister() error {
	var errs []error
	for i := range d.lanes {
		errs = append(errs, slice.Map(d.lanes[i].registered, d.library.Deregister)...)
		d.lanes[i].registered = nil
	}
	return errors.Join(errs...)
}
