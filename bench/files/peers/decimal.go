package peers

import (
	"math"
	"strconv"
	"strings"
)

// decimal is a printed unsigned number in eight bytes: digits times a power of ten. It keeps the
// number of printed digits, so that 21.30 differs from 21.3. The zero value is not a number.
type decimal uint64

const (
	// present marks a number. marked marks a number followed by an asterisk. hidden marks the text
	// N/A.
	present decimal = 1 << 63
	marked  decimal = 1 << 62
	hidden  decimal = 1 << 61

	mantissaBits = 50
	// maxDigits is the largest number of digits that fits into every mantissa.
	maxDigits = 15
	// maxPower bounds the power of ten. No benchmark prints a larger power.
	maxPower = 300
)

// parseDecimal reads an unsigned decimal with an optional exponent, as printf writes it. It refuses
// any other text, such as hexadecimal numbers, inf, or more than 15 digits.
func parseDecimal(s string) (decimal, bool) {
	if !isDecimal(s) {
		return 0, false
	}
	mantissa, power := s, 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		e, err := strconv.Atoi(s[at+1:])
		if err != nil || abs(e) > maxPower {
			return 0, false
		}
		mantissa, power = s[:at], e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if power -= len(fraction); len(digits) > maxDigits || abs(power) > maxPower {
		return 0, false
	}
	m, _ := strconv.ParseUint(digits, 10, 64) // 0 if there are no digits
	return present | decimal(power+maxPower)<<mantissaBits | decimal(m), true
}

// isDecimal reports whether s is digits, with an optional fraction and an optional exponent.
func isDecimal(s string) bool {
	mantissa, exponent := s, "0"
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa, exponent = s[:at], strings.TrimLeft(s[at+1:min(at+2, len(s))], "+-")+s[min(at+2, len(s)):]
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	return digits(whole) && digits(exponent) && (!point || digits(fraction))
}

// run returns the end of the run of digits at a position.
func run(s string, from int) int {
	for from < len(s) && isDigit(s[from]) {
		from++
	}
	return from
}

// parts returns the mantissa and the power of ten.
func (d decimal) parts() (mantissa uint64, power int) {
	return uint64(d) & (1<<mantissaBits - 1), int(d>>mantissaBits&0x7ff) - maxPower
}

// shifted returns the number times 10^by, rounded once: 34.73 shifted by -6 is 3.473e-05, but
// 34.73*1e-6 is not.
func (d decimal) shifted(by int) float64 {
	m, power := d.parts()
	power += by
	// cannot fail: the text is a decimal within range
	v, _ := strconv.ParseFloat(strconv.FormatUint(m, 10)+"e"+strconv.Itoa(power), 64)
	return v
}

func (d decimal) value() float64 { return d.shifted(0) }

// half returns half a unit in the last printed digit.
func (d decimal) half() float64 {
	_, power := d.parts()
	return 0.5 * math.Pow10(power)
}

func (d decimal) lo() float64 { return max(d.value()-d.half(), 0) }
func (d decimal) hi() float64 { return d.value() + d.half() }

// coarseness returns half a unit in the last printed digit, divided by the value.
func (d decimal) coarseness() float64 { return d.half() / d.value() }

// String returns the number with its printed digits.
func (d decimal) String() string {
	m, power := d.parts()
	text := strconv.FormatUint(m, 10)
	if power == 0 {
		return text
	}
	if power < 0 && power >= -6 {
		text = strings.Repeat("0", max(0, 1-power-len(text))) + text
		return text[:len(text)+power] + "." + text[len(text)+power:]
	}
	return strconv.FormatFloat(d.value(), 'e', len(text)-1, 64)
}

// scaled returns a printed number in base units. unit must be a power of ten.
func scaled(d decimal, unit float64) float64 {
	return d.shifted(int(math.Round(math.Log10(unit))))
}

// parseCell reads the cell of wrong elements: a number, a number with an asterisk, or N/A. An empty
// cell gives no number but is valid.
func parseCell(s string) (decimal, bool) {
	switch s {
	case "":
		return 0, true
	case "N/A":
		return hidden, true
	}
	d, ok := parseDecimal(strings.TrimSuffix(s, "*"))
	if ok && strings.HasSuffix(s, "*") {
		d |= marked
	}
	return d, ok
}
