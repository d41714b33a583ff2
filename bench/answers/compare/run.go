package compare

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// RefusedError says why two sides are not compared, and what to do instead.
type RefusedError struct{ Why, Hint string }

func (e *RefusedError) Error() string { return e.Why }

func refusef(hint, format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...), hint}
}

// property is a property that must be equal in all runs of both sides. The function `of` returns an empty text if
// a run does not have the property.
type property struct {
	what, hint string
	of         func(*record.Record) string
	same       func(a, b string) bool
}

// `required` are the properties that must agree for a difference to mean anything.
var required = []property{
	{"times", "compare simulated runs with simulated ones, and measured with measured", timesOf, equal},
	{"benchmark", "compare runs of one benchmark", benchmark, equal},
	{"device", "compare runs of one kind of GPU", deviceOf, sameDevice},
	{"what was measured", "compare figures of a GPU's memory with those of a GPU's memory", kindOf, equal},
}

func equal(a, b string) bool { return a == b }

// timesOf states whether times are simulated or measured.
func timesOf(rec *record.Record) string {
	if rec.Simulated {
		return "simulated"
	}
	return "measured"
}

// benchmark returns the run's benchmark; an import counts as collectives.
func benchmark(rec *record.Record) string {
	if b := rec.Benchmark(); b != "" {
		return b
	}
	return spec.Collectives
}

// deviceOf returns the name of the GPU, or the names of several GPUs.
func deviceOf(rec *record.Record) string {
	if rec.World.GPU != "" {
		return plain.Text(rec.World.GPU)
	}
	named := slice.Where(rec.World.Devices, func(d record.Device) bool { return d.Name != "" })
	names := slice.Distinct(slice.Map(named, func(d record.Device) string { return plain.Text(d.Name) }))
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// sameDevice reports whether two names can be of the same device: MI300X, as in a log, is AMD Instinct MI300X.
func sameDevice(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	words := strings.Fields
	within := func(of, in []string) bool {
		return !slices.ContainsFunc(of, func(w string) bool { return !slices.Contains(in, w) })
	}
	return within(words(a), words(b)) || within(words(b), words(a))
}

// kindOf returns the kind of the first device.
func kindOf(rec *record.Record) string {
	if len(rec.World.Devices) == 0 {
		return ""
	}
	return rec.World.Devices[0].Kind
}

// refuse returns why the runs must not be compared.
func refuse(base, fresh []Run, across bool) error {
	switch {
	case len(base) == 0:
		return refusef("give at least one run of each side", "BASE has no run")
	case len(fresh) == 0:
		return refusef("give at least one run of each side", "NEW has no run")
	}
	all := slices.Concat(base, fresh)
	for _, p := range required {
		known := slices.IndexFunc(all, func(r Run) bool { return p.of(r.Record) != "" })
		if known < 0 {
			continue
		}
		for _, r := range all[known:] {
			if a, b := p.of(all[known].Record), p.of(r.Record); b != "" && !p.same(a, b) {
				return refusef(p.hint, "%s and %s differ in %s: %s, %s; they are not compared", all[known].Name, r.Name, p.what, a, b)
			}
		}
	}
	if settings, _ := eras(base, fresh); len(settings) > 0 && !across {
		return refusef("compare runs with equal settings, or give --across", "%s; they are not compared", strings.Join(settings, "; "))
	}
	return nil
}

// side returns the runs of a side with their numbers of cases.
func side(runs []member) []Member {
	out := make([]Member, len(runs))
	for i, r := range runs {
		out[i].Name = r.Name
		for _, e := range r.entries {
			if e.Status == record.OK && e.Times != [5]*stat.Summary{} {
				out[i].Cases++
			} else {
				out[i].Without++
			}
		}
	}
	return out
}
