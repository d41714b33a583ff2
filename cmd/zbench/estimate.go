package main

import (
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
)

// announce says on standard error what is left of a sweep, before it begins.
func (u *setup) announce(s State, o collectivesOptions, cases []plan.Case, parts []record.Part) {
	e := plan.Predict(cases, o.run, parts, u.world.Ranks(), u.cost)
	s.note(o.quiet, "%s", e.Text(u.machine != nil))
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
