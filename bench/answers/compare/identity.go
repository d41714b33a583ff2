package compare

import (
	"math"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/run/record"
)

// timed identifies a time of a run by case and kind.
type timed struct {
	key  string
	kind int
}

// times holds the bits of the median and the mean of all times of a run.
func (m *member) times() map[timed][2]uint64 {
	out := map[timed][2]uint64{}
	for _, e := range m.entries {
		for kind, s := range e.Times {
			if s != nil {
				out[timed{e.Key, kind}] = [2]uint64{math.Float64bits(s.Median), math.Float64bits(s.Mean)}
			}
		}
	}
	return out
}

// `repeated` refuses a run that is given twice. If one side has the run twice, the runs of that side seem to vary less
// than they do. If both sides have the run, the sides do not differ, and the comparison passes whatever the software
// does.
func repeated(base, fresh []member) error {
	all, of := slices.Concat(base, fresh), func(i int) string {
		if i < len(base) {
			return "BASE"
		}
		return "NEW"
	}
	times := make([]map[timed][2]uint64, len(all))
	for i := range all {
		times[i] = all[i].times()
		for j := range i {
			n := equalTimes(times[j], times[i])
			if n == 0 || n < surely && !oneOrigin(all[j].Record, all[i].Record) {
				continue
			}
			hint := "give each run once, and different runs on the two sides"
			if all[i].Record.Simulated {
				hint += "; a simulated run repeats to the last bit unless --seed differs"
			}
			what := "they are one run"
			if of(i) != of(j) {
				what += ", compared with itself"
			}
			return refusef(hint, "%s (%s) and %s (%s) are equal in all %s that both have: %s", all[j].Name, of(j), all[i].Name, of(i), plain.Count(n, "time"), what)
		}
	}
	return nil
}

// Two measured runs whose times all agree count as the same run if at least `surely` of these times are different from
// each other. Fewer times may agree by chance if a log prints three digits or a clock is coarse.
const surely = 8

// equalTimes returns the number of different values among the common times; 0 if any time differs. For an interrupted
// run, only the times that it has are compared.
func equalTimes(a, b map[timed][2]uint64) int {
	different := map[[2]uint64]bool{}
	for key, x := range a {
		y, both := b[key]
		switch {
		case both && x != y:
			return 0
		case both:
			different[x] = true
		}
	}
	return len(different)
}

// oneOrigin reports whether two records that agree in a few times are the same run: they come from one log, they
// started at the same time, or they come from a simulation, which repeats exactly.
func oneOrigin(a, b *record.Record) bool {
	if a.Source.Kind == record.Imported {
		return slices.EqualFunc(a.Source.Imports, b.Source.Imports, func(x, y record.Import) bool { return x.SHA256 == y.SHA256 })
	}
	return a.Simulated || a.Created.Equal(b.Created)
}
