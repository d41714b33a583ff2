package peers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A time in a field that is too narrow for it is known to two digits; the
// bandwidth beside it says more.
func TestTheTighterOfTimeAndBandwidth(t *testing.T) {
	rec := parseText(t, text(t, "coarse.log"), Hints{})
	fine, coarse := rec.Results[0], rec.Results[2]
	require.Equal(t, 8.2, fine.Burst.MeanOfRanks.Median, "8200000 µs says more than 1.05 GB/s")
	require.Empty(t, fine.Warnings)
	require.InEpsilon(t, 17179869184/1.04e9, coarse.Burst.MeanOfRanks.Median, 1e-12)
	require.InEpsilon(t, 16.519, coarse.Burst.MeanOfRanks.Median, 0.005, "the time that was printed as 1.7e+07")
	require.Len(t, coarse.Warnings, 1)
	require.Equal(t, "time_from_algbw", coarse.Warnings[0].Code)
	require.Contains(t, coarse.Warnings[0].Message, "1.7e+07")
	require.InEpsilon(t, 16.5, coarse.Burst.Rounding.Lo, 1e-12, "from the time")
	require.InEpsilon(t, 17179869184/1.035e9, coarse.Burst.Rounding.Hi, 1e-12, "from the bandwidth")
	require.InEpsilon(t, 1.04e9, *coarse.AlgBW, 1e-12)
}

// printedSide is what a tool prints of a time in seconds, and of its bandwidths.
func printedSide(seconds float64, bytes int64) side {
	us, alg := seconds*1e6, float64(bytes)/seconds/1e9
	return cellSide{of: [kWrong + 1]string{kTime: field(us, 7), kAlg: field(alg, 6), kBus: field(alg, 6)}}.side()
}

// Whatever the time, it lies in the interval that its printed form leaves, which
// also holds the figure taken for it; and that figure is at most as far off as
// the tighter of the two columns allows.
func TestRoundingHoldsTheTime(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	from := 0
	for range 20_000 {
		bytes := int64(8) << r.IntN(34)
		seconds := 1e-6 * math.Pow(10, 8*r.Float64())
		s := printedSide(seconds, bytes)
		if s.time&s.alg&present == 0 || s.time.value() == 0 {
			continue
		}
		got := s.rounding(bytes, 1e-6, 1)
		const margin = 1e-9
		require.LessOrEqual(t, got.lo, seconds*(1+margin), "%v s of %d bytes as %s and %s", seconds, bytes, s.time, s.alg)
		require.GreaterOrEqual(t, got.hi, seconds*(1-margin), "%v s of %d bytes as %s and %s", seconds, bytes, s.time, s.alg)
		require.LessOrEqual(t, got.lo, got.at)
		require.GreaterOrEqual(t, got.hi, got.at)
		tighter := s.time.coarseness()
		if s.alg.value() > 0 {
			tighter = min(tighter, s.alg.coarseness())
		}
		require.LessOrEqual(t, math.Abs(got.at/seconds-1), max(tighter/(1-tighter), precise)*1.01, "%v s of %d bytes as %s and %s", seconds, bytes, s.time, s.alg)
		if got.fromAlg {
			from++
		}
	}
	require.Greater(t, from, 200)
}

// Of repeats the interval is that of the median.
func TestRoundingOfRepeats(t *testing.T) {
	rec := parseText(t, text(t, "cycles.log"), Hints{})
	for _, r := range rec.Results {
		i := r.Burst.Rounding
		require.LessOrEqual(t, i.Lo, r.Burst.MeanOfRanks.Median)
		require.GreaterOrEqual(t, i.Hi, r.Burst.MeanOfRanks.Median)
		require.Less(t, i.Hi-i.Lo, 0.002*i.Hi)
	}
}

// One warning for all lines of a result.
func TestWarningsAreCounted(t *testing.T) {
	log := text(t, "coarse.log")
	rows := log[strings.Index(log, "  8589934592"):strings.Index(log, "# Out of")]
	log = strings.Replace(log, rows, rows+"# Testing 2 cycle.\n"+rows+"# Testing 3 cycle.\n"+rows, 1)
	rec := parseText(t, log, Hints{})
	require.Len(t, rec.Results[2].Warnings, 1)
	require.Contains(t, rec.Results[2].Warnings[0].Message, "and 2 more such lines")
}

// A decimal keeps its digits, and is the number that the text denotes.
func TestDecimals(t *testing.T) {
	for text, value := range map[string]float64{
		"0": 0, "0.00": 0, "34.73": 34.73, "6337.50": 6337.5, "10718": 10718, "1.7e+07": 1.7e7, "6e+03": 6000, "2e-07": 2e-7, "0.000001": 1e-6, "999999999999999": 999999999999999,
	} {
		d, ok := parseDecimal(text)
		require.True(t, ok, text)
		require.Equal(t, value, d.value(), text)
		require.Equal(t, text, d.String())
	}
	for _, text := range []string{"", ".", "1.", ".5", "1e", "1e+", "0x1p4", "inf", "-1", "+1", "1,5", "1e99999", "1234567890123456", "1e400"} {
		_, ok := parseDecimal(text)
		require.False(t, ok, text)
	}
	d, _ := parseDecimal("34.73")
	require.Equal(t, 3.473e-05, scaled(d, 1e-6))
	require.InEpsilon(t, 0.005, d.half(), 1e-12)
	require.True(t, slices.Contains([]float64{1e-323, 0}, must(parseDecimal("1e-300")).shifted(-23)))
}

func must(d decimal, ok bool) decimal {
	if !ok {
		panic("not a decimal")
	}
	return d
}
