package nodescreen

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// The gate sees each figure that a rule compared, whatever the rule made of it: one that is made smaller is no
// pass, and without figures there is no OK.
func TestTheGateSeesEachFigure(t *testing.T) {
	for _, nodes := range []int{2, 3, 4, 8} {
		var all []*Node
		for i := range nodes {
			rate := func(v float64) *Rate { return &Rate{What: "w", Rate: &v} }
			all = append(all, &Node{
				Host: fmt.Sprintf("n%d", i), Collective: rate(270e9),
				GPUs: []GPU{{Name: "g", Memory: rate(4e12), Product: rate(650e12)}},
				NICs: []NIC{{Name: "nic", State: active, Negotiated: new(5e10), Collective: rate(44e9)}},
			})
		}
		clean := Judge(Fleet{Nodes: all})
		require.Equal(t, finding.Healthy, clean.State)
		require.Len(t, clean.compared, 4, "memory, products, collectives, NICs")
		for class, of := range clean.compared {
			for i, figure := range of.Figures {
				d := Document{Nodes: nodes, Reports: clean.Reports, References: clean.References, compared: slices.Clone(clean.compared)}
				d.compared[class].Figures = slices.Clone(of.Figures)
				d.compared[class].Figures[i].Rate *= 1 - of.Limit - 0.05
				d.Findings = d.doubts()
				d.conclude(nil)
				require.Equal(t, finding.Unclear, d.State, "%d nodes, %s", nodes, of.Class)
				require.Equal(t, []string{figure.Subject.Host}, d.Unclear)
				require.NotContains(t, d.Pass, figure.Subject.Host)
			}
		}
		for _, n := range all {
			n.Collective, n.GPUs, n.NICs = nil, nil, nil
		}
		require.Equal(t, finding.NotChecked, Judge(Fleet{Nodes: all}).State)
	}
}
