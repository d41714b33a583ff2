package peers

import (
	"slices"
	"strings"

	"zbench/bench/base/pattern"
)

// rule is a kind of line. recognise has no side effects and may depend on the phase of the test;
// take processes the line. A line belongs to the first rule that recognises it.
type rule struct {
	recognise func(s *scan, t *test, l line) []string
	take      func(s *scan, t *test, l line, found []string)
}

// ending has one bit per phase from the table on.
const ending = 1<<table | 1<<footer

// grammar lists the rules. Rules for rows come right after CSV, because most lines are rows.
var grammar = []rule{
	{csvHeader, (*scan).startCSV},
	{csvValues, (*scan).csvRow},
	{rowLine, (*scan).row},
	{signLine, (*scan).sign},
	{contains("Librccl path", libPathRE), (*scan).libraryPath},
	{contains(" version", libRE), (*scan).library},
	{contains("test starting", startRE), (*scan).start},
	{contains("-tests version", testsRE), (*scan).toolVersion},
	{contains("rccl-tests: Version", rcclTestRE), (*scan).toolVersion},
	{contains("nThread", paramRE), (*scan).parameters},
	{deviceLine, (*scan).device},
	{footLine("Out of bounds values", boundsRE, ending), (*scan).outOfBounds},
	{footLine("Avg bus bandwidth", averageRE, 1<<table), (*scan).average},
	{contains("test concluded", endRE), (*scan).concluded},
	{comment("Errors with asterisks"), func(s *scan, t *test, _ line, _ []string) { s.footed(t).asterisk = true }},
	{comment("# Testing"), func(s *scan, t *test, _ line, _ []string) { s.footed(t).cycles = true }},
	{unitLine, (*scan).units},
	{headLine, (*scan).head},
	{words("in-place", "out-of-place"), func(_ *scan, t *test, l line, _ []string) { t.banner = l.Text }},
	{settingLine, (*scan).setting},
	{headingLine, (*scan).heading},
	{words("_perf", "_test"), (*scan).commandLine},
}

// matched is the result of a rule that takes no text from the line.
var matched = []string{""}

// contains recognises a line by an expression. It first looks for a word of the expression, which
// is faster and which most lines lack.
func contains(word string, re *pattern.Pattern) func(*scan, *test, line) []string {
	return func(_ *scan, _ *test, l line) []string { return find(re, l.Text, word) }
}

// words recognises a line by one of several words.
func words(several ...string) func(*scan, *test, line) []string {
	return func(_ *scan, _ *test, l line) []string {
		if slices.ContainsFunc(several, func(w string) bool { return strings.Contains(l.Text, w) }) {
			return matched
		}
		return nil
	}
}

// comment recognises a comment line that contains a word.
func comment(word string) func(*scan, *test, line) []string {
	return func(_ *scan, _ *test, l line) []string {
		if strings.Contains(l.Text, word) && strings.HasPrefix(strings.TrimSpace(l.Text), "#") {
			return matched
		}
		return nil
	}
}

// footLine recognises a line of a footer. In the phases that are set in bare, the line may lack
// its number sign.
func footLine(word string, re *pattern.Pattern, bare int) func(*scan, *test, line) []string {
	return func(s *scan, t *test, l line) []string {
		m := find(re, l.Text, word)
		if m != nil && comment(word)(s, t, l) == nil && bare>>s.footed(t).phase&1 == 0 {
			return nil
		}
		return m
	}
}
