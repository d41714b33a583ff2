package rails

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// Too few values for a reference name candidates where slow and fast are far apart: the end that explains the slow ones,
// or both ends. Values that are alike, or spread as widely, name none.
func TestFewPairsNameCandidates(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		want [][]string
	}{
		"a common end, and a pair":   {"a,x,49\nb,c,88\nd,e,49\nc,a,49\nf,x,87\n", [][]string{{"a"}, {"d", "e"}}},
		"partners are not known":     {"a,b,30\nc,d,60\nc,e,61\n", [][]string{{"a", "b"}}},
		"each end is fast elsewhere": {"a,b,30\na,c,60\nb,d,61\n", [][]string{{"a", "b"}}},
		"one end is fast elsewhere":  {"a,b,30\na,c,60\nd,c,61\n", [][]string{{"b"}}},
		"alike":                      {"a,b,60\na,c,61\nb,d,59\n", nil},
		"spread":                     {"a,b,30\na,c,45\nb,d,61\nc,d,90\n", nil},
		"one fast value":             {"a,b,30\na,c,31\nb,d,90\n", nil},
	} {
		m, _ := read(t, "node_a,node_b,GB/s\n"+x.text)
		v := Judge(m.Data())
		var got [][]string
		for _, q := range v.Questions {
			var names []string
			for _, c := range q.Candidates {
				names = append(names, m.Nodes[c.Node])
			}
			got = append(got, names)
		}
		require.Equal(t, x.want, got, name)
		want := finding.NotChecked
		if len(x.want) > 0 {
			want = finding.Unclear
		}
		require.Equal(t, want, v.State, name)
	}
}
