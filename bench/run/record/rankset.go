package record

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
)

// RankSet writes ascending numbers as a set: 0-4,6.
func RankSet(ascending []int) string {
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

// spans reads what RankSet writes; other texts are errors.
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

// RanksIn returns the number of ranks in a set.
func RanksIn(set string) (int, error) {
	list, err := spans(set)
	return slice.Sum(list, func(s span) int { return s.last - s.first + 1 }), err
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

// maxSpans is the most ranges in a sentence.
const maxSpans = 12

// RankText formats a set of ranks for people: "ranks 3, 17–23", or all of them.
func RankText(set string, count, of int) string { return setText("rank", "ranks", set, count, of) }

// ProcessText writes ascending numbers of processes for people, as RankText does.
func ProcessText(numbers []int, of int) string {
	return setText("process", "processes", RankSet(numbers), len(numbers), of)
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
