package main

import (
	"zbench/bench/record"
)

// csv is for a spreadsheet, in base units.
var _ = register(format{
	name: "csv", order: 3,
	collectives: func(s State, r sweepOutput) error { return record.WriteCSV(s.Stdout, r.Record) },
	compare:     func(s State, c comparison) error { return c.WriteCSV(s.Stdout) },
	bisect:      func(s State, c bisection) error { return c.WriteCSV(s.Stdout) },
	kernels:     func(s State, rec *record.Record) error { return record.WriteCSV(s.Stdout, rec) },
})
