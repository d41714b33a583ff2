package results

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/recordtest"
)

func TestWarningsOfOneKindAreOneLine(t *testing.T) {
	rec := recordtest.BothPlaces(12, 1)
	rec.Warnings = nil
	for i := range rec.Results {
		rec.Results[i].Warnings = []record.Warning{
			{Code: "skew", Message: fmt.Sprintf("ranks differ by %d %% of the time", 11+i), Hint: "look"},
		}
	}
	rec.Results[3].Warnings = append(rec.Results[3].Warnings, record.Warning{Code: "noisy", Message: "bursts differ by 7 %"})
	lines := warningBlocks(rec)[0].(document.List).Items
	require.Len(t, lines, 2)
	require.Equal(t, " ranks differ by 11 to 82 % of the time", lines[0][1].Text)
	require.Contains(t, lines[0][4].Text, "all_reduce out of place 1 KiB to 2 MiB (12 cases), ")
	require.Equal(t, "all_reduce 8 KiB", lines[1][2].Text)
}
