package plain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
)

func TestVersion(t *testing.T) {
	inOrder := []string{"", "2.9", "2.28", "2.28.3-rc", "2.28.10", "7.1.1-38", "7.13"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			require.Equal(t, i < j, plain.Version(a, b) < 0, "%s, %s", a, b)
		}
	}
	require.Zero(t, plain.Version("2.28", "2.28.0+cuda12"))
}
