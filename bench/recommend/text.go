package recommend

import (
	"fmt"
	"strconv"
)

// Count prints a number of elements with three digits: 350 M, 1.02 G.
func Count(n int64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v := float64(n) / u.size; v >= 0.9995 {
			return fmt.Sprintf("%s %s", strconv.FormatFloat(v, 'g', max(3, digits(v)), 64), u.name)
		}
	}
	return strconv.FormatInt(n, 10)
}

// digits is how many digits v has before the point.
func digits(v float64) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

// percent prints a share: 0.4 %, 12 %, 147 %.
func percent(share float64) string {
	switch p := 100 * share; {
	case p < 0.05:
		return "0 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// calls says "one message" or "21 messages".
func calls(n int) string {
	if n == 1 {
		return "one message"
	}
	return fmt.Sprintf("%d messages", n)
}
