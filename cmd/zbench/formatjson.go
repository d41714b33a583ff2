package main

import (
	"zbench/bench/bucket"
	"zbench/bench/nodescreen"
	"zbench/bench/pairwise"
	"zbench/bench/record"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// json is the document itself, as in a folder's files.
var _ = register(format{
	name: "json", order: 4,
	collectives: func(s State, r sweepOutput) error { return record.Encode(s.Stdout, r.Record) },
	kernels:     func(s State, rec *record.Record) error { return record.Encode(s.Stdout, rec) },
	advice:      func(s State, d advised) error { return d.WriteJSON(s.Stdout) },
	knees:       func(s State, a bucket.Answer) error { return a.WriteJSON(s.Stdout) },
	compare:     func(s State, c comparison) error { return c.WriteJSON(s.Stdout) },
	screen:      func(s State, d *nodescreen.Document) error { return d.WriteJSON(s.Stdout) },
	bisect:      func(s State, c bisection) error { return c.WriteJSON(s.Stdout) },
	rails:       func(s State, d *pairwise.Document) error { return d.WriteJSON(s.Stdout) },
	topo:        func(s State, n *topo.Node) error { return n.WriteJSON(s.Stdout) },
	doctor: func(s State, r doctor.Report) error {
		data, err := r.JSON()
		if err == nil {
			_, err = s.Stdout.Write(data)
		}
		return err
	},
})
