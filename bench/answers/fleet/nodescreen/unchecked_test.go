package nodescreen_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/finding"
	"zbench/test/rendertest"
)

// What the reports lack stands beside the verdict, in every form; where they lack nothing,
// nothing does. A NIC at half its speed is such a case: without a collective over it no
// report differs.
func TestWhatWasNotCheckedStandsBesideTheVerdict(t *testing.T) {
	each := func(do func(n *nodescreen.Node)) func([]*nodescreen.Node) {
		return func(nodes []*nodescreen.Node) {
			for _, n := range nodes {
				do(n)
			}
		}
	}
	for _, x := range []struct {
		without       func([]*nodescreen.Node)
		verdict, line string
	}{
		{func([]*nodescreen.Node) {}, "", ""},
		{each(func(n *nodescreen.Node) { n.NICs = nil }), "NICs", "NICs: missing for 8 of 8 nodes"},
		{func(nodes []*nodescreen.Node) { nodes[3].NICs[2].Collective = nil }, "collectives over single NICs", "collectives over single NICs: missing for 1 of 64 active NICs"},
		{each(func(n *nodescreen.Node) { n.NICs[5].State, n.NICs[5].Collective = "", nil }), "states of NIC ports", "states of NIC ports: missing for 8 of 64 NICs"},
		{each(func(n *nodescreen.Node) { n.NICs[0].Negotiated = nil }), "speeds of NIC ports", "speeds of NIC ports: missing for 8 of 64 active NICs"},
		{each(func(n *nodescreen.Node) { n.Facts = nil }), "versions", "versions: missing for 8 of 8 nodes"},
		{func(nodes []*nodescreen.Node) { nodes[1].GPUs[0].Memory = nil }, "memory of GPUs", "memory of GPUs: missing for 1 of 64 GPUs"},
		{func(nodes []*nodescreen.Node) { nodes[0].Collective = nil }, "collective over the GPUs of a node", "collective over the GPUs of a node: missing for 1 of 8 nodes"},
		{func(nodes []*nodescreen.Node) { nodes[0].Links = nil }, "links between the GPUs of a node", "links between the GPUs of a node: missing for 1 of 8 nodes"},
		{func(nodes []*nodescreen.Node) {
			nodes[0].Notes, nodes[1].Notes = []string{"firmware: not readable"}, []string{"firmware: not readable"}
		}, "firmware", "firmware: not readable (2 nodes)"},
	} {
		nodes := fleet(1, 8)
		x.without(nodes)
		d := nodescreen.Judge(nodescreen.Fleet{Nodes: nodes})
		require.Equal(t, finding.Healthy, d.State, x.verdict)
		var document bytes.Buffer
		require.NoError(t, d.WriteJSON(&document))
		text, markdown := rendertest.Text(t, d.Shown("v1"), 120, false), rendertest.Markdown(t, d.Shown("v1"))
		if x.verdict == "" {
			require.Equal(t, "OK: no node fails or lies apart; 8 reported", d.Verdict())
			require.NotContains(t, text+markdown, "NOT CHECKED")
			continue
		}
		require.Equal(t, "OK: no node fails or lies apart; 8 reported; NOT CHECKED: "+x.verdict, d.Verdict())
		require.Contains(t, text, d.Verdict()+"\n")
		require.Contains(t, text, "NOT CHECKED\n- ")
		require.Contains(t, text, "- "+x.line+"\n")
		require.Contains(t, markdown, "- "+x.line+"\n")
		require.Contains(t, document.String(), x.line)
	}
	one := nodescreen.Judge(nodescreen.Fleet{Nodes: fleet(1, 1)})
	require.Contains(t, one.Verdict(), "differences between nodes")
}
