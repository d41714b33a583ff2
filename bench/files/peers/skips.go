package peers

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// maxSkipLines is the number of line numbers that are kept per reason.
const maxSkipLines = 10

// skips counts the rejected rows by reason, in order of appearance.
type skips []record.Skip

func (s *skips) add(reason string, lines ...int) {
	s.merge(record.Skip{Reason: reason, Count: len(lines), Lines: lines})
}

// merge adds groups of rejected rows to the groups with the same reasons.
func (s *skips) merge(groups ...record.Skip) {
	for _, k := range groups {
		i := slices.IndexFunc(*s, func(g record.Skip) bool { return g.Reason == k.Reason })
		if i < 0 {
			i = len(*s)
			*s = append(*s, record.Skip{Reason: k.Reason})
		}
		g := &(*s)[i]
		g.Count += k.Count
		g.Lines = append(g.Lines, k.Lines...)
		slices.Sort(g.Lines)
		g.Lines = g.Lines[:min(len(g.Lines), maxSkipLines)]
	}
}

func (s skips) count() int {
	return slice.Sum(s, func(k record.Skip) int { return k.Count })
}

// text returns the reasons as text for an error message.
func (s skips) text() string {
	parts := slice.Map(s, func(k record.Skip) string {
		return fmt.Sprintf("%d rows skipped (from line %d): %s", k.Count, k.Lines[0], k.Reason)
	})
	return strings.Join(parts, "; ")
}
