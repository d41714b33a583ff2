package report

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/show/document"
)

// heatOfNodes is a map of 8 rails by n nodes with a loss in row 2 of a node.
func heatOfNodes(n, bad int) document.HeatMap {
	h := document.HeatMap{ID: "rails", Title: "Rail (row) by node (column)", Limit: 0.06}
	for k := range n {
		h.Columns = append(h.Columns, fmt.Sprintf("node%d", k))
	}
	for i := range 8 {
		h.Rows = append(h.Rows, fmt.Sprint(i))
		h.Shares = append(h.Shares, make([]float64, n))
	}
	h.Shares[2][bad] = 0.45
	return h
}

// The faulty cell is named in the picture, wide and narrow, in the middle of the map and at its edges; labels
// overlap nowhere and stay in the picture. Every column of 16 has its number, every row its own, but for healthy ones.
func TestHeatMapNamesFaultyCells(t *testing.T) {
	for _, f := range []heatForm{wideHeat, narrowHeat, aloneHeat} {
		for _, n := range []int{2, 16, 128} {
			for _, bad := range []int{0, n / 2, n - 1} {
				s := layOutHeat(heatOfNodes(n, bad), f)
				var texts []string
				all := s.labels()
				for i, l := range all {
					texts = append(texts, l.text)
					require.True(t, l.bounds().inside(box{0, 0, s.width, s.height}), "%d nodes: %q sticks out", n, l.text)
					require.False(t, slices.ContainsFunc(all[i+1:], func(o label) bool { return l.bounds().touches(o.bounds()) }), "%d nodes: %q overlaps", n, l.text)
				}
				require.Contains(t, texts, fmt.Sprintf("node%d: 45 %% lost", bad))
				require.Contains(t, texts, fmt.Sprint(bad))
				require.Contains(t, texts, "3 … 7", "healthy rows are one")
				if n == 16 {
					for k := range n {
						require.Contains(t, texts, fmt.Sprint(k))
					}
				}
			}
		}
	}
	require.Equal(t, "gpu-", commonPrefix([]string{"gpu-010", "gpu-017"}))
	require.Empty(t, commonPrefix([]string{"node1"}))
	require.Empty(t, commonPrefix([]string{"0–1", "0–2"}[:1]))
}

// Rows without a loss are drawn as one, apart from those that lack other values; the diagonal of a square map
// lacks none.
func TestHeatMapFoldsHealthyRows(t *testing.T) {
	h := heatOfNodes(4, 1)
	h.Shares[5][2] = math.NaN()
	f := folded(h)
	require.Equal(t, []string{"0 … 1", "2", "3 … 4", "5", "6 … 7"}, f.Rows)
	require.InDelta(t, 0.45, f.Shares[1][1], 0)
	require.Len(t, h.Rows, 8)
	names := []string{"a", "b", "c", "d"}
	nan := math.NaN()
	square := document.HeatMap{Limit: 0.06, Rows: names, Columns: names, Shares: [][]float64{{nan, 0, 0, 0}, {0, nan, 0, 0}, {0, 0, nan, 0}, {0.3, 0, 0, nan}}}
	f = folded(square)
	require.Equal(t, []string{"a … c", "d"}, f.Rows)
	require.Equal(t, []float64{0, 0, 0, 0}, f.Shares[0])
}

// In a landscape every cell may have lost the limit: none is named, rows and as many columns as have room are,
// and nothing overlaps.
func TestHeatMapAsALandscape(t *testing.T) {
	for _, f := range []heatForm{wideHeat, narrowHeat, aloneHeat} {
		for _, n := range []int{2, 9, 65} {
			h := document.HeatMap{ID: "tiles", Title: "Share lost", Limit: 0.1, Landscape: true}
			for k := range n {
				h.Columns = append(h.Columns, fmt.Sprint(1024+64*k))
			}
			for i := range 6 {
				h.Rows, h.Shares = append(h.Rows, fmt.Sprint(1024<<i)), append(h.Shares, slices.Repeat([]float64{0.4}, n))
			}
			s := layOutHeat(h, f)
			var names []string
			all := s.labels()
			for i, l := range all {
				names = append(names, l.text)
				require.True(t, l.bounds().inside(box{0, 0, s.width, s.height}), "%d columns: %q sticks out", n, l.text)
				require.False(t, slices.ContainsFunc(all[i+1:], func(o label) bool { return l.bounds().touches(o.bounds()) }), "%d columns: %q overlaps", n, l.text)
			}
			require.NotContains(t, fmt.Sprint(names), "% lost")
			require.Subset(t, names, h.Rows)
			require.Contains(t, names, "1024")
			require.Equal(t, "Shares lost from 40 % to 40 %.", s.desc)
		}
	}
}
