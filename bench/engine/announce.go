package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/work/fabric"
)

// announce prints the estimate for the rest of a sweep, before it starts.
func (u *Setup) announce(e *Engine, cases []plan.Case, parts []record.Part) {
	est := u.estimate(cases, parts)
	e.Say("%s", est.Text(u.Machine != nil))
	if text := u.late(e, est); text != "" {
		e.Say("%s\n", text)
	}
}

func (u *Setup) estimate(cases []plan.Case, parts []record.Part) plan.Estimate {
	return plan.Predict(cases, u.Options, parts, u.Spec.World.GPUs(), u.cost)
}

// check asks the engine's caller whether the sweep may start.
func (u *Setup) check(e *Engine, d Ranks, cases []plan.Case, parts []record.Part) error {
	seconds := u.estimate(cases, parts).Seconds.Low // the lower bound: the shorter the sweep, the more ports are in use at once
	if u.Machine != nil {
		seconds = 0
	}
	return e.Check(u, d, cases, seconds)
}

// Method late warns of an estimate beyond the deadline. It does not warn of a simulation, whose seconds
// do not pass in real time.
func (u *Setup) late(e *Engine, est plan.Estimate) string {
	if u.Machine != nil || e.Deadline.IsZero() {
		return ""
	}
	return est.Against(e.Deadline.Sub(e.Now()).Seconds())
}

// Estimate returns the sweep's cost, and a warning if the cost exceeds the deadline. Nothing is launched
// or written. The loopback's driver is opened and closed again. Real devices are not opened, so the
// estimate includes cases that exceed their memory. old is the journal of a resumed sweep, else nil.
func (e *Engine) Estimate(ctx context.Context, u *Setup, old *record.Journal) (plan.Estimate, string, error) {
	entries := &record.Journal{}
	if old != nil {
		entries = old
	}
	cases := u.axes.Cases()
	if u.Machine != nil {
		d, err := e.Open(ctx, u)
		if err != nil {
			return plan.Estimate{}, "", err
		}
		defer d.Close() //nolint:errcheck // nothing was launched that can fail
		if entries, cases, err = e.begin(u, d, old); err != nil {
			return plan.Estimate{}, "", err
		}
	}
	est := u.estimate(cases, entries.Parts)
	return est, u.late(e, est), nil
}

// announceRound prints the added sizes before they run.
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
	e.Say("%s; --fixed-sizes skips this.\n", what)
	u.announce(e, r.cases, parts)
}

// announceMemory reports that cases are skipped because the simulated GPUs have less memory than the
// GPUs of the fabric.
func (u *Setup) announceMemory(e *Engine, cases []plan.Case, have int64) {
	if u.Machine == nil || have >= u.Machine.HBM || !slices.ContainsFunc(cases, func(c plan.Case) bool { return strings.HasPrefix(c.Skip, plan.SkippedForMemory) }) {
		return
	}
	e.Say("Cases that need more than %s per GPU are skipped: one process cannot address %s for each of %d simulated GPUs.\n",
		unit.Bytes(have), unit.Bytes(u.Machine.HBM), u.Spec.World.GPUs())
}

// alignBytes is the size of the all_reduce before each isolated launch.
const alignBytes = 4

// cost returns the model's time of a case; zero on hardware, where the time is unknown.
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
