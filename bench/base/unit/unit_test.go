package unit

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "8": 8, "8B": 8, "8 b": 8, " 12 ": 12, "007": 7,
		"1K": 1 << 10, "1k": 1 << 10, "1KiB": 1 << 10, "1 kib": 1 << 10, "1kB": 1000, "1KB": 1000,
		"1M": 1 << 20, "1MiB": 1 << 20, "1MB": 1e6, "1mb": 1e6,
		"8G": 8 << 30, "8GiB": 8 << 30, "8GB": 8e9, "2T": 2 << 40, "2TiB": 2 << 40, "2TB": 2e12,
		"1.5GiB": 3 << 29, ".5K": 512, "4.K": 4096, "0.25M": 1 << 18,
		// In floating point this one is 2299999.9999999995.
		"2.3MB": 2300000, "0.0003GB": 300000, "8.7MB": 8700000,
		"4611686018427387903": 1<<62 - 1,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseBytesErrors(t *testing.T) {
	for text, says := range map[string]string{
		"": "write 8, 1K", " ": "write", "K": "write", "-1": "write", "+1": "write", "1e3": "write", "0x10": "write",
		"1..5": "write", ".": "write", "1.2.3M": "write", "1 M B": "write", "1Q": "write", "1,5M": "write", "NaN": "write", "Inf": "write",
		"1MiBs": "write", "１K": "write", strings.Repeat("1", 65): "write",
		"0.5": "whole number", "1.1K": "whole number", "0.0001KB": "whole number",
		"4611686018427387904": "too large", "4194304T": "too large", "9223372036854775807": "too large",
		"9223372036854775808": "too large", "18446744073709551617": "too large", "99999999999999999999T": "too large", "4300000.5T": "too large",
	} {
		n, err := ParseBytes(text)
		require.ErrorIs(t, err, ErrSize, text)
		require.ErrorContains(t, err, says, text)
		require.ErrorContains(t, err, strconv.Quote(text))
		require.Zero(t, n)
	}
}

func TestBytes(t *testing.T) {
	for b, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1025: "1.00 KiB", 1536: "1.50 KiB", 10240: "10 KiB",
		512 * KiB: "512 KiB", 1023 * KiB: "1023 KiB", MiB - 1: "1.00 MiB", MiB: "1 MiB", MiB + 1: "1.00 MiB",
		MiB * 146 / 100: "1.46 MiB", 100*MiB - 1: "100 MiB", 133*MiB + 7: "133 MiB", GiB: "1 GiB", 8 * GiB: "8 GiB", 16 * TiB: "16 TiB",
		2048 * TiB: "2048 TiB", -512: "-512 B", -3 * MiB / 2: "-1.50 MiB", math.MaxInt64: "8388608 TiB",
	} {
		require.Equal(t, want, Bytes(b))
	}
}

func TestSecondsRatesAndNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Seconds(0): "0 ns", Seconds(13.1e-6): "13.1 µs", Seconds(4.27e-3): "4.27 ms", Seconds(2): "2.00 s", Seconds(3601): "3601 s",
		Seconds(999.4e-9): "999 ns", Seconds(999.6e-9): "1.00 µs", Seconds(0.99951): "1.00 s", Seconds(0.9994): "999 ms",
		Seconds(1.5e-12): "0.00150 ns", Seconds(-2e-6): "-2.00 µs",
		Seconds(math.NaN()): "—", Seconds(math.Inf(1)): "—", Rate(math.Inf(-1)): "—",
		Rate(0): "0 B/s", Rate(357e9): "357 GB/s", Rate(5.3e12): "5.30 TB/s", Rate(999.6e6): "1.00 GB/s", Rate(12): "12.0 B/s",
		Number(0): "0", Number(16): "16", Number(999): "999", Number(-3): "-3", Number(2.5): "2.50", Number(1000): "1.00 k",
		Number(350e6): "350 M", Number(1.024e9): "1.02 G", Number(999.6e6): "1.00 G", Number(math.NaN()): "—",
	} {
		require.Equal(t, want, got)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0005: "0.000500", 0.0123: "0.0123", 0.123: "0.123", 0.5: "0.500", 0.9994: "0.999", 0.9995: "1.00", 0.99951: "1.00",
		1: "1.00", 1.46: "1.46", 9.994: "9.99", 9.996: "10.0", 35.2: "35.2", 99.94: "99.9", 99.96: "100", 357.4: "357",
		999.6: "1000", 1024: "1024", 123456: "123456", -1.5: "-1.50", math.Copysign(0, -1): "0", 1e-9: "0.00000000100",
		math.Inf(1): "+Inf", math.Inf(-1): "-Inf",
	} {
		require.Equal(t, want, Digits(v))
	}
	require.Equal(t, "NaN", Digits(math.NaN()))
}

// What is printed for people is read back as the same size: exactly where it
// is a whole number of the unit, else within the half of the third digit.
func TestPrintedSizesReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		b := rng.Int64N(1 << (1 + rng.IntN(61)))
		s := pick(byteScales, float64(b))
		if whole := b / int64(s.size) * int64(s.size); whole > 0 {
			got, err := ParseBytes(Bytes(whole))
			require.NoError(t, err)
			require.Equal(t, whole, got)
		}
		number, name, _ := strings.Cut(Bytes(b), " ")
		v, err := strconv.ParseFloat(number, 64)
		require.NoError(t, err)
		one, err := ParseBytes("1" + name)
		require.NoError(t, err)
		require.InEpsilon(t, float64(b)+1, v*float64(one)+1, 0.00501, Bytes(b))
		require.LessOrEqual(t, len(Bytes(b)), len("1023.00 KiB"))
	}
}

// A larger value never prints as a smaller one, across all the ladders' steps.
func TestPrintingIsMonotone(t *testing.T) {
	scales := map[string]float64{}
	for _, s := range timeScales {
		scales[s.name] = s.size
	}
	last := 0.0
	for v := 1e-9; v < 999; v *= 1.0003 {
		number, name, _ := strings.Cut(Seconds(v), " ")
		x, err := strconv.ParseFloat(number, 64)
		require.NoError(t, err)
		now := x * scales[name]
		require.GreaterOrEqual(t, now, last*(1-1e-12), Seconds(v))
		require.InEpsilon(t, v, now, 0.00501)
		require.NotEqual(t, "1000", number)
		last = now
	}
}
