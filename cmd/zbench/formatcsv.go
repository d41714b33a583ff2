package main

import (
	"zbench/bench/record"
)

// csv is for a spreadsheet, in base units.
var _ = register(format{
	name: "csv", order: 3,
	collectives: func(s State, r sweepOutput) error { return record.WriteCSV(s.Stdout, r.Record) },
	kernels:     func(s State, rec *record.Record) error { return record.WriteCSV(s.Stdout, rec) },
})
