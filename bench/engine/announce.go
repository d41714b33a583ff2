package engine

import (
	"fmt"

	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// announce prints the estimate of what is left of a sweep, before it starts.
func (u *Setup) announce(e *Engine, cases []plan.Case, parts []record.Part) {
	est := plan.Predict(cases, u.Options, parts, u.Spec.World.GPUs(), u.cost)
	e.note("%s", est.Text(u.Machine != nil))
}

// announceRound prints which sizes are added, before they run.
func (u *Setup) announceRound(e *Engine, r *round, parts []record.Part) {
	low, high := r.cases[0].Layout.Bytes, r.cases[0].Layout.Bytes
	for _, c := range r.cases {
		low, high = min(low, c.Layout.Bytes), max(high, c.Layout.Bytes)
	}
	what := "The bucket size needs larger messages: sweeping up to " + unit.Bytes(high)
	if r.most > high {
		what += " (of at most " + unit.Bytes(r.most) + ")"
	}
	if r.Reason == record.AnswerSizes {
		what = fmt.Sprintf("The bucket size needs the message sizes around the answer: sweeping %s to %s", unit.Bytes(low), unit.Bytes(high))
	}
	e.note("%s; --fixed-sizes skips this.\n", what)
	u.announce(e, r.cases, parts)
}

// announceMemory reports that the simulated GPUs have less memory than the fabric's,
// because one process cannot address all of it.
func (u *Setup) announceMemory(e *Engine, have int64) {
	e.note("Each of the %d simulated GPUs has %s of memory instead of %s: this process cannot address more. Sizes that do not fit are skipped.\n",
		u.Spec.World.GPUs(), unit.Bytes(have), unit.Bytes(u.Machine.HBM))
}

// alignBytes is the size of the all_reduce before each isolated launch.
const alignBytes = 4

// cost is the model's time of a case; zero on hardware, where it is unknown.
func (u *Setup) cost(c plan.Case) plan.Cost {
	if u.Machine == nil {
		return plan.Cost{}
	}
	g := fabric.Group{Ranks: c.Ranks, Stride: c.Split.Stride}
	return plan.Cost{
		Launch: u.Machine.Launch(g, c.Collective.Name, c.Layout.Bytes),
		Align:  u.Machine.Launch(g, "all_reduce", alignBytes),
	}
}
