package main

import (
	"zbench/bench/record"
)

// csv is for a spreadsheet, in base units.
var _ = register(format{
	name: "csv", order: 3,
	collectives: func(s State, rec *record.Record) error { return record.WriteCSV(s.Stdout, rec) },
	kernels:     func(s State, rec *record.Record) error { return record.WriteCSV(s.Stdout, rec) },
})
