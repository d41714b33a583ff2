package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/show/document"
)

// A line that covers another is named together with it, and a series without a point is not in the legend: in the
// page and in the picture alone.
func TestLegendNamesWhatIsSeen(t *testing.T) {
	line := func(name string, times float64) document.Series {
		s := document.Series{Name: name}
		for i := range 5 {
			s.Points = append(s.Points, document.Point{Bytes: 1 << (10 + i), Value: times * float64(i+1) * 1e9})
		}
		return s
	}
	c := document.Chart{ID: "c", Title: "c", Quantity: document.BusBW, Series: []document.Series{line("a", 1), line("b", 1.0005), line("c", 2), {Name: "none"}}}
	entries := legendOf(c)
	require.Equal(t, []entry{{"a and b: one line", []int{0, 1}}, {"c", []int{2}}}, entries)
	keys := plotOf(document.Plot{Chart: c}).Keys
	require.Len(t, keys, 2)
	require.Equal(t, "0 1", keys[0].Series)
	var names []string
	for _, l := range layOut(c, alone()).labels() {
		names = append(names, l.text)
	}
	require.Contains(t, names, "a and b: one line")
	require.NotContains(t, names, "none")
}

// No line of a page ends within a flag.
func TestFlagsAreWhole(t *testing.T) {
	require.Equal(t, `set <span class="flag">--ddp-bucket-size</span> to 1 &lt;b&gt; (<span class="flag">--optimizer</span> muon), <span class="flag">-b</span> 1M, a-b, 5 - 3`,
		string(words("set --ddp-bucket-size to 1 <b> (--optimizer muon), -b 1M, a-b, 5 - 3")))
	d := &document.Document{Title: "t", Sections: []document.Section{{Name: "s", Title: "s", Blocks: []document.Block{
		document.Paragraph{Text: document.Said("raise --max-time")}, document.Facts{{Term: "a", Text: "--max-time"}}, document.Details{Summary: "--max-time"},
	}}}}
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, d))
	require.Equal(t, 3, bytes.Count(b.Bytes(), []byte(`<span class="flag">--max-time</span>`)))
}
