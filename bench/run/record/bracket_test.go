package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The bus bandwidth at an end is the result's own times what the model gains or
// loses there.
func TestBusBWBounds(t *testing.T) {
	bw := 100e9
	r := Result{BusBW: &bw, Bracket: &Bracket{Seconds: 2e-3, Fastest: 1e-3, Slowest: 8e-3}}
	lo, hi, ok := r.BusBWBounds()
	require.True(t, ok)
	require.InEpsilon(t, 25e9, lo, 1e-12)
	require.InEpsilon(t, 200e9, hi, 1e-12)
	for name, none := range map[string]Result{
		"no bracket": {BusBW: &bw}, "no bandwidth": {Bracket: r.Bracket}, "an empty bracket": {BusBW: &bw, Bracket: &Bracket{}},
	} {
		_, _, ok := none.BusBWBounds()
		require.False(t, ok, name)
	}
}
