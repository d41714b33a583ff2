package peers

import (
	"slices"
	"strings"

	"zbench/bench/pattern"
)

// rule is a kind of line: in which phases of a test it can stand, how it is recognised, which changes nothing, and
// what it means. A line is of the first kind that recognises it.
type rule struct {
	in        int // a bit for each phase
	recognise func(s *scan, t *test, l line) []string
	take      func(s *scan, t *test, l line, found []string)
}

// anywhere are all phases, ending those from the table on.
const (
	anywhere = 1<<preamble | 1<<devices | 1<<table | 1<<footer
	ending   = 1<<table | 1<<footer
)

// grammar are the kinds of lines. A row comes first after CSV: most lines are rows.
var grammar = []rule{
	{anywhere, csvHeader, (*scan).startCSV},
	{anywhere, csvValues, (*scan).csvRow},
	{anywhere, rowLine, (*scan).row},
	{anywhere, signLine, (*scan).sign},
	{anywhere, contains("Librccl path", libPathRE), (*scan).libraryPath},
	{anywhere, contains(" version", libRE), (*scan).library},
	{anywhere, contains("test starting", startRE), (*scan).start},
	{anywhere, contains("-tests version", testsRE), (*scan).toolVersion},
	{anywhere, contains("rccl-tests: Version", rcclTestRE), (*scan).toolVersion},
	{anywhere, contains("nThread", paramRE), (*scan).parameters},
	{anywhere, deviceLine, (*scan).device},
	{anywhere, footLine("Out of bounds values", boundsRE, ending), (*scan).outOfBounds},
	{anywhere, footLine("Avg bus bandwidth", averageRE, 1<<table), (*scan).average},
	{anywhere, contains("test concluded", endRE), (*scan).concluded},
	{anywhere, comment("Errors with asterisks"), func(s *scan, t *test, _ line, _ []string) { s.footed(t).asterisk = true }},
	{anywhere, comment("# Testing"), func(s *scan, t *test, _ line, _ []string) { s.footed(t).cycles = true }},
	{anywhere, unitLine, (*scan).units},
	{anywhere, headLine, (*scan).head},
	{anywhere, words("in-place", "out-of-place"), func(_ *scan, t *test, l line, _ []string) { t.banner = l.Text }},
	{anywhere, settingLine, (*scan).setting},
	{anywhere, headingLine, (*scan).heading},
	{anywhere, words("_perf", "_test"), (*scan).commandLine},
}

// matched is what a kind finds that needs nothing of the line.
var matched = []string{""}

// contains recognises a line by an expression. Most lines lack its word, which is found faster.
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

// comment recognises a line by its number sign and a word.
func comment(word string) func(*scan, *test, line) []string {
	return func(_ *scan, _ *test, l line) []string {
		if strings.Contains(l.Text, word) && strings.HasPrefix(strings.TrimSpace(l.Text), "#") {
			return matched
		}
		return nil
	}
}

// footLine recognises a line of a footer. Its number sign may have been lost in some phases.
func footLine(word string, re *pattern.Pattern, bare int) func(*scan, *test, line) []string {
	return func(s *scan, t *test, l line) []string {
		m := find(re, l.Text, word)
		if m != nil && comment(word)(s, t, l) == nil && bare>>s.footed(t).phase&1 == 0 {
			return nil
		}
		return m
	}
}
