package peers

import (
	"fmt"
	"path"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
)

// named is a collective with the source of its name.
type named struct {
	collective.Collective
	// Field `from` is the source of the name: log, option, file or numbers.
	from string
}

// unsupported is the error about a collective that the table lacks.
type unsupported struct{ name string }

func (u unsupported) Error() string {
	return fmt.Sprintf("the collective %q is not supported; supported are %s", u.name, strings.Join(collective.Names(), ", "))
}

// Unwrap also returns the error with similar names.
func (u unsupported) Unwrap() []error {
	_, unknown := collective.ByName(u.name)
	return []error{ErrCollective, unknown}
}

// sources describe where a name comes from.
var sources = map[string]string{"log": "log", "option": "--collective option", "file": "file name", "numbers": "numbers"}

// evidence is what the rows of a table show about their collective, without its name.
type evidence struct {
	// Field ops is true if some rows have an operator. Field none is true if some rows have no
	// operator. Both are false if the table has no column for operators.
	ops, none bool
	// roots is true if some rows have a rank as the root. noRoot is true if some rows have -1 or no
	// root.
	roots, noRoot bool
	// op is one of the printed operators, and root is one of the printed roots.
	op, root string
	// rootColumn is true if the table has a column for the root.
	rootColumn bool
	// share is size/(count × element size). It is the number of ranks if the collective divides its
	// size among ranks, else 1; 0 if the rows do not show it.
	share int64
	// checked says whether data were checked: out of place, and in place.
	checked [2]bool
	// inPlace is true if rows have values in place.
	inPlace bool
	ratio   interval
	// ranks is the number of ranks; 0 if unknown.
	ranks int
}

// evidence collects what the rows of a table show.
func (t *test) evidence(ratio interval, ranks int) evidence {
	l := t.layout
	// The first versions of the tools omitted columns that a collective does not need.
	full := l.has(kCount) && l.has(kType)
	e := evidence{rootColumn: l.has(kRoot), ratio: ratio, ranks: ranks, share: -1}
	for _, r := range t.rows {
		switch op := reduction(r.op); {
		case op != "":
			e.ops, e.op = true, op
		case full || l.has(kRedop):
			e.none = true
		}
		switch {
		case digits(r.root):
			e.roots, e.root = true, r.root
		case full || l.has(kRoot):
			e.noRoot = true
		}
		if share := r.share(); e.share < 0 {
			e.share = share
		} else if e.share != share {
			e.share = 0
		}
		for i, s := range r.sides[:r.n] {
			place := 0
			if r.inPlace[i] {
				place, e.inPlace = 1, true
			}
			e.checked[place] = e.checked[place] || s.wrong&present != 0
		}
	}
	return e
}

// share returns size/(count × element size). It returns 0 if the quotient is unknown, and -1 if the
// quotient is not a whole number.
func (p printedCase) share() int64 {
	d, err := collective.DtypeByName(p.dtype)
	switch {
	case err != nil || p.elements <= 0:
		return 0
	case p.bytes%p.elements != 0 || p.bytes/p.elements%int64(d.Size) != 0:
		return -1
	}
	return p.bytes / p.elements / int64(d.Size)
}

// veto returns the reason why the rows cannot belong to a collective, or empty text if they can.
func (e evidence) veto(c collective.Collective) string {
	// Send/recv does not use an operator. But since the tables have a column for the root, the
	// program of send/recv runs once per operator and prints the operator.
	prints := c.Reduces || !c.Rooted && !divides(c) && e.rootColumn
	switch {
	case e.ops && e.none:
		return "some rows have an operator (redop) and some have none"
	case e.roots && e.noRoot:
		return "some rows have a root and some have none"
	case e.ops && !prints:
		return "redop is " + e.op
	case e.none && c.Reduces:
		return "redop is none"
	case e.roots && !c.Rooted:
		return "root is " + e.root
	case e.noRoot && c.Rooted:
		return "no row has a root"
	case e.checked[0] && e.inPlace && !e.checked[1] && c.InPlace != collective.Never:
		return "data are checked out of place only"
	case !e.ratio.empty() && !fitsSome(c, e.ratio) && !e.ratio.has(c.BusFactor(1)):
		return "busbw over size/time is that of " + c.Name + " on no number of ranks"
	}
	return ""
}

// fits reports whether the rows can belong to a collective, given the number of ranks if it is
// known.
func (e evidence) fits(c collective.Collective) bool {
	switch {
	case e.veto(c) != "", e.checked[1] && c.InPlace == collective.Never:
		return false
	case e.ranks > 0 && !e.ratio.has(c.BusFactor(e.ranks)):
		return false
	case e.share == 0 || e.ranks == 1:
		return true
	case divides(c):
		return e.share > 1 && (e.ranks == 0 || e.share == int64(e.ranks))
	}
	return e.share == 1
}

// divides reports whether a collective divides its size among the ranks.
func divides(c collective.Collective) bool { return c.SendShare || c.RecvShare || c.Shares }

// candidates lists the collectives to which the rows can belong.
func (e evidence) candidates() []collective.Collective {
	return slice.Where(collective.All(), e.fits)
}

// findName finds the collective of a test. The log, the option and the file name are tried in this
// order; the rows must not contradict the name. Without a name the rows decide.
func (s *scan) findName(t *test, o Hints, e evidence) (named, error) {
	fits, line := e.candidates(), t.rows[0].line
	not := ""
	for _, n := range []struct{ from, name string }{{"log", t.name}, {"option", o.Collective}, {"file", fileCollective(path.Base(o.File))}} {
		if n.name == "" {
			continue
		}
		c, err := collective.ByName(n.name)
		if err != nil {
			return named{}, unsupported{n.name}
		}
		why := e.veto(c)
		if why == "" && n.from == "log" && len(fits) > 0 && e.ranks > 0 && !e.ratio.empty() && !e.ratio.has(c.BusFactor(e.ranks)) {
			why = fmt.Sprintf("busbw over size/time is not that of %s on %d ranks", c.Name, e.ranks)
		}
		if why == "" {
			return named{c, n.from}, nil
		}
		if n.from != "log" {
			return named{}, fmt.Errorf("the rows are not those of %s (from the %s): %s%s; pass --collective and --ranks as they were",
				c.Name, sources[n.from], why, butOf(fits))
		}
		not = fmt.Sprintf("the log names %s, but %s; ", c.Name, why)
	}
	return s.inferName(e, fits, not, line)
}

// inferName returns the collective if the rows can belong to only one. It never infers a collective
// without an in-place form, because rows of collectives that zbench does not know look the same.
func (s *scan) inferName(e evidence, fits []collective.Collective, not string, line int) (named, error) {
	if e.ratio.empty() {
		return named{}, errDisagree(line)
	}
	if len(fits) != 1 || fits[0].InPlace == collective.Never {
		if not == "" {
			not = "neither the log nor the file name says which collective this is, and "
		}
		return named{}, fmt.Errorf("%sthe numbers leave %s; pass --collective (%s)", not, possibilities(fits), strings.Join(collective.Names(), ", "))
	}
	c := fits[0]
	if not != "" {
		s.warn("collective_contradicted", "pass --collective to be sure", "the table at line %d: %sits busbw, algbw, redop and root are those of %s", line, not, c.Name)
	} else {
		s.warn("collective_inferred", "pass --collective to be sure", "no line names the collective of the table at line %d; its busbw, algbw and redop are those of %s", line, c.Name)
	}
	return named{c, "numbers"}, nil
}

// fileCollective returns the collective in a file name, if there is exactly one.
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
		// A name inside a recognised name must not be found, such as reduce in all_reduce.
		text = strings.ReplaceAll(text, w[0], "|")
	}
	return found
}

func possibilities(fits []collective.Collective) string {
	names := slice.Map(fits, func(c collective.Collective) string { return c.Name })
	if len(names) == 0 {
		return "it open"
	}
	return strings.Join(names, " or ")
}

// errDisagree is the error about a table whose rows do not fit one number of ranks.
func errDisagree(line int) error {
	return fmt.Errorf("the rows of the table at line %d have different rank counts: no single rank count explains their busbw; import each run on its own, with its header and device list", line)
}

// butOf names the collectives to which the rows can belong, for the end of a message.
func butOf(fits []collective.Collective) string {
	if len(fits) == 0 {
		return ""
	}
	return ", but that of " + possibilities(fits)
}

// reduction returns the operator in a redop cell, or empty text if there is none.
func reduction(cell string) string {
	switch strings.ToLower(cell) {
	case "", "none", "n/a":
		return ""
	}
	return strings.ToLower(cell)
}
