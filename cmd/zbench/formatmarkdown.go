package main

import (
	"zbench/bench/bucket"
	"zbench/bench/memory"
	"zbench/bench/muon"
	"zbench/bench/table"
	"zbench/internal/doctor"
	"zbench/report"
)

// markdown is for a merge request or an issue.
var _ = register(format{
	name: "markdown", order: 2,
	collectives: func(s State, r swept) error { return table.Markdown(s.Stdout, report.Results(r.Record)) },
	memory:      func(s State, rec *memory.Record) error { return table.Markdown(s.Stdout, report.MemoryResults(rec)) },
	muon:        func(s State, r *muon.Report) error { return table.Markdown(s.Stdout, report.MuonResults(r)...) },
	advice:      func(s State, d advised) error { return d.WriteMarkdown(s.Stdout) },
	knees:       func(s State, a bucket.Answer) error { return a.WriteMarkdown(s.Stdout) },
	doctor:      func(s State, r doctor.Report) error { return r.Markdown(s.Stdout) },
})
