package peers

import (
	"fmt"
	"math"

	"zbench/bench/record"
)

// warningKey is a warning about the samples of a result: the first that gave rise to
// it, and how many did.
type warningKey struct {
	record.Warning
	count int
}

// note counts a doubt and makes its warning the first time.
func (into *building) note(code, hint string, message func() string) {
	for i := range into.counted {
		if into.counted[i].Code == code {
			into.counted[i].count++
			return
		}
	}
	into.counted = append(into.counted, warningKey{record.Warning{Code: code, Message: message(), Hint: hint}, 1})
}

// warnings are the doubts about a result.
func (into *building) warnings() []record.Warning {
	out := []record.Warning{}
	for _, d := range into.counted {
		if d.count > 1 {
			d.Message += fmt.Sprintf(" (and %d more such lines)", d.count-1)
		}
		out = append(out, d.Warning)
	}
	return out
}

// countWarning says what is doubtful about one printed time.
func (into *building) countWarning(set *setting, r *row, s *side) {
	bytes := into.res.Bytes
	at := s.rounding(bytes, set.unit, set.scale)
	if at.fromAlg {
		into.note("time_from_algbw", "what the printed digits leave open is in burst.rounding", func() string {
			return fmt.Sprintf("line %d: the log prints the time as %s, so the time is size over algbw (%s GB/s), which has more digits", r.line, s.time, s.alg)
		})
	}
	if (at.hi-at.lo)/2 > decisivePrecision*at.at {
		into.note("coarse_time", "too few digits to compare; leave this size out", func() string {
			return fmt.Sprintf("line %d: the log prints the time as %s", r.line, s.time)
		})
	}
	switch f, ratio := set.BusFactor(max(set.ranks, 1)), s.ratio(bytes, set.unit); {
	case !set.factor:
		into.note("printed_busbw", "pass --ranks so that it can be computed from the time", func() string {
			return fmt.Sprintf("line %d: busbw is the printed %s GB/s", r.line, s.bus)
		})
	case f*(1+slack) < ratio.lo || f*(1-slack) > ratio.hi:
		into.note("busbw_mismatch", "busbw here is computed from the time; check the line", func() string {
			return fmt.Sprintf("line %d: the log prints busbw %s GB/s, which its time does not give", r.line, s.bus)
		})
	}
}

// repeatedTable says that a table's rows were taken for repeats of another's, or
// of its own without the log saying so.
func (s *scan) repeatedTable(set, earlier *setting) {
	if earlier.test == set.test || set.repeatSaid {
		return
	}
	set.repeatSaid = true
	if set.whole != nil && set.whole == earlier.whole {
		s.warn("repeated_rows", "if several processes wrote at once (tests built without MPI), import the output of one",
			"a table of %s holds cases more than once and marks no cycles: they are taken for repeats", set.Name)
		return
	}
	s.warn("repeated_table", "if something that the log does not say was changed between them (the environment), import them separately",
		"two tables hold the same cases of %s on the same devices with the same settings, and times within 30 %%: they are taken for repeats", set.Name)
}

// whole reports whether every row was taken, but for those of size 0.
func (t *test) whole() bool {
	return len(t.skips) == 0 || len(t.skips) == 1 && t.skips[0].Reason == sizeZero
}

// checkAverage compares the log's average busbw with that of the rows: a
// difference means that rows were lost or misread.
func (s *scan) checkAverage(t *test) {
	if t.average == nil || t.mixed() || t.continues || t.rows.n == 0 {
		return
	}
	sum, n := 0.0, 0
	for _, v := range t.emptyBus {
		sum, n = sum+v.value(), n+1
	}
	for r := range t.rows.all() {
		for _, s := range r.sides[:r.n] {
			sum, n = sum+s.bus.value(), n+1
		}
	}
	// Each printed busbw is rounded to 0.01 GB/s.
	average := t.average.value()
	if mean := sum / float64(n); math.Abs(mean-average) > max(slack*average, 0.006) {
		s.warn("average_mismatch", "rows were lost or misread: compare the record with the log", "the log's average bus bandwidth is %g GB/s, that of the rows read is %.4g GB/s", average, mean)
	}
}
