package peers

import (
	"regexp"
	"sync"
)

// lazy is a regular expression that is compiled when it is first used: every process of
// zbench has this package, few read logs, and all of them take 0.4 MB.
type lazy struct {
	text string
	get  func() *regexp.Regexp
}

func lazily(text string) *lazy {
	return &lazy{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (l *lazy) String() string                         { return l.text }
func (l *lazy) Match(b []byte) bool                    { return l.get().Match(b) }
func (l *lazy) MatchString(s string) bool              { return l.get().MatchString(s) }
func (l *lazy) FindString(s string) string             { return l.get().FindString(s) }
func (l *lazy) FindStringIndex(s string) []int         { return l.get().FindStringIndex(s) }
func (l *lazy) FindStringSubmatch(s string) []string   { return l.get().FindStringSubmatch(s) }
func (l *lazy) ReplaceAllString(s, with string) string { return l.get().ReplaceAllString(s, with) }

func (l *lazy) FindStringSubmatchIndex(s string) []int {
	return l.get().FindStringSubmatchIndex(s)
}

func (l *lazy) FindAllStringSubmatch(s string, n int) [][]string {
	return l.get().FindAllStringSubmatch(s, n)
}

func (l *lazy) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return l.get().FindAllStringSubmatchIndex(s, n)
}
