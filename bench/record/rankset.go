package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ranges writes ascending numbers as ranges: 0-4,6.
func ranges(ascending []int) string {
	var b strings.Builder
	for i := 0; i < len(ascending); i++ {
		first := ascending[i]
		for i+1 < len(ascending) && ascending[i+1] == ascending[i]+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(first))
		if ascending[i] > first {
			b.WriteString("-" + strconv.Itoa(ascending[i]))
		}
	}
	return b.String()
}

// span is a range of numbers, both ends included.
type span struct{ first, last int }

// spans reads what ranges writes, and nothing else.
func spans(text string) ([]span, error) {
	var list []span
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, more := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if err == nil && more {
			last, err = strconv.Atoi(hi)
		}
		s := span{first, last}
		if err != nil || s.text("-") != part || last < first || more && last == first || first < 0 || last > maxCount {
			return nil, fmt.Errorf("%q is not a range of ranks", part)
		}
		if n := len(list); n > 0 && first <= list[n-1].last+1 {
			return nil, fmt.Errorf("the range %s does not follow the range before it", part)
		}
		list = append(list, s)
	}
	return list, nil
}

func (s span) text(to string) string {
	if s.first == s.last {
		return strconv.Itoa(s.first)
	}
	return strconv.Itoa(s.first) + to + strconv.Itoa(s.last)
}

// RankList writes a set of ranks for a table: "3, 17–23".
func RankList(set string) string {
	return strings.ReplaceAll(strings.ReplaceAll(set, ",", ", "), "-", "–")
}

// maxSpans is how many ranges a sentence holds.
const maxSpans = 12

// RankText writes a set of ranks for people: "ranks 3, 17–23"; all of them where
// there are so many.
func RankText(set string, count, of int) string { return setText("rank", "ranks", set, count, of) }

// ProcessText writes ascending numbers of processes for people, as RankText does.
func ProcessText(numbers []int, of int) string {
	return setText("process", "processes", ranges(numbers), len(numbers), of)
}

func setText(one, many, set string, count, of int) string {
	list, err := spans(set)
	switch {
	case err != nil:
		return many + " " + set
	case count == of && of > 1:
		return fmt.Sprintf("all %d %s", of, many)
	}
	words := make([]string, 0, maxSpans)
	for i, s := range list {
		if i == maxSpans {
			words = append(words, fmt.Sprintf("… (%d %s)", count, many))
			break
		}
		words = append(words, s.text("–"))
	}
	if count == 1 {
		return one + " " + words[0]
	}
	return many + " " + strings.Join(words, ", ")
}

// check refuses evidence that cannot be of ranks of this many.
func (e *Evidence) check() error {
	if e == nil {
		return nil
	}
	if phases[e.During] == "" || e.Iterations < 0 || e.Iterations > maxCount || len(e.Ranks) == 0 {
		return fmt.Errorf("evidence during %q, %d launches, %d groups of ranks", e.During, e.Iterations, len(e.Ranks))
	}
	if d := e.Deadline; d != nil && !(*d >= 0 && *d <= maxSeconds) {
		return fmt.Errorf("evidence: a deadline of %g s", *d)
	}
	if err := e.Witness.check(); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	var all []span
	for _, r := range e.Ranks {
		if err := r.check(e.Iterations); err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		list, _ := spans(r.Ranks) // checked
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b span) int { return a.first - b.first })
	for i := 1; i < len(all); i++ {
		if all[i].first <= all[i-1].last {
			return fmt.Errorf("evidence: rank %d is listed twice", all[i].first)
		}
	}
	return nil
}

func (r RankEvidence) check(iterations int) error {
	list, err := spans(r.Ranks)
	if err != nil {
		return err
	}
	count := 0
	for _, s := range list {
		count += s.last - s.first + 1
	}
	switch {
	case !slices.Contains(rankStates, r.State):
		return fmt.Errorf("state %q: valid are %q", r.State, rankStates)
	case count != r.Count:
		return fmt.Errorf("ranks %s: count is %d, not %d", r.Ranks, count, r.Count)
	}
	for _, n := range []*int{&r.Enqueued, r.Started, r.Ended} {
		if n != nil && (*n < 0 || *n > iterations) {
			return fmt.Errorf("ranks %s: %d of %d launches", r.Ranks, *n, iterations)
		}
	}
	return nil
}
