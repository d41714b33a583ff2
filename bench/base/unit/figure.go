package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
)

// None is printed for a missing figure.
const None = "–"

// Type whole lists the types of counts.
type whole interface{ int | int64 }

// Comma prints a whole number with thousands separators.
func Comma[N whole](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	if digits, negative := strings.CutPrefix(s, "-"); negative {
		return "-" + Separate(digits)
	}
	return Separate(s)
}

// Separate puts commas between thousands.
func Separate(digits string) string {
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Count formats a number of things with thousands separators: "1 node", "1,024 ranks".
func Count[N whole](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Comma(n) + " " + plain.Plural(word)
}

// Percent prints a fraction: "80 %".
func Percent(f float64) string {
	if !Finite(f) {
		return None
	}
	return Shortest(math.Round(f*1000)/10) + " %"
}

// SmallPercent prints a fraction like Percent. A fraction above 0 that would print as 0 prints as
// "<0.1 %".
func SmallPercent(f float64) string {
	if f > 0 && f < 0.0005 {
		return "<0.1 %"
	}
	return Percent(f)
}

// Finite reports whether v is a number that can be printed.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Shortest prints v with thousands separators and without trailing zeros or an exponent.
func Shortest(v float64) string {
	s := strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
	integer, _, _ := strings.Cut(s, ".")
	return Separate(integer) + s[len(integer):]
}

// FirstFew joins the first n words and says how many more there are.
func FirstFew(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:n], ", ") + " and " + Comma(len(words)-n) + " more"
}

// Share prints a ratio as a percentage: 0.4 %, 80 %.
func Share(r float64) string {
	p := 100 * r
	if tenths := math.Round(10*p) / 10; math.Abs(p) < 9.95 && tenths != math.Trunc(tenths) {
		return fmt.Sprintf("%.1f %%", tenths)
	}
	return fmt.Sprintf("%.0f %%", p)
}

// Part prints a ratio like Share, and very small ratios as "<0.1 %": <0.1 %, 9.5 %, 42 %.
func Part(f float64) string {
	if !Finite(f) || f > 0 && f < 0.0005 {
		return SmallPercent(f)
	}
	return Share(f)
}

// Change prints a relative change: +3.1 %, −0.2 %, +12 %. If the change is not finite, it prints a
// question mark.
func Change(x float64) string {
	if !Finite(x) {
		return "?"
	}
	digits := 1
	if math.Abs(x) >= 0.1 {
		digits = 0
	}
	return strings.Replace(fmt.Sprintf("%+.*f %%", digits, 100*x), "-", "−", 1)
}

// Hertz prints a frequency in GHz. The argument is in Hz.
func Hertz(v float64) string { return fmt.Sprintf("%.2f GHz", v/1e9) }

// Flops prints a rate of floating-point operations per second, as in 698 TFLOP/s. Rates of 10,000
// TFLOP/s and more are in PFLOP/s, as in 22.3 PFLOP/s.
func Flops(v float64) string {
	if v >= 1e16 {
		return Digits(v/1e15) + " PFLOP/s"
	}
	return Digits(v/1e12) + " TFLOP/s"
}
