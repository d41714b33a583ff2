package main

import (
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/unit"
	"zbench/rccl"
)

// announce says on standard error what is left of a sweep, before it begins.
func (u *setup) announce(s State, o collectivesOptions, cases []plan.Case, parts []record.Part) {
	e := plan.Predict(cases, o.run, parts, u.world.Ranks(), u.cost)
	s.note(o.quiet, "%s", e.Text(u.machine != nil))
}

// tellMemory says on standard error where simulated GPUs have less memory than the
// fabric's, because one process cannot address all of it.
func (u *setup) tellMemory(s State, o collectivesOptions, d *rccl.Driver) error {
	if u.machine == nil {
		return nil
	}
	have, err := d.DeviceMemory()
	if err == nil && have < u.machine.HBM {
		s.note(o.quiet, "Each of the %d simulated GPUs has %s of memory instead of %s: this process can address no more for all of them. Sizes that do not fit are skipped.\n",
			u.world.Ranks(), unit.Bytes(have), unit.Bytes(u.machine.HBM))
	}
	return err
}

// alignBytes is the size of the all_reduce before each launch alone.
const alignBytes = 4

// groupOf is the first of a case's communicators.
func groupOf(c plan.Case) fabric.Group {
	return fabric.Group{Ranks: c.Ranks, Stride: c.Split.Stride}
}

// cost is what the model says of a case; on hardware nothing is known.
func (u *setup) cost(c plan.Case) plan.Cost {
	if u.machine == nil {
		return plan.Cost{}
	}
	g := groupOf(c)
	return plan.Cost{
		Launch: u.machine.Launch(g, c.Collective.Name, c.Layout.Bytes),
		Align:  u.machine.Launch(g, "all_reduce", alignBytes),
	}
}
