package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/base/plain"
)

func TestFold(t *testing.T) {
	for _, x := range []struct {
		text        string
		width       int
		first, rest string
		want        []string
	}{
		{"", 10, "", "  ", []string{""}},
		{"", 10, "Term  ", "      ", []string{"Term"}},
		{"one two three", 7, "", "", []string{"one two", "three"}},
		{"one two three", 8, "- ", "  ", []string{"- one", "  two", "  three"}},
		{"one two three", 9, "- ", "  ", []string{"- one two", "  three"}},
		{"  one  two   three ", 99, "", "", []string{"one  two   three"}},
		{"one  two   three", 8, "", "", []string{"one  two", "three"}},
		{plain.OneSpace(" one\n\ttwo  three "), 99, "", "", []string{"one two three"}},
		{"unbreakable word", 4, "", "    ", []string{"unbreakable", "    word"}},
		{"a prefix that is wide", 6, "prefix: ", "  ", []string{"prefix: a", "  prefix", "  that", "  is", "  wide"}},
		{"漢字 漢字", 8, "", "", []string{"漢字", "漢字"}},
		{"漢字 漢字", 9, "", "", []string{"漢字 漢字"}},
		{"e\u0301te\u0301 e\u0301te\u0301", 7, "", "", []string{"e\u0301te\u0301 e\u0301te\u0301"}},
		{"→ ✓ · µs", 8, "", "", []string{"→ ✓ · µs"}},
	} {
		require.Equal(t, x.want, plain.Fold(x.text, x.width, x.first, x.rest), "%q in %d", x.text, x.width)
	}
}

// letters have widths that are known by construction: one column, two, and marks
// that combine with the letter before them.
var letters = []struct {
	text  string
	width int
}{{"a", 1}, {"Z", 1}, {"-", 1}, {"µ", 1}, {"→", 1}, {"é", 1}, {"e\u0301", 1}, {"漢", 2}, {"ｗ", 2}, {"한", 2}, {"🚀", 2}}

// drawn is a text of known words with their widths.
func drawn(t *rapid.T, label string, most int) (words []string, widths []int) {
	for range rapid.IntRange(0, most).Draw(t, label) {
		word, width := "", 0
		for range rapid.IntRange(1, 12).Draw(t, "letters") {
			l := rapid.SampledFrom(letters).Draw(t, "letter")
			word, width = word+l.text, width+l.width
		}
		words, widths = append(words, word), append(widths, width)
	}
	return words, widths
}

// Every line holds as many words as fit and no more, the words are all there in
// their order, and each line begins with its indentation.
func TestFoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words, widths := drawn(t, "words", 30)
		space := rapid.SampledFrom([]string{" ", "  ", "    "}).Draw(t, "space")
		limit := rapid.IntRange(1, 40).Draw(t, "width")
		indents := [2]string{}
		taken := [2]int{}
		for i := range indents {
			n := rapid.IntRange(0, 6).Draw(t, "indent")
			wide := rapid.IntRange(0, 2).Draw(t, "wide letters")
			indents[i], taken[i] = strings.Repeat("漢", wide)+strings.Repeat(" ", n), 2*wide+n
		}
		lines := plain.Fold(strings.Join(words, space), limit, indents[0], indents[1])
		at := 0
		for i, line := range lines {
			indent, used := indents[min(i, 1)], taken[min(i, 1)]
			if len(words) == 0 {
				require.Equal(t, []string{strings.TrimRight(indents[0], " ")}, lines)
				return
			}
			body, ok := strings.CutPrefix(line, indent)
			require.True(t, ok, "%q begins with %q", line, indent)
			here := strings.Split(body, space)
			require.Equal(t, words[at:at+len(here)], here)
			used += len(space) * (len(here) - 1)
			for _, w := range widths[at : at+len(here)] {
				used += w
			}
			require.True(t, used <= limit || len(here) == 1, "%q has %d columns of %d", line, used, limit)
			if at += len(here); at < len(words) {
				require.Greater(t, used+len(space)+widths[at], limit, "%q has room for %q", line, words[at])
			}
		}
		require.Len(t, words, at)
	})
}
