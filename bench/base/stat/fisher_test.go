package stat

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// R: fisher.test(matrix(c(a, n-a, b, m-b), 2))$p.value.
func TestFisher(t *testing.T) {
	require.InDelta(t, 0.4857142857, Fisher(3, 4, 1, 4), 1e-9) // the lady tasting tea, two-sided
	require.InDelta(t, 0.0027594561852200836, Fisher(1, 12, 9, 12), 1e-12)
	require.InDelta(t, 1, Fisher(0, 10, 0, 20), 1e-12)
	require.InDelta(t, 2/184756.0, Fisher(10, 10, 0, 10), 1e-12)
}
