package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/judge"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// faultOf returns the fault that must be fixed before a bucket size can be chosen from a record, or
// nil.
func faultOf(rec *record.Record) *recommend.Fault {
	l := judge.FixFirst(rec)
	if l == nil {
		return nil
	}
	f := &recommend.Fault{Text: strings.TrimSuffix(l.Text, "."), Remedy: strings.TrimSuffix(l.Hint, ".")}
	switch l.Code {
	case judge.CodeSlowGroup, judge.CodeLostBusBW:
		f.Remedy, f.Command = "name the slow component, mend it, and sweep again", railsLine(rec)
	case judge.CodeUnstable:
		f.Remedy, f.Command = "name the component that is slow now and then, mend it, and sweep again", railsLine(rec, "--rounds", "20")
	case judge.CodeStall:
		_, f.Text = l.Word()
		f.Text = strings.TrimSuffix(f.Text, ".")
		f.Remedy, f.Command, _ = strings.Cut(strings.TrimSuffix(l.Hint, "`"), ": `")
	}
	if l.Code == judge.CodeLostBusBW {
		f.Text = "Up to " + unit.Share(l.Share) + " of the bus bandwidth is lost"
	}
	return f
}

// flagsGiven returns the flags of a record's sweep that differ from their defaults and for which
// wanted returns true.
func flagsGiven(rec *record.Record, wanted func(specFlag) bool) [][]string {
	var defaults spec.Spec
	addSpecFlags(&cobra.Command{}, &defaults)
	var flags [][]string
	for _, f := range specFlags {
		if wanted(f) && !slices.Equal(f.Shown(rec.Spec), f.Shown(&defaults)) {
			flags = append(flags, f.Typed(rec.Spec)...)
		}
	}
	return flags
}

// `again` returns the command for a further measurement on the ranks of a record.
func again(rec *record.Record) recommend.Again {
	if rec.Spec == nil || rec.Spec.Sweep == nil {
		return recommend.Again{Imported: true}
	}
	few := fewSizes(rec)
	return recommend.Again{Flags: flagsGiven(rec, func(f specFlag) bool { return !few || !slices.Contains(sizeFlags, f.Name) })}
}

// sizeFlags are the flags that decide which sizes are swept.
var sizeFlags = []string{"minbytes", "maxbytes", "stepfactor", "stepbytes", "sizes", spec.FixedSizes}

// fewSizes reports whether a record has too few sizes for choosing a bucket size.
func fewSizes(rec *record.Record) bool {
	sizes := slice.Map(rec.Results, func(r record.Result) int64 { return r.Bytes })
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	return len(sizes) == 0 || !recommend.Enough(len(sizes), sizes[0], sizes[len(sizes)-1])
}

// railsLine returns the command that looks for a slow component on the ranks of a record.
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
	flags := flagsGiven(rec, func(f specFlag) bool { return slices.Contains(worldFlags, f.Name) })
	line = append(line, slices.Concat(flags...)...)
	return plain.Shell(append(line, more...)...)
}

// kneesOf returns the sizes near the plateaus of a record. It returns none if a fault must be fixed
// first.
func kneesOf(rec *record.Record) recommend.Knees {
	a := recommend.KneesOf(rec)
	if f := faultOf(rec); f != nil {
		a.FixFirst(f.Text, f.How())
	}
	return a
}

// reproduce returns the command line that produces the record again.
func reproduce(rec *record.Record) string {
	line := []string{"zbench", "import"}
	if rec.Spec == nil {
		return plain.Shell(append(line, slice.Map(rec.Source.Imports, func(i record.Import) string { return i.File })...)...)
	}
	line = append([]string{"zbench"}, strings.Fields(spec.Command(rec.Spec.Benchmark))...)
	if rec.Spec.Sweep != nil {
		line = append(line, rec.Spec.Sweep.Collectives...)
	}
	for _, f := range flagsOf(rec.Spec.Benchmark) {
		line = append(line, slices.Concat(f.Typed(rec.Spec)...)...)
	}
	if len(rec.Added) > 0 && rec.Spec.Advice != nil {
		line = append(line, rec.Spec.Advice.Line()...) // the question decides which cases are added
	}
	return plain.Shell(line...)
}
