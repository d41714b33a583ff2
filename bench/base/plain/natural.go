package plain

import (
	"cmp"
	"strings"
)

// Natural compares two texts, and the numbers in them by value: mlx5_2 comes before mlx5_10. The
// result is 0 only for equal texts.
func Natural(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		x, restX := chunk(a)
		y, restY := chunk(b)
		c := cmp.Compare(x, y)
		if digit(x[0]) && digit(y[0]) {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			c = cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		}
		if c != 0 {
			return c
		}
		a, b = restX, restY
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// chunk cuts the first run of digits, or of other characters, from a text.
func chunk(s string) (front, rest string) {
	i := 1
	for i < len(s) && digit(s[i]) == digit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}
