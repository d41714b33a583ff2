package results

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
)

func TestTheBusBandwidthOfEveryCollectiveIsExplained(t *testing.T) {
	for _, name := range collective.Names() {
		require.Len(t, regexp.MustCompile(`\b`+name+`\b`).FindAllString(busText, -1), 1, name)
	}
	require.Contains(t, busText, "× 2(n−1)/n for all_reduce, ×")
	require.Contains(t, busText, "× 1 for broadcast, reduce")
}
