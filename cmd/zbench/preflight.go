package main

import (
	"bytes"
	"fmt"

	"zbench/bench/engine"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/internal/preflight"
)

// preflightHost is what the checks before a run ask of this machine.
func preflightHost(s State) preflight.Host {
	return preflight.Host{FS: rootFS{s.FS}, Getenv: s.Getenv, Now: s.Now, Space: s.Space, Interfaces: s.Interfaces}
}

// preflightOf is what this process tells of itself and its host. folder is what it sees of
// the result folder.
func preflightOf(s State, d *collectivesDriver, folder *preflight.Folder) preflight.Facts {
	h := preflightHost(s)
	h.Simulated, h.Driver, h.Folder = d.facts.Simulated, d.facts.KernelDriver, folder
	for _, l := range d.facts.Libraries {
		h.Libraries = append(h.Libraries, preflight.Library{Name: l.Name, Version: l.Version})
	}
	for _, g := range d.facts.Devices {
		h.GPUs = append(h.GPUs, g.PCI)
	}
	if visible, err := d.Visible(); err == nil && !h.Simulated {
		for _, g := range visible {
			h.Visible = append(h.Visible, g.PCI)
		}
	}
	return preflight.Collect(h)
}

// checked are the processes of a driver, for the checks before a run.
type checked interface{ processes() []preflight.Process }

// check judges all processes before anything is launched. What is wrong is printed; an
// error refuses the run. The report stays for run.json.
func (o *collectivesOptions) check(s State, u *engine.Setup, d engine.Driver, cases []plan.Case, seconds float64) error {
	var all []preflight.Process
	if several, is := d.(checked); is {
		all = several.processes()
	} else if own, is := d.(*collectivesDriver); is {
		f := preflightOf(s, own, &preflight.Folder{Seen: true}) // it has its lock there
		all = []preflight.Process{{Facts: f, Host: s.Hostname(), Ranks: u.Spec.World.Size(), Received: s.Now()}}
	}
	r := preflight.Judge(all, preflight.SweepOf(cases, u.Spec.World.PerNode(), seconds))
	o.checks = r.Checks
	return o.show(s, r)
}

// show prints what is wrong, all with --verbose, and one line on hardware if nothing is.
func (o *collectivesOptions) show(s State, r preflight.Report) error {
	refused := r.Refused()
	simulated := r.Healthy() && r.Count(record.CheckNotChecked) > 0
	if refused == nil && (o.quiet || simulated && !o.verbose) {
		return nil
	}
	var text bytes.Buffer
	if err := r.Text(&text, s.Stderr.columns(), o.verbose); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "%s\n", text.String())
	return refused
}
