package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/show/document"
)

// Two collectives of many curves get a chart each, few curves or one collective one chart.
func TestSplit(t *testing.T) {
	chart := func(n int) document.Chart {
		return document.Chart{ID: "c", Title: "Bandwidth", Series: make([]document.Series, n)}
	}
	names := func(n, other int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = "all_reduce"
			if i >= other {
				list[i] = "broadcast"
			}
		}
		return list
	}
	const many = document.SeriesPerChart + 1
	require.Len(t, document.Split(chart(many), names(many, many)), 1)
	require.Len(t, document.Split(chart(many-1), names(many-1, 2)), 1)
	two := document.Split(chart(many), names(many, 2))
	require.Len(t, two, 2)
	require.Len(t, two[0].Series, 2)
	require.Len(t, two[1].Series, many-2)
	require.Contains(t, two[1].Title, "broadcast")
}
