package main

import (
	"zbench/bench/bucket"
	"zbench/bench/nodescreen"
	"zbench/bench/pairwise"
	"zbench/bench/record"
	"zbench/bench/results"
	"zbench/bench/table"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// markdown is for a merge request or an issue.
var _ = register(format{
	name: "markdown", order: 2,
	collectives: func(s State, r sweepOutput) error { return table.Markdown(s.Stdout, results.Results(r.Record)) },
	kernels:     func(s State, rec *record.Record) error { return table.Markdown(s.Stdout, results.KernelTables(rec)...) },
	advice:      func(s State, d advised) error { return d.WriteMarkdown(s.Stdout) },
	knees:       func(s State, a bucket.Answer) error { return a.WriteMarkdown(s.Stdout) },
	compare:     func(s State, c comparison) error { return c.WriteMarkdown(s.Stdout) },
	bisect:      func(s State, c bisection) error { return c.WriteMarkdown(s.Stdout) },
	drift:       func(s State, d *topo.Drift) error { return d.Markdown(s.Stdout) },
	screen:      func(s State, d *nodescreen.Document) error { return d.Markdown(s.Stdout) },
	rails:       func(s State, d *pairwise.Document) error { return d.Markdown(s.Stdout) },
	topo:        func(s State, n *topo.Node) error { return n.Markdown(s.Stdout) },
	doctor:      func(s State, r doctor.Report) error { return r.Markdown(s.Stdout) },
})
