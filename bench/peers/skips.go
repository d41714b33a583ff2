package peers

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/record"
)

// maxSkipLines is the number of line numbers kept for one reason.
const maxSkipLines = 10

// skips counts rows that were not taken, by reason, in order of appearance.
type skips []record.Skip

func (s *skips) add(reason string, lines ...int) {
	s.merge(record.Skip{Reason: reason, Count: len(lines), Lines: lines})
}

// merge adds groups of skipped rows to the groups of the same reasons.
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
	n := 0
	for _, k := range s {
		n += k.Count
	}
	return n
}

// text lists the reasons for an error message.
func (s skips) text() string {
	parts := make([]string, len(s))
	for i, k := range s {
		parts[i] = fmt.Sprintf("%d rows skipped (from line %d): %s", k.Count, k.Lines[0], k.Reason)
	}
	return strings.Join(parts, "; ")
}
