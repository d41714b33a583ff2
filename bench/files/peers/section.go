package peers

import (
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/unit"
)

// section is a line of settings that a script prints before a run, such as "### ALGO=Ring size=1G",
// "== NCCL_PROTO=LL128 ==" or "NCCL_ALGO=Tree".
type section struct {
	line  int
	pairs []string
	// marked is true if signs surround the line, which is never so in a list of variables.
	marked bool
	// tables is true if a table began in this section.
	tables bool
}

// maxPairs is the largest number of settings in a section. A longer one is a list of the
// environment.
const maxPairs = 8

var pairRE = pattern.New(`^[A-Za-z_][\w.-]{0,63}=[!-~]{0,64}$`)

// sectionRE matches a line with or without signs around it: two signs of a kind, or one number
// sign.
var sectionRE = pattern.New(`^ *(?:(#+|={2,}|-{2,}|\*{2,}) *)?(?:(?:export|env) )?(.*?)(?: *(?:#+|={2,}|-{2,}|\*{2,}))? *:? *$`)

// parseSection reads a line that consists of settings. heading is true if signs surround other
// text, which ends a section.
func parseSection(text string) (pairs []string, marked, heading bool) {
	m := sectionRE.FindStringSubmatch(text)
	marked = len(m[1]) > 1
	for w := range strings.FieldsSeq(m[2]) {
		if !pairRE.MatchString(w) {
			return nil, false, marked
		}
		pairs = append(pairs, redact(w))
	}
	return pairs, marked, false
}

// settingLine returns the settings of a line that has nothing else. Inside a table, only a line
// with signs around it counts.
func settingLine(_ *scan, t *test, l line) []string {
	pairs, marked, _ := sectionOf(l.Text)
	if t.phase == table && !marked {
		return nil
	}
	return pairs
}

func headingLine(_ *scan, _ *test, l line) []string {
	if _, _, heading := sectionOf(l.Text); heading {
		return matched
	}
	return nil
}

// heading ends a section. The line may also name the program.
func (s *scan) heading(t *test, l line, found []string) {
	s.under = nil
	s.commandLine(t, l, found)
}

// sectionOf calls parseSection if a line may be a section. Most lines cannot be sections, because
// they lack the signs.
func sectionOf(text string) (pairs []string, marked, heading bool) {
	bare := strings.TrimLeft(text, " ")
	if bare == "" || !strings.Contains(bare, "=") && !strings.ContainsRune("#*-", rune(bare[0])) {
		return nil, false, false
	}
	return parseSection(text)
}

// setting processes a line of settings. Such a line ends the table above it, because another run
// follows. Consecutive lines form one section, unless they set the same variable.
func (s *scan) setting(t *test, l line, pairs []string) {
	_, marked, _ := sectionOf(l.Text)
	if !marked && s.under != nil && s.under.marked && !s.under.tables {
		return // a script prints its environment
	}
	if s.under == nil || s.under.tables || s.under.sets(pairs) {
		s.under = &section{line: l.no, marked: true}
		s.sections = append(s.sections, s.under)
	}
	s.under.pairs = append(s.under.pairs, pairs...)
	s.under.marked = s.under.marked && marked
	if t.phase >= table {
		s.next(t.stream).before = nil
	}
}

// sets reports whether the section sets one of the variables.
func (u *section) sets(pairs []string) bool {
	name := func(pair string) string { before, _, _ := strings.Cut(pair, "="); return before }
	return slices.ContainsFunc(pairs, func(p string) bool {
		return slices.ContainsFunc(u.pairs, func(q string) bool { return name(p) == name(q) })
	})
}

// settings returns the settings of the section without the size of the table's rows. Tables that
// have one size each and equal other settings therefore count as one run.
func (t *test) settings() []string {
	if t.under == nil || len(t.under.pairs) > maxPairs {
		return nil
	}
	sizes := map[int64]bool{}
	for _, r := range t.rows {
		sizes[r.bytes] = true
	}
	return slices.DeleteFunc(slices.Clone(t.under.pairs), func(pair string) bool {
		_, value, _ := strings.Cut(pair, "=")
		bytes, err := unit.ParseBytes(value)
		return err == nil && len(sizes) == 1 && sizes[bytes]
	})
}

// emptySections warns about settings without a table, in a log with several settings.
func (s *scan) emptySections() {
	rows := map[*section]bool{}
	for _, t := range s.tests {
		if t.under != nil && len(t.rows)+t.skips.count() > 0 {
			rows[t.under] = true
		}
	}
	for _, u := range s.sections {
		if len(rows) > 0 && !rows[u] && u.marked && len(u.pairs) <= maxPairs {
			s.warn("empty_setting", "read the log around this line: the run failed, or its output is missing", "line %d: no row follows the setting %s", u.line, strings.Join(u.pairs, " "))
		}
	}
}
