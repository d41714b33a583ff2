package main

import (
	"fmt"
	"time"

	"zbench/bench/base/folder"
	"zbench/bench/base/slice"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/internal/preflight"
	"zbench/report"
)

// preflightHost returns the facts about this machine that the checks before a run need.
func preflightHost(s State) preflight.Host {
	return preflight.Host{FS: treeFS{s.FS, "/"}, Getenv: s.Getenv, Now: s.Now, Space: s.Space, Interfaces: s.Interfaces}
}

// preflightOf adds what is known about the ranks of this process.
func preflightOf(s State, d *collectivesDriver) preflight.Host {
	h := preflightHost(s)
	h.Simulated, h.Driver, h.Libraries = d.facts.Simulated, d.facts.KernelDriver, d.facts.Libraries
	h.GPUs = slice.Map(d.facts.Devices, func(g record.Device) string { return g.PCI })
	if visible, err := d.Visible(); err == nil && !h.Simulated {
		h.Visible = slice.Map(visible, func(g native.DeviceInfo) string { return g.PCI })
	}
	return h
}

// introduction is what each of several processes sends to the leader once its ranks are open.
type introduction struct {
	engine.Hello
	Preflight preflight.Facts `json:"preflight"`
}

// introduce makes the introduction. heard is the time at which the leader's order arrived; it is
// zero for the leader itself.
func introduce(s State, d *collectivesDriver, with *opening, role launch.Role, heard time.Time) (introduction, error) {
	facts, err := d.Facts()
	if err != nil {
		return introduction{}, err
	}
	h := preflightOf(s, d)
	h.Heard = heard
	if role.Rank > 0 && s.Towards != nil {
		h.Leader, _ = s.Towards(role.Leader.String()) // on an error the address is zero: the leader has answered by another path
	}
	if with.Folder != "" {
		h.Folder = preflight.Look(s.FS.ReadFile, with.Folder, folder.LockFile, with.Owner+"\n")
	}
	hello := engine.Hello{
		FirstRank: role.Rank * with.ranks(), Ranks: with.ranks(), Host: s.Hostname(), PID: s.PID, HostID: s.Getenv(engine.HostIDVariable),
		Build: tool(), Backend: with.Backend, Facts: facts,
	}
	return introduction{Hello: hello, Preflight: preflight.Collect(h)}, nil
}

// process returns the introduction as input of the checks. The leader sent the order at time sent,
// and received the answer at time received.
func (i introduction) process(sent, received time.Time) preflight.Process {
	return preflight.Process{Facts: i.Preflight, Host: i.Host, FirstRank: i.FirstRank, Ranks: i.Ranks, Sent: sent, Received: received}
}

// check judges all processes before anything is launched, and prints the problems. It returns an
// error if the run is refused. The report is kept for run.json.
func (o *worldRun) check(s State, u *engine.Setup, d engine.Ranks, cases []plan.Case, seconds float64) error {
	var all []preflight.Process
	if several, is := d.(*team); is {
		all = several.all
	} else if own, is := d.(*collectivesDriver); is {
		h := preflightOf(s, own)
		h.Folder = &preflight.Folder{Path: o.folder, Seen: true} // the lock of the run is in this folder
		all = []preflight.Process{{Facts: preflight.Collect(h), Host: s.Hostname(), Ranks: u.Spec.World.Size(), Received: s.Now()}}
	}
	r := preflight.Judge(all, preflight.SweepOf(cases, u.Spec.World.PerNode(), seconds))
	o.checks = r.Checks
	return o.show(s, r, len(all) > 0 && all[0].Facts.Simulated)
}

// show prints the problems, or all checks with --verbose. Without problems it prints one line on
// hardware, and nothing in a simulation.
func (o *worldRun) show(s State, r preflight.Report, simulated bool) error {
	refused := r.Refused()
	if refused == nil && (o.quiet || simulated && r.Healthy() && !o.verbose) {
		return nil
	}
	if err := report.WriteText(s.Stderr.unescaped(), r.Shown(o.verbose), s.screen(s.Stderr)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.Stderr); err != nil {
		return err
	}
	return refused
}
