package main

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/bucket"
	"zbench/bench/cost"
	"zbench/bench/judge"
	"zbench/bench/plain"
	"zbench/bench/record"
)

// faultOf is what must be mended before a bucket size is chosen from a record; nil is
// nothing.
func faultOf(rec *record.Record) *cost.Fault {
	l := judge.FixFirst(rec)
	if l == nil {
		return nil
	}
	f := &cost.Fault{Text: strings.TrimSuffix(l.Text, "."), Remedy: strings.TrimSuffix(l.Hint, ".")}
	switch l.Code {
	case judge.CodeSlowGroup, judge.CodeLostBusBW:
		f.Remedy, f.Command = "name the slow component, mend it, and sweep again", railsLine(rec)
	case judge.CodeUnstable:
		f.Remedy, f.Command = "name the component that is slow now and then, mend it, and sweep again", railsLine(rec, "--rounds", "20")
	}
	if l.Code == judge.CodeLostBusBW {
		f.Text = "Up to " + advice.Share(l.Share) + " of the bus bandwidth is lost"
	}
	return f
}

// railsLine is the command that looks for the slow component on the ranks of a record.
func railsLine(rec *record.Record, more ...string) string {
	line := []string{"zbench", "rails"}
	if rec.Spec == nil {
		if n := rec.World.Nodes; n > 0 {
			line = append(line, "--nodes", strconv.Itoa(n))
		}
		if n := rec.World.PerNode(); n > 0 {
			line = append(line, "--gpus-per-node", strconv.Itoa(n))
		}
		return plain.Shell(append(line, more...)...)
	}
	for _, f := range specFlags {
		if !slices.Contains(surveyFlags, f.name) {
			continue
		}
		for _, v := range f.show(rec.Spec) {
			if v != f.fallback || f.name == "nodes" {
				line = append(line, "--"+f.name, v)
			}
		}
	}
	return plain.Shell(append(line, more...)...)
}

// kneesOf are the sizes near the plateaus of a record: none where a fault comes first.
func kneesOf(rec *record.Record) bucket.Answer {
	a := bucket.Knees(rec)
	if f := faultOf(rec); f != nil {
		a.FixFirst(f.Text, f.How())
	}
	return a
}
