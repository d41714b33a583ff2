// Package pattern holds regular expressions that are compiled on first use. Every process of zbench
// initialises every package, and a run may have a thousand of them on a host; few use a regular
// expression. Declare package variables with pattern.New, not regexp.MustCompile.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression with the methods of regexp.Regexp, which several goroutines may
// call at once. The first call panics if the text is invalid.
type Pattern struct {
	text string
	get  func() *regexp.Regexp
}

// New stores the text without compiling it.
func New(text string) *Pattern {
	return &Pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// String returns the text.
func (p *Pattern) String() string { return p.text }

// Match is regexp.Regexp's.
func (p *Pattern) Match(b []byte) bool { return p.get().Match(b) }

// MatchString is regexp.Regexp's.
func (p *Pattern) MatchString(s string) bool { return p.get().MatchString(s) }

// FindString is regexp.Regexp's.
func (p *Pattern) FindString(s string) string { return p.get().FindString(s) }

// FindSubmatch is regexp.Regexp's.
func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.get().FindSubmatch(b) }

// FindStringSubmatch is regexp.Regexp's.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }

// FindAllString is regexp.Regexp's.
func (p *Pattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }

// FindAllSubmatch is regexp.Regexp's.
func (p *Pattern) FindAllSubmatch(b []byte, n int) [][][]byte { return p.get().FindAllSubmatch(b, n) }

// ReplaceAll is regexp.Regexp's.
func (p *Pattern) ReplaceAll(b, with []byte) []byte { return p.get().ReplaceAll(b, with) }

// ReplaceAllString is regexp.Regexp's.
func (p *Pattern) ReplaceAllString(s, with string) string { return p.get().ReplaceAllString(s, with) }

// Split is regexp.Regexp's.
func (p *Pattern) Split(s string, n int) []string { return p.get().Split(s, n) }

// FindStringSubmatchIndex is regexp.Regexp's.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.get().FindStringSubmatchIndex(s)
}

// FindAllStringSubmatch is regexp.Regexp's.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is regexp.Regexp's.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllStringFunc is regexp.Regexp's.
func (p *Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, with)
}
