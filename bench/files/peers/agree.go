package peers

// verdict says whether size/time agrees with a printed algbw.
type verdict int

const (
	// unsure means that the two agree, but with so few printed digits that wrong columns might
	// agree, too.
	unsure verdict = iota
	agrees
	contradicts
)

// decisivePrecision is the relative rounding up to which an agreement counts as evidence.
const decisivePrecision = 0.05

// slack is the relative difference that still counts as agreement. The rounding of the printed
// digits is allowed in addition.
const slack = 0.01

// check compares size/time with the printed algbw. The printed time is in units of unit seconds,
// and algbw is scale times size/time.
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

// verdict returns contradicts if any side contradicts, agrees if all sides agree, else unsure.
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

// precise is the relative rounding up to which a printed time is used as it is, whatever the other
// columns say.
const precise = 1e-3

// rounding is the range that the printed digits allow for the time of a launch. It is from lo to
// hi seconds, and the field `at` is the best figure.
type rounding struct {
	at, lo, hi float64
	// fromAlg is true if the best figure was computed from size and algbw.
	fromAlg bool
}

// rounding bounds the time of a side by its own digits and by the digits of algbw, which is scale
// times size/time. If a time was printed in too narrow a field ("1.7e+07") and algbw is more
// precise, the time is computed from size and algbw.
func (s *side) rounding(bytes int64, unit, scale float64) rounding {
	out := rounding{at: scaled(s.time, unit), lo: s.time.lo() * unit, hi: s.time.hi() * unit}
	if s.alg.value() == 0 {
		return out
	}
	gb := float64(bytes) * scale / 1e9
	lo, hi := gb/s.alg.hi(), gb/s.alg.lo() // infinite if the bandwidth can be 0
	if out.lo > hi || out.hi < lo {
		return out // the two agree only because of slack
	}
	if s.time.coarseness() > precise && s.alg.coarseness() < s.time.coarseness() {
		out.at, out.fromAlg = gb/s.alg.value(), true
	}
	// the best figure may lie outside the range by a part of its last digit
	out.lo, out.hi = min(max(out.lo, lo), out.at), max(min(out.hi, hi), out.at)
	return out
}
