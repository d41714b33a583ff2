package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule is one place of the loopback's sources that refuses a call: an error that it returns,
// or one of the conditions that lead there.
type rule struct {
	file, function, text string
	line                 int
}

func (r rule) String() string {
	return fmt.Sprintf("%s:%d %s: %s", r.file, r.line, r.function, r.text)
}

// edit replaces a part of a source.
type edit struct {
	from, to int
	macro    string
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|(?m:^#(?:[^\n]*\\\n)*[^\n]*)`)
	codes    = regexp.MustCompile(`\b(?:ZB_ERR_\w+|ZB_COLL_\w+|ZBL_ERR_\w+|ZB_COLL_IN_PROGRESS)\b`)
	// notReturned stands before a constant that is compared, named or listed.
	notReturned = regexp.MustCompile(`(?:[!=]= *|case +|\{|enum \{[^}]*)$`)
	ifs         = regexp.MustCompile(`\bif \(`)
	// refusals are the macros that return an error where their first argument holds.
	refusals = regexp.MustCompile(`\bZBL_(REFUSE|FAIL|REFUSE_CALL)\(`)
	returns  = regexp.MustCompile(`\breturn\b`)
	// predicates are the functions that say whether arguments are right.
	predicates = regexp.MustCompile(`^(?:zbl_\w+_ok|zbl_copyable|zbl_valid_range)$`)
	functions  = regexp.MustCompile(`(?m)^[a-z][^\n;={}]*?\b(\w+)\([^;{}]*\) \{$`)
)

// plantRules copies the sources of the loopback into a folder, with a switch at each rule.
func plantRules(t *testing.T, to string) []rule {
	var rules []rule
	for _, pattern := range []string{"unity.c", "c/*", "c/*/*", "kernels/*", "testdata/*.h", "testdata/*.c", "testdata/rules/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			if s, err := os.Stat(file); err != nil || s.IsDir() {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if m, _ := filepath.Match("c/*/*.c", file); m {
				text = plant(file, text, &rules)
			}
			file = filepath.Join(to, file)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, text, 0o600))
		}
	}
	return rules
}

// plant puts the switches of one source in. Comments, texts and the preprocessor's lines
// are left alone.
func plant(file string, text []byte, rules *[]rule) []byte {
	bare := comments.ReplaceAllFunc(text, func(b []byte) []byte {
		b = slices.Clone(b)
		for i := range b {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
		return b
	})
	source := string(bare)
	edits := slices.Concat(returnedCodes(source), conditions(source), predicateTerms(source))
	// Of two that begin together the outer one is written first.
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	open, shut := map[int]string{}, map[int]string{}
	for _, e := range edits {
		n := len(*rules)
		*rules = append(*rules, rule{
			file, functionAt(source, e.from),
			strings.Join(strings.Fields(string(text[e.from:e.to])), " "), 1 + strings.Count(source[:e.from], "\n"),
		})
		open[e.from] += fmt.Sprintf("%s(%d, ", e.macro, n)
		shut[e.to] += ")"
	}
	var out strings.Builder
	for i, b := range text {
		out.WriteString(shut[i] + open[i])
		out.WriteByte(b)
	}
	return []byte(out.String())
}

// functionAt is the function that a place is in.
func functionAt(source string, at int) string {
	name := ""
	for _, m := range functions.FindAllStringSubmatchIndex(source, -1) {
		if m[0] <= at {
			name = source[m[2]:m[3]]
		}
	}
	return name
}

// returnedCodes are the errors that are not merely compared or named.
func returnedCodes(source string) []edit {
	var edits []edit
	for _, m := range codes.FindAllStringIndex(source, -1) {
		before := source[max(0, m[0]-200):m[0]]
		if notReturned.MatchString(before) || strings.HasPrefix(source[m[1]:], " =") || strings.HasPrefix(source[m[1]:], ":") || functionAt(source, m[0]) == "" {
			continue
		}
		edits = append(edits, edit{m[0], m[1], "RULE_CODE"})
	}
	return edits
}

// conditions are what leads to an error where several things do, joined by ||: in an if, or
// before a return's question mark.
func conditions(source string) []edit {
	var edits []edit
	for _, m := range ifs.FindAllStringIndex(source, -1) {
		end := matching(source, m[1]-1)
		body := strings.TrimLeft(source[end+1:], " {\n")
		statement, _, _ := strings.Cut(body, ";")
		if strings.HasPrefix(body, "return") && (codes.MatchString(statement) || strings.Contains(statement, "zbl_failing")) {
			edits = append(edits, terms(source, m[1], end, "||", "RULE_BAD")...)
		}
	}
	for _, m := range refusals.FindAllStringSubmatchIndex(source, -1) {
		end := argument(source, m[1])
		if codes.MatchString(source[end:matching(source, m[1]-1)]) || source[m[2]:m[3]] == "FAIL" {
			edits = append(edits, terms(source, m[1], end, "||", "RULE_BAD")...)
		}
	}
	for _, m := range returns.FindAllStringIndex(source, -1) {
		end := m[1] + strings.IndexAny(source[m[1]:], ";?")
		if source[end] == '?' && codes.MatchString(source[end:end+strings.Index(source[end:], ";")]) {
			edits = append(edits, terms(source, m[1], end, "||", "RULE_BAD")...)
		}
	}
	return edits
}

// predicateTerms are what the predicates ask for, joined by &&.
func predicateTerms(source string) []edit {
	var edits []edit
	for _, m := range returns.FindAllStringIndex(source, -1) {
		if end := m[1] + strings.Index(source[m[1]:], ";"); predicates.MatchString(functionAt(source, m[0])) {
			edits = append(edits, terms(source, m[1], end, "&&", "RULE_GOOD")...)
		}
	}
	return edits
}

// argument is where the argument of a macro ends that begins at a place: at a comma outside all parentheses.
func argument(source string, at int) int {
	for ; source[at] != ','; at++ {
		if source[at] == '(' {
			at = matching(source, at)
		}
	}
	return at
}

// matching is where the parenthesis ends that begins at a place.
func matching(source string, at int) int {
	depth := 0
	for i := at; ; i++ {
		switch source[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
}

// terms are the parts of source[from:to] between an operator outside all parentheses; none
// where there is one part only, or where both operators stand.
func terms(source string, from, to int, operator, macro string) []edit {
	var edits []edit
	depth, begin := 0, from
	add := func(end int) {
		part := source[begin:end]
		left := len(part) - len(strings.TrimLeft(part, " \n"))
		edits = append(edits, edit{begin + left, begin + len(strings.TrimRight(part, " \n")), macro})
		begin = end + len(operator)
	}
	for i := from; i < to; i++ {
		switch {
		case source[i] == '(':
			depth++
		case source[i] == ')':
			depth--
		case depth == 0 && strings.HasPrefix(source[i:], operator):
			add(i)
		}
	}
	if add(to); len(edits) == 1 {
		return nil
	}
	return edits
}
