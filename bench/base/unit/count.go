package unit

import (
	"errors"
	"fmt"
	"strings"
)

// ErrCount is wrapped by every error of ParseCount.
var ErrCount = errors.New("not a number")

// counts maps a lower-case suffix to its factor. Suffixes of counts are decimal, unlike suffixes of
// sizes: 760M parameters are 760 million.
var counts = map[string]int64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}

// ParseCount reads a number of things, such as 760M, 8.03B, 1e9 or 40_000_000. The suffixes k, M, G
// (or B) and T are decimal. It fails on negative numbers, on fractions, and beyond 2⁶²−1.
func ParseCount(s string) (int64, error) {
	// Convert to lower case first, because this can change the text's length.
	text := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", ""))
	digits := strings.TrimRight(text, "kmgbt")
	mult, known := counts[text[len(digits):]]
	if !known || !plainNumber(digits) {
		digits = ""
	}
	n, flaw := times(digits, mult)
	switch flaw {
	case "":
		return n, nil
	case notANumber:
		return 0, fmt.Errorf("%w: %q (write 760M, 8.03B or 40000000)", ErrCount, s)
	}
	return 0, fmt.Errorf("%w: %q is %s", ErrCount, s, flaw)
}

// plainNumber rejects fractions such as 1/3 and exponents too large to evaluate.
func plainNumber(s string) bool {
	mantissa, exponent, _ := strings.Cut(s, "e")
	return strings.Trim(mantissa, "0123456789.") == "" && strings.Trim(strings.TrimPrefix(exponent, "+"), "0123456789") == "" && len(exponent) <= 3
}
