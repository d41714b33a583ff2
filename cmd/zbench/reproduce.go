package main

import (
	"slices"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/spec"
)

// reproduce is the command line that makes the record again.
func reproduce(rec *record.Record) string {
	line := []string{"zbench", "import"}
	if rec.Spec == nil {
		for _, i := range rec.Source.Imports {
			line = append(line, i.File)
		}
		return plain.Shell(line...)
	}
	line = append([]string{"zbench"}, strings.Fields(spec.Command(rec.Spec.Benchmark))...)
	if rec.Spec.Sweep != nil {
		line = append(line, rec.Spec.Sweep.Collectives...)
	}
	for _, f := range flagsOf(rec.Spec.Benchmark) {
		line = append(line, slices.Concat(f.typed(rec.Spec)...)...)
	}
	if len(rec.Added) > 0 && rec.Spec.Advice != nil {
		line = append(line, rec.Spec.Advice.Line()...) // the question decides which cases were added
	}
	return plain.Shell(line...)
}
