package rails

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// rate is a matrix of ten ends of which the fifth has lost a third, in GB/s.
func rate(i, k int) float64 {
	if i == 4 || k == 4 {
		return 30
	}
	return 45
}

// pairsOf writes a line for each pair.
func pairsOf(head string, line func(i, k int) string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range 10 {
		for k := range 10 {
			if i != k {
				b.WriteString(line(i, k) + "\n")
			}
		}
	}
	return b.String()
}

// squareWithout writes a square without names.
func squareWithout(separator string) string {
	var b strings.Builder
	for i := range 10 {
		var cells []string
		for k := range 10 {
			if i == k {
				cells = append(cells, "0")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.2f", rate(i, k)))
		}
		b.WriteString(strings.Join(cells, separator) + "\n")
	}
	return b.String()
}

// Tables as other programs, spreadsheets and people write them: the end is named, and
// nothing else.
func TestMatricesAsTheyAreWritten(t *testing.T) {
	for name, x := range map[string]struct{ text, named string }{
		"names with commas": {pairsOf("a,b,GB/s\n", func(i, k int) string {
			return fmt.Sprintf(`"rack 1, node %d","rack 1, node %d",%g`, i, k, rate(i, k))
		}), "rack 1, node 4"},
		"a decimal comma": {pairsOf("from;to;GB/s\n", func(i, k int) string {
			return fmt.Sprintf("n%d;n%d;%s", i, k, strings.Replace(fmt.Sprintf("%.2f", rate(i, k)), ".", ",", 1))
		}), "n4"},
		"thousands": {pairsOf("a,b,MB/s\n", func(i, k int) string {
			return fmt.Sprintf(`n%d,n%d,"%d,000.5"`, i, k, int(rate(i, k)))
		}), "n4"},
		"a unit in each cell": {pairsOf("", func(i, k int) string { return fmt.Sprintf("n%d,n%d,%g GB/s", i, k, rate(i, k)) }), "n4"},
		"units of two sizes":  {pairsOf("a,b,bandwidth\n", func(i, k int) string { return fmt.Sprintf("n%d,n%d,%gGb/s", i, k, 8*rate(i, k)) }), "n4"},
		"tests that failed": {pairsOf("a,b,GB/s\n", func(i, k int) string {
			if i == 1 && k < 4 {
				return fmt.Sprintf("n%d,n%d,%s", i, k, []string{"FAILED", "", "timeout", "Error"}[k])
			}
			return fmt.Sprintf("n%d,n%d,%g", i, k, rate(i, k))
		}), "n4"},
		"a square without names":        {squareWithout(","), "4"},
		"the same, separated by spaces": {squareWithout("  "), "4"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _, err := ReadMatrix(strings.NewReader(x.text))
			require.NoError(t, err)
			require.Len(t, m.Names, 10)
			v := Judge(m.Data())
			require.Len(t, v.Findings, 1, "%+v", v)
			require.Empty(t, v.Questions)
			require.InDelta(t, 1./3, v.Findings[0].Lost, 0.01)
			at := v.Findings[0].Component
			end := 0
			for i, p := range m.At {
				if p.Node == at.Node && (p.GPU < 0 || p.GPU == at.A) {
					end = i
				}
			}
			require.Equal(t, x.named, m.Names[end])
		})
	}
}

// A number that may be thousands or a fraction is refused, not guessed.
func TestAnAmbiguousNumberIsRefused(t *testing.T) {
	_, _, err := ReadMatrix(strings.NewReader("a;b;GB/s\nn0;n1;1,234\n"))
	require.ErrorContains(t, err, `"1,234" is 1234 or 1.234`)
	for text, want := range map[string]float64{"0,123": 0.123, "45,5": 45.5, "1,234.5": 1234.5, "1234,567": 1234.567} {
		v, gap, err := number(text)
		require.NoError(t, err)
		require.False(t, gap)
		require.InDelta(t, want, v, 1e-9)
	}
}

// Where nothing could be compared no duration is stated.
func TestTimesOfTwoRanks(t *testing.T) {
	var b strings.Builder
	for k := range 6 {
		for rank := range 2 {
			fmt.Fprintf(&b, "%d,all_reduce,1024,%d,0.001\n", rank, k)
		}
	}
	times, err := ReadTimes(strings.NewReader(b.String()))
	require.NoError(t, err)
	d := OfLateness("x", times, Arrivals(times.Calls, times.Node))
	require.Equal(t, finding.NotChecked, d.State)
	require.Empty(t, d.Notes)
}

// Two slow ends explain the pair between them, however slow it is: no path is named.
func TestThePairOfTwoSlowEnds(t *testing.T) {
	m, _, err := ReadMatrix(strings.NewReader(pairsOf("", func(i, k int) string {
		v := rate(i, k)
		if i == 7 || k == 7 {
			v *= 0.8
		}
		return fmt.Sprintf("n%d,n%d,%g", i, k, v)
	})))
	require.NoError(t, err)
	v := Judge(m.Data())
	require.True(t, v.Exactly(Component{Part: Node, Node: 4}, Component{Part: Node, Node: 7}), "%+v", v.Findings)
}
