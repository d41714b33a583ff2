package peers

// verdict says whether size/time agrees with a printed algbw.
type verdict int

const (
	// unsure: they agree, but with so few printed digits that wrong columns might agree too.
	unsure verdict = iota
	agrees
	contradicts
)

// decisivePrecision is the relative precision above which agreement is evidence.
const decisivePrecision = 0.05

// slack is the relative difference that still counts as agreement, besides the rounding of the
// printed digits.
const slack = 0.01

// check compares size/time with the printed algbw. A printed time is in units of unit seconds, and
// algbw is scale times size/time.
func (s *side) check(bytes int64, unit, scale float64) verdict {
	if s.time&s.alg&present == 0 || s.time.value() == 0 {
		return unsure
	}
	gb := float64(bytes) * scale / unit / 1e9
	lo, hi := gb/s.time.hi()*(1-slack), gb/s.time.lo()*(1+slack) // infinite if the time can be 0
	switch {
	case lo > s.alg.hi() || hi < s.alg.lo():
		return contradicts
	case s.alg.value() > 0 && s.alg.coarseness() <= decisivePrecision && s.time.coarseness() <= decisivePrecision:
		return agrees
	}
	return unsure
}

// verdict returns contradicts if any side does, else agrees if every side does.
func (t *test) verdict(r *row, unit, scale float64) verdict {
	out := agrees
	for i := range r.sides[:r.n] {
		switch r.sides[i].check(r.bytes, unit, scale) {
		case contradicts:
			return contradicts
		case unsure:
			out = unsure
		case agrees:
		}
	}
	return out
}

// tally counts the rows in which size/time confirms or contradicts algbw.
func (t *test) tally(unit, scale float64) (good, bad int) {
	var rows [contradicts + 1]int
	for _, r := range t.rows {
		rows[t.verdict(r, unit, scale)]++
	}
	return rows[agrees], rows[contradicts]
}

// precise is the relative rounding up to which a printed time is taken as printed, whatever the
// other columns say.
const precise = 1e-3

// rounding is the range that the printed digits allow: the seconds of a launch lie in [lo, hi], and
// at is the best single figure.
type rounding struct {
	at, lo, hi float64
	// fromAlg is true if at is size over algbw.
	fromAlg bool
}

// rounding bounds the time of a side by its own digits and by those of algbw, which is scale times
// size over time. A time in too narrow a field ("1.7e+07") is replaced by size over algbw if that
// is more precise.
func (s *side) rounding(bytes int64, unit, scale float64) rounding {
	out := rounding{at: scaled(s.time, unit), lo: s.time.lo() * unit, hi: s.time.hi() * unit}
	if s.alg.value() == 0 {
		return out
	}
	gb := float64(bytes) * scale / 1e9
	lo, hi := gb/s.alg.hi(), gb/s.alg.lo() // infinite if the bandwidth can be 0
	if out.lo > hi || out.hi < lo {
		return out // they only agree within the slack
	}
	if s.time.coarseness() > precise && s.alg.coarseness() < s.time.coarseness() {
		out.at, out.fromAlg = gb/s.alg.value(), true
	}
	// The best figure may exceed the range by a part of its own last digit.
	out.lo, out.hi = min(max(out.lo, lo), out.at), max(min(out.hi, hi), out.at)
	return out
}
