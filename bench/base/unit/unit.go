// Package unit parses and prints the quantities zbench stores: bytes, seconds
// and rates. Everything is stored in base units (bytes, seconds, bytes per
// second) and scaled here, at the last moment.
//
// Sizes are printed in IEC units (KiB = 1024 B). Rates are printed in decimal units (GB/s = 1e9
// B/s). rccl-tests and the vendors' data sheets use the same units.
package unit

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// IEC multiples, in bytes.
const (
	KiB int64 = 1 << (10 * (iota + 1))
	MiB
	GiB
	TiB
)

// maxBytes leaves room to double any size without overflow.
const maxBytes = math.MaxInt64 / 2

// ErrSize is wrapped by every error of ParseBytes.
var ErrSize = errors.New("not a size")

// multiples maps a lower-case suffix to bytes. The suffixes K, M, G and T are binary, as in
// rccl-tests. The suffixes kB, MB, GB and TB are decimal, as in SI.
var multiples = map[string]int64{
	"": 1, "b": 1,
	"k": KiB, "m": MiB, "g": GiB, "t": TiB,
	"kib": KiB, "mib": MiB, "gib": GiB, "tib": TiB,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// maxDigits bounds the length of a number's text. 19 digits hold the largest size; the remaining
// places allow for leading and trailing zeros.
const maxDigits = 64

// ParseBytes reads a size such as 8, 1K, 512MiB, 1.5GiB or 10MB as bytes.
// K, M, G and T are binary, as in rccl-tests; kB, MB, GB and TB are decimal.
// The arithmetic is exact: 2.3MB is 2,300,000 bytes. It fails on a negative
// size, on a fraction of a byte, and beyond 2⁶²−1 bytes.
func ParseBytes(s string) (int64, error) {
	text := strings.TrimSpace(s)
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	mult, known := multiples[strings.ToLower(strings.TrimSpace(text[end:]))]
	n, flaw := times(text[:end], mult)
	switch {
	case !known || flaw == notANumber:
		return 0, fmt.Errorf("%w: %q (write 8, 1K, 512MiB, 8G or 10MB)", ErrSize, s)
	case flaw == notWhole:
		return 0, fmt.Errorf("%w: %q is not a whole number of bytes", ErrSize, s)
	case flaw != "":
		return 0, fmt.Errorf("%w: %q is %s", ErrSize, s, flaw)
	}
	return n, nil
}

// Reasons why the function times rejects a number.
const (
	notANumber = "not a number"
	tooLarge   = "too large"
	notWhole   = "not whole"
)

// The function times multiplies a decimal number exactly. flaw is empty if the product is whole
// and at most maxBytes.
func times(digits string, by int64) (product int64, flaw string) {
	value := new(big.Rat)
	if digits == "" || len(digits) > maxDigits {
		return 0, notANumber
	}
	if _, ok := value.SetString(digits); !ok {
		return 0, notANumber
	}
	value.Mul(value, new(big.Rat).SetInt64(by))
	switch {
	case value.Cmp(new(big.Rat).SetInt64(maxBytes)) > 0:
		return 0, tooLarge
	case !value.IsInt():
		return 0, notWhole
	}
	return value.Num().Int64(), ""
}

// scale is a unit with its size.
type scale struct {
	size float64
	name string
}

var (
	byteScales = []scale{{float64(TiB), "TiB"}, {float64(GiB), "GiB"}, {float64(MiB), "MiB"}, {float64(KiB), "KiB"}, {1, "B"}}
	timeScales = []scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}
	rateScales = []scale{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}
	numScales  = []scale{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
	flopScales = []scale{{1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1, "FLOP"}}
)

// almostOne is the smallest ratio that prints as 1.00. A value that rounds up to the next unit
// prints in that unit: 1.00 MiB, not 1024 KiB.
const almostOne = 0.9995

// pick returns the largest unit that v reaches, or the smallest unit.
func pick(ladder []scale, v float64) scale {
	for _, s := range ladder {
		if math.Abs(v) >= almostOne*s.size {
			return s
		}
	}
	return ladder[len(ladder)-1]
}

// Bytes prints a size in IEC units: "512 KiB", "1.46 MiB", "8 GiB". A whole number of units prints
// without decimals. Any other number prints with three digits.
func Bytes(b int64) string {
	s := pick(byteScales, float64(b))
	if size := int64(s.size); b%size == 0 {
		return strconv.FormatInt(b/size, 10) + " " + s.name
	}
	return Digits(float64(b)/s.size) + " " + s.name
}

// Seconds prints a duration, given in seconds: "13.1 µs", "4.27 ms".
func Seconds(s float64) string { return scaled(timeScales, s) }

// Rate prints a rate, given in bytes per second: "357 GB/s".
func Rate(bps float64) string { return scaled(rateScales, bps) }

// Number prints a count with a decimal prefix: "350 M", "16".
func Number(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1000 {
		return strconv.Itoa(int(n))
	}
	return scaled(numScales, n)
}

// Operations prints a number of floating-point operations: "57.9 GFLOP".
func Operations(n float64) string { return scaled(flopScales, n) }

func scaled(ladder []scale, v float64) string {
	if !Finite(v) {
		return "—"
	}
	s := pick(ladder, v)
	return strings.TrimSpace(Digits(v/s.size) + " " + s.name)
}

// Digits prints v with three significant digits and all digits before the point, never in exponent
// form: 0.0123, 1.46, 35.2, 357, 1024.
func Digits(v float64) string {
	if v == 0 {
		return "0"
	}
	// the exponent after rounding, so that 9.996 prints as 10.0, not 10.00
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	e, _ := strconv.Atoi(exponent)
	return strconv.FormatFloat(v, 'f', max(0, 2-e), 64)
}
