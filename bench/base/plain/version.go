package plain

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// leading matches the numbers at the beginning of a version.
var leading = pattern.New(`^\d+(\.\d+)*`)

// Version compares versions by their leading numbers: 2.9 comes before 2.28.3-rc, and 2.28 equals
// 2.28.0.
func Version(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

// numbers returns the numbers at the beginning of a version, without trailing zeros: 2.28.0-rc
// gives 2 and 28.
func numbers(version string) []int {
	var out []int
	for part := range strings.SplitSeq(leading.FindString(version), ".") {
		n, _ := strconv.Atoi(part)
		out = append(out, n)
	}
	for len(out) > 0 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}
