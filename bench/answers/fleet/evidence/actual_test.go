package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/evidence"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
)

func crossedAt(node, gpu int) rails.ActualRail {
	return rails.ActualRail{GPU: gpu, Place: rails.Place{Node: node, GPU: gpu}, Use: rails.Crossed, Expected: []string{"p"}, Actual: []string{"q"}}
}

// A crossed rail is a finding of its node; one that most nodes have in common is a question
// about the fleet's settings, and fails no node.
func TestCrossedRails(t *testing.T) {
	fleet := rails.Fleet{Nodes: 4, GPUs: 2}
	alike := []finding.Compared[rails.Component]{{Figures: make([]finding.Figure[rails.Component], 4)}}
	settled := func(f rails.Fleet, actual ...rails.ActualRail) *rails.Verdict {
		v := &rails.Verdict{Compared: alike}
		evidence.Settle(evidence.Input{Fleet: f, Verdict: v, Actual: actual})
		return v
	}
	rail := func(node, gpu int) rails.Component { return rails.Component{Part: rails.Rail, Node: node, A: gpu} }
	v := settled(fleet, crossedAt(1, 0), crossedAt(2, 0))
	require.True(t, v.Exactly(rail(1, 0), rail(2, 0)), "%+v", v)
	require.Equal(t, finding.Faulty, v.State)
	v = settled(fleet, crossedAt(0, 0), crossedAt(1, 0), crossedAt(2, 0), crossedAt(3, 1))
	require.Len(t, v.Questions, 1)
	require.Contains(t, v.Questions[0].What, "crossed rail on 3 of 4 nodes, the first of them: crossed rail: GPU 0 sent through NIC q")
	require.Len(t, v.Findings, 1)
	require.Equal(t, rail(3, 1), v.Findings[0].Component)
	v = settled(rails.Fleet{Nodes: 2, GPUs: 2}, crossedAt(0, 0), crossedAt(1, 0))
	require.Len(t, v.Findings, 2, "two nodes have no majority")
	for _, use := range []rails.Use{rails.AsExpected, rails.SharedUse, rails.UseUnknown} {
		a := crossedAt(1, 0)
		a.Use = use
		v = settled(fleet, a)
		require.Equal(t, finding.Healthy, v.State, use)
	}
}
