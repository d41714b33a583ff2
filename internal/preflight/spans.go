package preflight

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/record"
)

// spans are ascending ranges of ranks, both ends included.
type spans [][2]int

// add appends a range, and joins it to the last one if it follows.
func (s *spans) add(first, last int) {
	if n := len(*s); n > 0 && (*s)[n-1][1]+1 == first {
		(*s)[n-1][1] = last
		return
	}
	*s = append(*s, [2]int{first, last})
}

// String is the ranges as in "8-15,24".
func (s spans) String() string {
	var parts []string
	for _, r := range s {
		if r[0] == r[1] {
			parts = append(parts, strconv.Itoa(r[0]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	return strings.Join(parts, ",")
}

// shownHosts are named; more are counted. shownRanks is the longest list of ranks that is
// shown.
const (
	shownHosts = 3
	shownRanks = 24
)

// Where names the ranks and hosts of a finding for people: "ranks 8-15 on node-b". It is
// empty where the finding is of all ranks of several hosts.
func (r Report) Where(f record.PreflightFound) string {
	n := 0
	for part := range strings.SplitSeq(f.Ranks, ",") {
		a, b, both := strings.Cut(part, "-")
		if !both {
			b = a
		}
		first, err := strconv.Atoi(a)
		last, err2 := strconv.Atoi(b)
		if err != nil || err2 != nil {
			return ""
		}
		n += last - first + 1
	}
	if n == r.Ranks {
		return ""
	}
	ranks := "ranks " + f.Ranks
	switch {
	case n == 1:
		ranks = "rank " + f.Ranks
	case len(f.Ranks) > shownRanks:
		ranks = plain.Count(n, "rank")
	}
	switch {
	case r.Hosts == 1 || len(f.Hosts) == 0:
		return ranks
	case len(f.Hosts) > shownHosts:
		return fmt.Sprintf("%s on %d hosts (%s, …)", ranks, len(f.Hosts), strings.Join(f.Hosts[:shownHosts], ", "))
	}
	return ranks + " on " + strings.Join(f.Hosts, ", ")
}
