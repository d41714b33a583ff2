package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/answers/gate"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// deviceFact and hostsFact are the names of two facts: the GPU and the hosts.
const (
	deviceFact = "device"
	hostsFact  = "hosts"
)

// facts are the properties of a run that may explain a difference, in listing order. A property
// that a record lacks is empty.
var facts = []struct {
	what string
	of   func(*record.Record) string
}{
	{"zbench", func(r *record.Record) string { return r.Tool.Version }},
	{"origin", func(r *record.Record) string { return r.Source.Kind }},
	{"tool of the log", toolsOf},
	{"backend", func(r *record.Record) string { return r.Source.Backend }},
	{"kernel driver", func(r *record.Record) string { return r.Source.Driver }},
	{deviceFact, deviceOf},
	{"nodes", func(r *record.Record) string { return number(r.World.Nodes) }},
	{"ranks", func(r *record.Record) string { return number(r.World.Ranks) }},
	{"GPUs per process", func(r *record.Record) string { return number(r.World.GPUsPerProcess) }},
	{hostsFact, func(r *record.Record) string { return strings.Join(slices.Sorted(slices.Values(r.World.Hosts)), " ") }},
	{"NICs", func(r *record.Record) string {
		return strings.Join(slice.Map(r.World.NICs, func(k record.NICKind) string { return strings.TrimSpace(k.Driver + " " + k.Model) }), ", ")
	}},
	{"fabric", func(r *record.Record) string {
		if r.Fabric == nil {
			return ""
		}
		return r.Fabric.Name
	}},
	{"planted faults", func(r *record.Record) string {
		if r.Spec == nil {
			return ""
		}
		return cmp.Or(strings.Join(r.Spec.Faults, "; "), "none")
	}},
}

// number prints a count; 0 means unknown and prints nothing.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// toolsOf returns the programs that wrote imported logs.
func toolsOf(r *record.Record) string {
	names := slice.Distinct(slice.Map(r.Source.Imports, func(i record.Import) string { return strings.TrimSpace(i.Tool + " " + i.Version) }))
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// launchesFact names the number of launches in a burst, one of the options.
const launchesFact = "launches in a burst (-n)"

// launchesOf returns the launches per burst of a log.
func launchesOf(r *record.Record) string {
	var seen []string
	for _, x := range r.Results {
		if t := x.Burst; t != nil && t.Iterations != 0 {
			seen = append(seen, fmt.Sprint(t.Iterations))
		}
	}
	return strings.Join(slice.Distinct(seen), " ")
}

// editedNotes names the runs whose records were edited.
func editedNotes(base, fresh []Run) []string {
	var out []string
	for _, r := range slices.Concat(base, fresh) {
		for _, w := range r.Record.Edits() {
			out = append(out, "EDITED: "+plain.Text(r.Name)+": "+w.Message+".")
		}
	}
	return out
}

// severalNotes names logs that have a case more than once. Such a log counts as one run, with the median.
func severalNotes(base, fresh []Run) []string {
	var out []string
	for _, run := range slices.Concat(base, fresh) {
		if run.Record.Source.Kind != record.Imported {
			continue
		}
		most := 1
		for i := range run.Record.Results {
			if t := run.Record.Results[i].Burst; t != nil && t.MeanOfRanks != nil {
				most = max(most, t.MeanOfRanks.N)
			}
		}
		if most > 1 {
			out = append(out, fmt.Sprintf("%s has up to %d measurements of a case, which count as one run: give each run a log of its own.", run.Name, most))
		}
	}
	return out
}

// options returns the settings of a run that change its times.
func options(r *record.Record) map[string]string {
	out := map[string]string{}
	if r.Spec == nil {
		out[launchesFact] = launchesOf(r)
		return out
	}
	if s := r.Spec.Sweep; s != nil {
		out[launchesFact] = fmt.Sprint(s.Iterations)
		out["warm-up launches (-w)"] = fmt.Sprint(s.Warmup)
		out["calls"] = cmp.Or(s.CallsText(), "one by one")
		out["cache"] = s.Cache
	}
	if k := r.Spec.Kernels; k != nil {
		out["data"] = cmp.Or(k.Data, "random")
		out["size of an array"] = unit.Bytes(k.Size)
	}
	return out
}

// libraries returns the versions of a run's libraries by name.
func libraries(r *record.Record) map[string]string {
	out := map[string]string{}
	for _, l := range r.Source.Libraries {
		out["library "+plain.Text(l.Name)] = l.Version
	}
	return out
}

// variables returns the recorded environment variables of a run by name.
func variables(r *record.Record) map[string]string {
	out := map[string]string{}
	for name, value := range r.Source.Environment {
		out["variable "+plain.Text(name)] = cmp.Or(value, "(empty)")
	}
	return out
}

// changes lists the differences between the sides or within one side: facts, libraries, environment variables,
// settings.
func changes(base, fresh []Run) []Change {
	var out []Change
	for _, f := range facts {
		out = appendChange(out, f.what, base, fresh, f.of)
	}
	for _, table := range []func(*record.Record) map[string]string{libraries, variables, options} {
		names := map[string]string{}
		for _, r := range slices.Concat(base, fresh) {
			maps.Copy(names, table(r.Record))
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			out = appendChange(out, name, base, fresh, func(r *record.Record) string { return table(r)[name] })
		}
	}
	return out
}

// notKnown stands for a fact that a record lacks.
const notKnown = "not known"

// appendChange adds the fact if it differs.
func appendChange(out []Change, what string, base, fresh []Run, of func(*record.Record) string) []Change {
	a, b := distinct(base, of), distinct(fresh, of)
	within := len(a) > 1 || len(b) > 1
	if !within && slices.Equal(a, b) {
		return out
	}
	return append(out, Change{What: what, Base: a, New: b, Within: within})
}

// `distinct` returns the different values of a side, in order of first appearance.
func distinct(runs []Run, of func(*record.Record) string) []string {
	return slice.Distinct(slice.Map(runs, func(r Run) string { return cmp.Or(plain.Text(of(r.Record)), notKnown) }))
}

// eras returns a sentence for each era in which runs differ from the first run. `settings` has the differences that
// a variable makes. `defaults` has the differences that the library's version makes.
func eras(base, fresh []Run) (settings, defaults []string) {
	all := slices.Concat(base, fresh)
	return gate.Mixed(slice.Map(all, func(r Run) string { return r.Name }), slice.Map(all, func(r Run) *record.Record { return r.Record }))
}

// eraNotes names the eras in which the compared runs differ. Runs of different versions are compared because an
// update is what users compare. Runs of different settings are compared only with --across.
func eraNotes(base, fresh []Run) []string {
	settings, defaults := eras(base, fresh)
	across := slice.Map(settings, func(e string) string { return "ACROSS: " + e })
	return slice.Map(append(across, defaults...), func(e string) string { return e + ". A different time is to be expected." })
}
