package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/engine"
	"zbench/bench/fleet/evidence"
	"zbench/bench/fleet/rails"
	"zbench/bench/folder"
	"zbench/bench/plan"
	"zbench/bench/spec"
	"zbench/bench/unit"
)

// survey measures the world that this process leads, or holds alone.
func (o *railsOptions) survey(ctx context.Context, s State) error {
	started := s.Now()
	var err error
	if o.run.want.Backend, err = o.run.libraries.choose(s, o.run.want.Backend); err != nil {
		return err
	}
	e, err := o.run.engine(s)
	if err != nil {
		return err
	}
	u, c, err := prepareRails(e, o.run.want)
	if err != nil {
		return err
	}
	if o.others, err = readWitnesses(s, &o.witness); err != nil {
		return err
	}
	dir, err := folder.New(e.Host, o.run.out, "rails", o.run.force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	o.run.folder = dir.Path
	d, err := e.Open(ctx, u)
	if err != nil {
		dir.Abandon()
		return err
	}
	doc, result, err := o.observe(ctx, s, u, c, d)
	if closing := d.Close(); err == nil {
		err = closing
	}
	if doc == nil {
		dir.Abandon()
		return err
	}
	return o.finish(s, dir, started, doc, result, err)
}

// observe runs the rounds on an open driver and judges them. Without a document nothing was
// measured; with one, an error is what ended the rounds early.
func (o *railsOptions) observe(ctx context.Context, s State, u *engine.Setup, c plan.Case, d engine.Ranks) (*rails.Document, rails.Rounds, error) {
	facts, err := d.Facts()
	if err != nil {
		return nil, rails.Rounds{}, err
	}
	about := o.about(s, u, facts)
	v := rails.Measurement{
		Fleet: rails.Fleet{Nodes: u.Spec.World.Nodes, GPUs: u.Spec.World.GPUsPerNode}, Case: c, Launches: o.launches,
		Plan: rails.Bounds{Seed: u.Spec.Seed, Least: o.rounds, Most: max(o.rounds, 20), Passes: o.rounds},
	}
	data := rails.Data{}
	if data.Profile, err = o.readProfile(s, u.Spec.Sweep.MinBytes); err != nil {
		return nil, rails.Rounds{}, err
	}
	if about.Leaves, v.Fleet.Leaves, err = o.readLeaves(s, about); err != nil {
		return nil, rails.Rounds{}, err
	}
	if about.Leaves == nil {
		v.Fleet.Leaves = o.others.applyLeaves(about)
	}
	witnesses, err := o.others.at(about.Nodes, about.GPUs)
	if err != nil {
		return nil, rails.Rounds{}, err
	}
	if err := o.ready(ctx, s, u, c, d); err != nil {
		return nil, rails.Rounds{}, err
	}
	v.Watch = o.watch(s)
	in := evidence.Input{Fleet: v.Fleet, Witnesses: witnesses}
	counted := o.counted(u, d, about.Nodes, facts.Devices)
	result, unused, failed := counted.rounds(ctx, v, about, &in)
	o.watch(s)(0, rails.Round{})
	if result.Rounds == 0 {
		return nil, result, failed
	}
	data.Fleet, data.Timings = v.Fleet, result.Timings
	verdict := rails.Judge(data)
	verdict.Unchecked = append(verdict.Unchecked, unused...)
	in.Verdict = verdict
	evidence.Settle(in)
	if failed != nil {
		verdict.Interrupted(fmt.Sprintf("the rest of the rounds: the run ended after %d: %v", result.Rounds, failed))
	}
	if result.Early > 0 {
		verdict.Unchecked = append(verdict.Unchecked, fmt.Sprintf("the host's share: in %d of %d rounds launches began before the host had enqueued all of them", result.Early, result.Rounds))
	}
	about.Rounds, about.NetworkRounds = result.Rounds, result.Network
	return rails.OfSurvey(about, result.Timings, verdict), result, failed
}

// ready checks the processes and allocates the buffers.
func (o *railsOptions) ready(ctx context.Context, s State, u *engine.Setup, c plan.Case, d engine.Ranks) error {
	if _, can := d.(rails.Exchanger); !can {
		return errors.New("this driver has no messages between pairs")
	}
	room, err := d.Budget()
	if err != nil {
		return err
	}
	cases := []plan.Case{c}
	if plan.Fit(cases, room); cases[0].Skip != "" {
		return usagef("give a smaller --size", "--size %s: %s", unit.Bytes(c.Layout.Bytes), cases[0].Skip)
	}
	if err := o.run.check(s, u, d, cases, 0); err != nil {
		return err
	}
	s.note(o.run.quiet, "%s\n", o.announcement(u.Spec.World))
	return d.Allocate(ctx, room.For(cases))
}

// announcement says what is about to be measured.
func (o *railsOptions) announcement(w spec.World) string {
	parts := []string{fmt.Sprintf("nodes: %d; GPUs on each: %d; message: %s", w.Nodes, w.GPUsPerNode, unit.Bytes(o.run.want.Sweep.MinBytes))}
	within, between := 0, 0
	p := rails.NewPlan(rails.Fleet{Nodes: w.Nodes, GPUs: w.GPUsPerNode}, rails.Bounds{Least: o.rounds, Most: max(o.rounds, 20), Passes: o.rounds})
	for r, more := p.Next(nil); more; r, more = p.Next(nil) {
		if r.Kind == rails.XGMI {
			within++
		} else {
			between++
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("rounds: %d within nodes, %d between nodes, and more for suspects", within, between)), "; ")
}

// about is what is known of the survey before it runs.
func (o *railsOptions) about(s State, u *engine.Setup, facts engine.Facts) *rails.Survey {
	w := u.Spec.World
	a := &rails.Survey{
		Simulated: facts.Simulated, Backend: u.Spec.Backend, Faults: u.Spec.Faults, Seed: u.Spec.Seed, GPUs: w.GPUsPerNode,
		Bytes: u.Spec.Sweep.MinBytes, Launches: o.launches, Nodes: slices.Clone(facts.Hosts),
	}
	if u.Machine != nil {
		a.Fabric = u.Spec.Fabric
	}
	if w.Nodes == 1 && !facts.Simulated {
		a.Nodes = []string{s.Hostname()}
	}
	if len(a.Nodes) != w.Nodes { // simulated, or several nodes of one name
		a.Nodes = nil
		for node := range w.Nodes {
			a.Nodes = append(a.Nodes, fmt.Sprint("node", node))
		}
	}
	return a
}

// watch shows the rounds on a terminal; round 0 clears the line.
func (o *railsOptions) watch(s State) func(done int, r rails.Round) {
	return func(done int, r rails.Round) {
		switch {
		case o.run.quiet || !s.Stderr.IsTTY:
		case done == 0:
			_, _ = io.WriteString(s.Stderr.unescaped(), clearLine) // progress that cannot be shown stops nothing
		default:
			_, _ = fmt.Fprintf(s.Stderr.unescaped(), "%s[round %d] %s", clearLine, done, rails.KindName(r.Kind))
		}
	}
}
