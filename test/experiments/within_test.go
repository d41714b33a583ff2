package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

// What is said to be within 1 % is, by the noise-free curve, or the confidence is low.
func TestWithinFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows := RunWithin(1, 2)
	fmt.Print(WithinMarkdown(rows))
	require.Empty(t, WithinFailures(rows, false))
}

// Steps of 19 take another number of nodes each time, which 20 would not.
func TestLongWithinAtATwentieth(t *testing.T) {
	longtest.Only(t)
	rows := RunWithin(19, 2)
	require.Empty(t, WithinFailures(rows, true))
	for _, r := range rows {
		require.Equal(t, 2*((Combinations+18)/19), r.Draws)
	}
	require.Equal(t, 192, Combinations)
}

// The bars notice the confidence of before this experiment, and one that is low throughout.
func TestTheBarsOfWithinNotice(t *testing.T) {
	rows := []WithinRow{{Noise: 0.1, Draws: 384, Sure: 299, SureListed: 131}}
	require.Len(t, WithinFailures(rows, true), 1)
	rows = []WithinRow{{Draws: 384, Sure: 100, SureListed: 100}}
	require.Len(t, WithinFailures(rows, true), 1)
	rows = []WithinRow{{Draws: 384, Sure: 350, SureListed: 345}}
	require.Empty(t, WithinFailures(rows, false))
}
