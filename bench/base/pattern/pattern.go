// Package pattern compiles regular expressions on first use. A host may run a thousand zbench
// processes. Each process initialises every package, but few processes use a regular expression.
// Declare package variables with pattern.New, not regexp.MustCompile.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression with methods of regexp.Regexp. It is safe for concurrent use. The
// first call of a method panics if the expression is invalid.
type Pattern struct {
	text string
	get  func() *regexp.Regexp
}

// New returns a pattern without compiling it.
func New(text string) *Pattern {
	return &Pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// String returns the expression.
func (p *Pattern) String() string { return p.text }

// Match calls the method of regexp.Regexp.
func (p *Pattern) Match(b []byte) bool { return p.get().Match(b) }

// MatchString calls the method of regexp.Regexp.
func (p *Pattern) MatchString(s string) bool { return p.get().MatchString(s) }

// FindString calls the method of regexp.Regexp.
func (p *Pattern) FindString(s string) string { return p.get().FindString(s) }

// FindSubmatch calls the method of regexp.Regexp.
func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.get().FindSubmatch(b) }

// FindStringSubmatch calls the method of regexp.Regexp.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }

// FindAllString calls the method of regexp.Regexp.
func (p *Pattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }

// FindAllSubmatch calls the method of regexp.Regexp.
func (p *Pattern) FindAllSubmatch(b []byte, n int) [][][]byte { return p.get().FindAllSubmatch(b, n) }

// ReplaceAll calls the method of regexp.Regexp.
func (p *Pattern) ReplaceAll(b, with []byte) []byte { return p.get().ReplaceAll(b, with) }

// ReplaceAllString calls the method of regexp.Regexp.
func (p *Pattern) ReplaceAllString(s, with string) string { return p.get().ReplaceAllString(s, with) }

// Split calls the method of regexp.Regexp.
func (p *Pattern) Split(s string, n int) []string { return p.get().Split(s, n) }

// FindStringSubmatchIndex calls the method of regexp.Regexp.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.get().FindStringSubmatchIndex(s)
}

// FindAllStringSubmatch calls the method of regexp.Regexp.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex calls the method of regexp.Regexp.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllStringFunc calls the method of regexp.Regexp.
func (p *Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.get().ReplaceAllStringFunc(s, with)
}
