package peers

import (
	"fmt"
	"math"
	"strings"

	"zbench/bench/collective"
)

// interval is a closed range of bus factors, busbw over size/time.
type interval struct{ lo, hi float64 }

func (i interval) has(x float64) bool { return i.lo <= x && x <= i.hi }

// maxRanks is the largest world that is looked for.
const maxRanks = 1 << 14

// ratio intersects what each row allows the bus factor to be. A table of tiny
// sizes allows everything. A row that fits no other is left out; where most
// are, the range is empty (lo > hi): the rows disagree.
func (t *test) ratio(unit float64) interval {
	out, odd := interval{0, math.Inf(1)}, 0
	for r := range t.rows.all() {
		in := out
		for i := range r.sides[:r.n] {
			s := r.sides[i].ratio(t.bytes(r), unit)
			in = interval{max(in.lo, s.lo), min(in.hi, s.hi)}
		}
		if in.lo > in.hi {
			odd++
			continue
		}
		out = in
	}
	if 2*odd > t.rows.n {
		return interval{1, 0}
	}
	return out
}

// empty reports whether no factor lies in the range.
func (i interval) empty() bool { return i.lo > i.hi }

// ratio is what the printed digits allow busbw over size/time to be.
func (s *side) ratio(bytes int64, unit float64) interval {
	gb := float64(bytes) / unit / 1e9
	// printf rounds the exact values; the margin is for float arithmetic.
	const margin = 1e-9
	return interval{s.bus.lo() * s.time.lo() / gb * (1 - margin), s.bus.hi() * s.time.hi() / gb * (1 + margin)}
}

// uniqueRanks returns the only number of ranks whose bus factor lies in the
// range, or 0 where there is none or more than one.
func uniqueRanks(c collective.Collective, ratio interval) int {
	found := 0
	for n := 1; n <= maxRanks; n++ {
		if ratio.has(c.BusFactor(n)) {
			if found != 0 {
				return 0
			}
			found = n
		}
	}
	return found
}

// disagree is the error about a table whose rows are of no single number of
// ranks.
func disagree(line int) error {
	return fmt.Errorf("%w: the rows of the table at line %d have different rank counts: no single rank count explains their busbw; import each run on its own, with its header and device list",
		ErrCollective, line)
}

// named is a collective and who named it.
type named struct {
	collective.Collective
	// from is log, option, file or numbers.
	from string
}

// unsupported is the error for a collective that the table lacks.
type unsupported struct{ name string }

func (u unsupported) Error() string {
	return fmt.Sprintf("the collective %q is not supported; supported are %s", u.name, strings.Join(collective.Names(), ", "))
}

// Unwrap has the names that may have been meant, too.
func (u unsupported) Unwrap() []error {
	_, unknown := collective.ByName(u.name)
	return []error{ErrCollective, unknown}
}

// findName finds the collective of a test from what names it; from is empty
// where nothing does.
func (t *test) findName(o Options) (named, error) {
	for _, n := range []struct{ name, from string }{
		{t.name, "log"}, {o.Collective, "option"}, {fileCollective(o.File), "file"},
	} {
		if n.name == "" {
			continue
		}
		c, err := collective.ByName(n.name)
		if err != nil {
			return named{}, unsupported{n.name}
		}
		return named{c, n.from}, nil
	}
	return named{}, nil
}

// fileCollective finds the one collective that a file's name contains.
func fileCollective(file string) string {
	text := strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToLower(file))
	words := [][2]string{}
	for _, p := range programs {
		words = append(words, [2]string{p, p}, [2]string{strings.ReplaceAll(p, "_", ""), p})
	}
	for _, c := range collective.All() {
		words = append(words, [2]string{c.Name, c.Name})
		for _, a := range c.Aliases {
			words = append(words, [2]string{a, c.Name})
		}
	}
	found := ""
	for _, w := range words {
		if !strings.Contains(text, w[0]) {
			continue
		}
		if found != "" && found != w[1] {
			return ""
		}
		found = w[1]
		// What was recognised must not be found again as a part: reduce in all_reduce.
		text = strings.ReplaceAll(text, w[0], "|")
	}
	return found
}

// inferName finds the collective from the numbers: those whose bus factor fits,
// among those that reduce as the redop column says. Where the log cannot tell a
// collective from one that zbench does not know, nothing is inferred.
func (t *test) inferName(ratio interval, ranks int) (named, error) {
	reduces, rooted, checked := false, false, false
	for r := range t.rows.all() {
		of := t.log.list[r.of]
		reduces = reduces || reduction(of.op) != ""
		rooted = rooted || digits(of.root)
		for i, s := range r.sides[:r.n] {
			checked = checked || r.inPlace[i] && s.wrong&present != 0
		}
	}
	var fits []collective.Collective
	for _, c := range collective.All() {
		if c.Reduces != reduces || c.Rooted != rooted {
			continue
		}
		// Without a reduction, alltoall and gather share all_gather's factor;
		// only all_gather's in-place data are checked.
		if !reduces && (!checked || c.InPlace == collective.Never) {
			continue
		}
		if ranks == 0 && fitsSome(c, ratio) || ranks > 1 && ratio.has(c.BusFactor(ranks)) {
			fits = append(fits, c)
		}
	}
	if ratio.empty() {
		return named{}, disagree(t.rows.firstLine())
	}
	if len(fits) != 1 {
		return named{}, fmt.Errorf("%w: neither the log nor the file name says which collective this is, and the numbers leave %s; pass --collective (%s)",
			ErrCollective, possibilities(fits), strings.Join(collective.Names(), ", "))
	}
	return named{fits[0], "numbers"}, nil
}

// fitsSome reports whether the range holds the factor of some number of ranks.
func fitsSome(c collective.Collective, ratio interval) bool {
	for n := 2; n <= maxRanks; n++ {
		if ratio.has(c.BusFactor(n)) {
			return true
		}
	}
	return false
}

func possibilities(fits []collective.Collective) string {
	names := make([]string, len(fits))
	for i, c := range fits {
		names[i] = c.Name
	}
	if len(names) == 0 {
		return "it open"
	}
	return strings.Join(names, " or ")
}

// reduction is the operator in a redop cell; empty for none.
func reduction(cell string) string {
	switch strings.ToLower(cell) {
	case "", "none", "n/a":
		return ""
	}
	return strings.ToLower(cell)
}
