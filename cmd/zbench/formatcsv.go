package main

import (
	"zbench/bench/memory"
	"zbench/bench/muon"
	"zbench/bench/record"
)

// csv is for a spreadsheet, in base units.
var _ = register(format{
	name: "csv", order: 3,
	collectives: func(s State, r swept) error { return record.WriteCSV(s.Stdout, r.Record) },
	memory:      func(s State, rec *memory.Record) error { return memory.WriteCSV(s.Stdout, rec) },
	muon:        func(s State, r *muon.Report) error { return muonCSV(s.Stdout, r) },
})
