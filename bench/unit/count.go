package unit

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// ErrCount is wrapped by every error of ParseCount.
var ErrCount = errors.New("not a number")

// counts maps a lower-case suffix to its factor. Unlike a size's, they are decimal:
// 760M parameters are 760 million.
var counts = map[string]int64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}

// ParseCount reads a number of things, as 760M, 8.03B, 1e9 or 40_000_000. The
// suffixes k, M, G (or B) and T are decimal. It fails on a negative number, on a
// fraction of one, and beyond 2⁶²−1.
func ParseCount(s string) (int64, error) {
	// Lower case first: it can change a text's length.
	text := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", ""))
	digits := strings.TrimRight(text, "kmgbt")
	mult, known := counts[text[len(digits):]]
	value := new(big.Rat)
	if known && 0 < len(digits) && len(digits) <= maxDigits && plainNumber(digits) {
		_, known = value.SetString(digits)
	} else {
		known = false
	}
	if !known {
		return 0, fmt.Errorf("%w: %q (write 760M, 8.03B or 40000000)", ErrCount, s)
	}
	value.Mul(value, new(big.Rat).SetInt64(mult))
	switch {
	case value.Cmp(new(big.Rat).SetInt64(maxBytes)) > 0:
		return 0, fmt.Errorf("%w: %q is too large", ErrCount, s)
	case !value.IsInt():
		return 0, fmt.Errorf("%w: %q is not whole", ErrCount, s)
	}
	return value.Num().Int64(), nil
}

// plainNumber rejects fractions such as 1/3 and exponents too large to evaluate.
func plainNumber(s string) bool {
	mantissa, exponent, _ := strings.Cut(s, "e")
	return strings.Trim(mantissa, "0123456789.") == "" && strings.Trim(strings.TrimPrefix(exponent, "+"), "0123456789") == "" && len(exponent) <= 3
}
