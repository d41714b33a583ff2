package device

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each device and partition mode, by what HIP 7 tells and by what follows from the
// units before it.
func TestDies(t *testing.T) {
	for _, d := range []struct {
		name                             string
		told, major, minor, units, wants int
	}{
		{"MI300X SPX", 0, 9, 4, 304, 8},
		{"MI300X DPX", 0, 9, 4, 152, 4},
		{"MI300X QPX", 0, 9, 4, 76, 2},
		{"MI300X CPX", 0, 9, 4, 38, 1},
		{"MI300A SPX", 0, 9, 4, 228, 6},
		{"MI300A TPX", 0, 9, 4, 76, 2},
		{"80 units, not whole dies of 38", 0, 9, 4, 80, 1},
		{"80 units on four dies that are told", 4, 9, 4, 80, 4},
		{"MI355X", 0, 9, 5, 256, 8},
		{"MI250X, a die", 0, 9, 0, 110, 1},
		{"MI300X CPX that tells", 1, 9, 4, 38, 1},
		{"H200", 0, 9, 0, 132, 1},
		{"nothing known", 0, 0, 0, 0, 1},
		{"no units", 0, 9, 4, 0, 1},
	} {
		require.Equal(t, d.wants, Dies(d.told, d.major, d.minor, d.units), d.name)
	}
	for name, want := range map[string]int{"MI300X": 8, "MI325X": 8, "MI300A": 6, "MI350X": 8, "MI355X": 8} {
		d, ok := Lookup(name)
		require.True(t, ok)
		require.Equal(t, want, Dies(0, 9, map[string]int{"gfx942": 4, "gfx950": 5}[d.Arch], d.Units), name)
	}
}
