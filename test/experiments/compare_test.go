package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

func TestLongComparisonsAtATwentieth(t *testing.T) {
	longtest.Only(t)
	rows, err := Comparisons(smallSeeds)
	require.NoError(t, err)
	require.Empty(t, CompareFailures(rows, true))
}

func TestFullComparisons(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows, err := Comparisons(fullSeeds)
	require.NoError(t, err)
	fmt.Print(CompareTable(rows))
	require.Empty(t, CompareFailures(rows, false))
}

// A bar that cannot fail shows nothing: more false verdicts, or fewer found, are
// noticed.
func TestTheBarsOfComparisonsNotice(t *testing.T) {
	rows := ComparePairs()[:1]
	rows[0].Pairs, rows[0].False = smallSeeds, 10
	require.Len(t, CompareFailures(rows, true), 1)
	rows[0].False = 2
	require.Empty(t, CompareFailures(rows, true))
	require.Len(t, CompareFailures(rows, false), 1)
}
