package rccl_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/test/longtest"
)

// surveyed measures a fleet with faults through the driver and judges the times.
func surveyed(t *testing.T, nodes, gpus int, o rails.Bounds, faults ...string) (*rails.Verdict, rails.Rounds) {
	t.Helper()
	w := spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}
	d, _ := open(t, w, fabric.Conditions{Seed: 11, Faults: faults, Pairs: true}, nil)
	c, err := rails.CaseOf(w, rails.DefaultBytes)
	require.NoError(t, err)
	allocate(t, d, []plan.Case{c})
	s := rails.Measurement{Fleet: rails.Fleet{Nodes: nodes, GPUs: gpus}, Plan: o, Case: c, Launches: rails.DefaultLaunches}
	out, err := s.Run(t.Context(), d)
	require.NoError(t, err)
	require.Zero(t, out.Early, "every batch was held")
	require.NoError(t, d.Close())
	return rails.Judge(rails.Data{Fleet: s.Fleet, Timings: out.Timings}), out
}

// A fault in the loopback is named by the times that the driver measures, exactly and with
// nothing else. The same run without it names nothing.
func TestLongSurveyFindsPlantedFaults(t *testing.T) {
	longtest.OnlyOrDetected(t)
	const nodes, gpus = 16, 8
	for _, x := range []struct {
		faults []string
		want   []rails.Component
	}{
		{nil, nil},
		{[]string{"slow_rail:node=5,rail=2,left=0.88"}, []rails.Component{{Part: rails.Rail, Node: 5, A: 2}}},
		{[]string{"slow_link:node=10,a=6,b=1,left=0.88"}, []rails.Component{{Part: rails.Link, Node: 10, A: 1, B: 6}}},
		{[]string{"slow_gpu:node=3,gpu=7,left=0.88"}, []rails.Component{{Part: rails.GPU, Node: 3, A: 7}}},
		{[]string{"slow_node:node=9,left=0.88"}, []rails.Component{{Part: rails.Node, Node: 9}}},
		{[]string{"slow_leaf:rail=4,left=0.8"}, []rails.Component{{Part: rails.Leaf, A: 4, B: -1}}},
		{[]string{"late_gpu:node=2,gpu=1,seconds=5e-4"}, []rails.Component{{Part: rails.GPU, Node: 2, A: 1}}},
		{[]string{"late_node:node=2,seconds=5e-4"}, []rails.Component{{Part: rails.Node, Node: 2}}},
		// The GPU of a dead NIC takes its neighbour's: both are slow.
		{[]string{"dead_rail:node=8,rail=3"}, []rails.Component{{Part: rails.Rail, Node: 8, A: 3}, {Part: rails.Rail, Node: 8, A: 2}}},
		{[]string{"slow_rail:node=5,rail=2,left=0.7", "slow_link:node=1,a=0,b=3,left=0.8"}, []rails.Component{{Part: rails.Rail, Node: 5, A: 2}, {Part: rails.Link, Node: 1, A: 0, B: 3}}},
	} {
		v, out := surveyed(t, nodes, gpus, rails.Bounds{Seed: 3}, x.faults...)
		require.True(t, v.Exactly(x.want...), "%q: %+v %+v", x.faults, v.Findings, v.Questions)
		require.LessOrEqual(t, out.Network, 20)
		if x.want == nil {
			require.Equal(t, finding.Healthy, v.State)
		}
	}
}

// What is slow in a part of the launches alone is not called healthy in 20 rounds, and only
// its node is named or in question.
func TestSurveyFindsAFlakyNode(t *testing.T) {
	v, _ := surveyed(t, 16, 4, rails.Bounds{Seed: 3, Least: 20, Passes: 20}, "flaky_link:node=6,part=0.25,times=1.5")
	require.NotEqual(t, finding.Healthy, v.State)
	require.True(t, slices.ContainsFunc(v.Findings, func(f rails.Slow) bool { return f.Component.Node == 6 }), "%+v %+v", v.Findings, v.Questions)
	for _, f := range v.Findings {
		require.Equal(t, 6, f.Component.Node, "%+v", f)
	}
}
