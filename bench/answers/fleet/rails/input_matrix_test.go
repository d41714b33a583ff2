package rails

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A matrix that would take gigabytes is refused with what to give instead.
func TestLargestMatrix(t *testing.T) {
	const n = 1026
	var text strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&text, ",n%d", i)
	}
	cells := strings.Repeat(",9", n)
	for i := range n {
		_, _ = fmt.Fprintf(&text, "\nn%d%s", i, cells)
	}
	_, _, err := ReadMatrix(strings.NewReader(text.String()))
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "pairs of nodes rather than of GPUs")
}
