package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// join matches the cases of all runs by key. It sorts them by the first appearance of their group, then by size.
func join(base, fresh []member, o Criteria) []Case {
	var order []string
	cases := map[string]*[2][]*entry{}
	for s, runs := range [][]member{base, fresh} {
		for i, run := range runs {
			for _, e := range run.entries {
				c := cases[e.Key]
				if c == nil {
					c = &[2][]*entry{make([]*entry, len(base)), make([]*entry, len(fresh))}
					cases[e.Key] = c
					order = append(order, e.Key)
				}
				if c[s][i] == nil { // if a record has a key twice, the first counts
					c[s][i] = e
				}
			}
		}
	}
	out := slice.Map(order, func(key string) Case { return pair(cases[key], o) })
	first := map[string]int{} // a log alternates between the rows of two placements
	for i, c := range slices.Backward(out) {
		first[c.Group] = i
	}
	slices.SortStableFunc(out, func(a, b Case) int {
		return cmp.Or(cmp.Compare(first[a.Group], first[b.Group]), cmp.Compare(a.Bytes, b.Bytes))
	})
	return out
}

// pair makes a case from its entries on both sides.
func pair(sides *[2][]*entry, o Criteria) Case {
	all := slices.Concat(sides[0], sides[1])
	e := all[slices.IndexFunc(all, func(e *entry) bool { return e != nil })]
	c := Case{Key: e.Key, Group: e.group, Bytes: e.Bytes, Verdict: NotChecked, factor: e.factor}
	for s, name := range []string{"BASE", "NEW"} {
		if why, bad := trouble(sides[s]); why != "" && c.Reason == "" {
			c.Reason = why + " in " + name
			c.Broken = bad && s == 1
		}
	}
	for kind, name := range timings {
		if o.Timing != "" && o.Timing != name {
			continue
		}
		both := [2][]value{values(sides[0], kind), values(sides[1], kind)}
		if len(both[0]) > 0 && len(both[1]) > 0 && !c.Broken {
			c.Timing, c.Reason = name, ""
			c.observed = observe(e, both)
			return c
		}
	}
	if c.Reason == "" {
		c.Reason = unmatched(sides, o)
	}
	return c
}

// trouble returns the reason why a side has no usable time of a case. The reason is empty if a run has a time and no
// run failed. bad is true if the case failed or had wrong data in a run.
func trouble(side []*entry) (why string, bad bool) {
	usable, present := false, false
	for _, e := range side {
		present = present || e != nil
		switch {
		case e == nil:
		case e.Status == record.Failed || e.Status == record.WrongData:
			return e.ended(), true
		case e.Status == record.OK:
			usable = true
		case why == "":
			why = e.ended()
		}
	}
	switch {
	case usable:
		return "", false
	case !present:
		return "missing", false
	}
	return why, false
}

// value is the logarithm of a run's median of a case, with its variances as in observed.
type value struct{ log, rounding, within float64 }

// values returns the values of a side. Runs without a time of the case are left out.
func values(side []*entry, kind int) []value {
	var out []value
	for _, e := range side {
		if e == nil || e.Status != record.OK {
			continue
		}
		s := e.Times[kind]
		if s == nil || !(s.Median > 0) || math.IsInf(s.Median, 1) {
			continue
		}
		v := value{log: math.Log(s.Median)}
		if s.Lo != nil && s.Hi != nil && *s.Hi > *s.Lo {
			v.within = square((*s.Hi - *s.Lo) / 2 / 1.96 / s.Median)
		} else if s.CV != nil { // the standard error of the median of few normal samples
			v.within = math.Pi / 2 * square(*s.CV) / float64(s.N)
		}
		if t := e.burst; t != nil && t.Rounding != nil && s == t.MeanOfRanks {
			v.rounding = square((t.Rounding.Hi-t.Rounding.Lo)/s.Median) / 12
		}
		out = append(out, v)
	}
	return out
}

func square(x float64) float64 { return x * x }

// observe collects the values of a case from both sides. e is the case in any of the runs.
func observe(e *entry, sides [2][]value) *observed {
	c, n := &observed{pool: e.pool}, float64(len(sides[0])+len(sides[1]))
	if e.Times[len(timings)-1] == nil {
		c.bytes = e.Bytes
	}
	for s, side := range sides {
		for _, v := range side {
			c.rounding += v.rounding / n
			c.within += v.within / n
			c.sides[s] = append(c.sides[s], v.log)
		}
	}
	return c
}

// `unmatched` lists the kinds of time that each side has.
func unmatched(sides *[2][]*entry, o Criteria) string {
	kinds := func(side []*entry) string {
		var names []string
		for kind, name := range timings {
			if len(values(side, kind)) > 0 {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return "no time"
		}
		return strings.Join(names, " and ")
	}
	base, fresh := kinds(sides[0]), kinds(sides[1])
	if o.Timing != "" {
		return fmt.Sprintf("no %s time on both sides: BASE has %s, NEW %s", o.Timing, base, fresh)
	}
	return fmt.Sprintf("different times: BASE has %s, NEW %s", base, fresh)
}
