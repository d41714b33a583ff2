package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
	"zbench/bench/show/document"
)

// fittingByTrial takes characters off one by one until the rest fits, with the sign that there
// were more.
func fittingByTrial(text string, room, size float64, bold bool) string {
	all := []rune(text)
	for n := len(all); len(all) > 1 && n > 0 && textWidth(text, size, bold) > room; n-- {
		text = string(all[:n-1]) + "…"
	}
	return text
}

// A text is clipped where taking one character off after the other would end, for any text and
// room.
func TestFitting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab imW.·—%語é/I")
	for range 2000 {
		text := make([]rune, rng.IntN(40))
		for i := range text {
			text[i] = letters[rng.IntN(len(letters))]
		}
		room, size, bold := rng.Float64()*200, 5+rng.Float64()*15, rng.IntN(2) == 0
		require.Equal(t, fittingByTrial(string(text), room, size, bold), fitting(string(text), room, size, bold), "%q %g %g", string(text), room, size)
	}
}

// The time of a long name grows with its length and not with the square of it: compare the times.
func BenchmarkLongNames(b *testing.B) {
	for _, n := range []int{10_000, 20_000, 40_000} {
		b.Run(fmt.Sprintf("fitting/%d", n), func(b *testing.B) {
			for text := strings.Repeat("n", n); b.Loop(); {
				fitting(text, 500, 13, false)
			}
		})
		b.Run(fmt.Sprintf("fold/%d", n), func(b *testing.B) {
			for text := "a" + strings.Repeat(" ", n) + strings.Repeat("b ", n); b.Loop(); {
				plain.Fold(text, n, "", "")
			}
		})
	}
}

// However narrow a chart is, what is simulated says so whole; the axis' title gives way.
func TestTheMarkIsWhole(t *testing.T) {
	c := document.Chart{
		ID: "x", Title: "t", Mark: "SIMULATED · faults planted", Quantity: document.Change, Axis: "change of the time, NEW over BASE",
		Series: []document.Series{{Name: "all_reduce", Points: []document.Point{{Bytes: 1 << 10, Value: 0.1}, {Bytes: 1 << 30, Value: 0.9}}}},
	}
	require.Contains(t, string(plotOf(document.Plot{Chart: c}).Narrow), ">SIMULATED<")
	c.Axis = "change"
	require.Contains(t, string(plotOf(document.Plot{Chart: c}).Narrow), ">change<")
}
