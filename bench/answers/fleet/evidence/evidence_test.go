package evidence

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/run/record"
)

var (
	rail23 = rails.Component{Part: rails.Rail, Node: 2, A: 3}
	rail22 = rails.Component{Part: rails.Rail, Node: 2, A: 2}
	gpu23  = rails.Component{Part: rails.GPU, Node: 2, A: 3}
	node2  = rails.Component{Part: rails.Node, Node: 2}
	leaf3  = rails.Component{Part: rails.Leaf, A: 3, B: -1}
	link   = rails.Component{Part: rails.Link, Node: 5, A: 1, B: 6}
)

// even are counters of 8 nodes with 4 NICs each that all are the same, but for changes.
func even(change func(p rails.Place, c *record.NICCounters)) map[rails.Place]record.NICCounters {
	out := map[rails.Place]record.NICCounters{}
	for node := range 8 {
		for gpu := range 4 {
			sent, again, downs := uint64(1<<30), uint64(2), uint64(0)
			c := record.NICCounters{Sent: &sent, Retransmits: &again, LinkDowns: &downs}
			p := rails.Place{Node: node, GPU: gpu}
			if change != nil {
				change(p, &c)
			}
			out[p] = c
		}
	}
	return out
}

func found(confidence float64, of ...rails.Component) *rails.Verdict {
	v := &rails.Verdict{State: finding.Faulty}
	for _, c := range of {
		v.Findings = append(v.Findings, rails.Slow{Component: c, Confidence: confidence, Reasons: []string{"slow"}})
	}
	return v
}

func asked(of ...rails.Component) *rails.Verdict {
	return &rails.Verdict{State: finding.Unclear, Questions: []rails.Question{{What: "slow in some transfers", Candidates: of}}}
}

func TestJoin(t *testing.T) {
	set := func(v uint64) *uint64 { return &v }
	at := func(p rails.Place, change func(*record.NICCounters)) func(rails.Place, *record.NICCounters) {
		return func(q rails.Place, c *record.NICCounters) {
			if p == q {
				change(c)
			}
		}
	}
	bad := rails.Place{Node: 2, GPU: 3}
	rows := map[string]struct {
		in Input
		// named are the named components in order; candidates those of what is not decided.
		named      []rails.Component
		candidates [][]rails.Component
	}{
		"nothing":                       {in: Input{NICs: even(nil)}},
		"times alone, high":             {in: Input{Verdict: found(0.9, link)}, named: []rails.Component{link}},
		"times alone, low":              {in: Input{Verdict: found(0.5, rail23)}, candidates: [][]rails.Component{{rail23}}},
		"even counters decide nothing":  {in: Input{Verdict: asked(rail23, gpu23), NICs: even(nil)}, candidates: [][]rails.Component{{rail23, gpu23}}},
		"retransmissions decide":        {in: Input{Verdict: asked(rail23, gpu23), NICs: even(at(bad, func(c *record.NICCounters) { c.Retransmits = set(5000) }))}, named: []rails.Component{rail23}},
		"a lost link decides":           {in: Input{Verdict: asked(gpu23, rail23), NICs: even(at(bad, func(c *record.NICCounters) { c.LinkDowns = set(1) }))}, named: []rails.Component{rail23}},
		"a clean screen clears the GPU": {in: Input{Verdict: asked(rail23, gpu23), Others: []Claim{{Screen, gpu23, -Medium, "its xGMI links are as fast as those of other nodes"}, {Topology, rail23, Weak, "its PCIe link has half of its lanes"}}}, named: []rails.Component{rail23}},
		"a failed screen":               {in: Input{Verdict: asked(rail23, node2), Others: []Claim{{Screen, node2, Strong, "a collective over its own GPUs is slow"}}}, named: []rails.Component{node2}},
		"RAS alone":                     {in: Input{Others: []Claim{{RAS, gpu23, Strong, "its rank does not answer"}}}, named: []rails.Component{gpu23}},
		"sources that contradict":       {in: Input{Verdict: found(0.9, gpu23), NICs: even(at(bad, func(c *record.NICCounters) { c.LinkDowns = set(3) }))}, candidates: [][]rails.Component{{gpu23, rail23}}},
		"a dead NIC and its substitute": {
			in: Input{Verdict: found(0.9, rail22, rail23), NICs: even(func(p rails.Place, c *record.NICCounters) {
				switch p {
				case bad:
					c.Sent = set(0)
				case rails.Place{Node: 2, GPU: 2}:
					c.Sent = set(2 << 30)
				}
			})},
			named: []rails.Component{rail23},
		},
		"a leaf, not its NICs": {
			in: Input{Fleet: rails.Fleet{Nodes: 8, GPUs: 4}, Verdict: asked(leaf3, rail23), NICs: even(func(p rails.Place, c *record.NICCounters) {
				if p.GPU == 3 {
					c.Retransmits = set(4000)
				}
			})},
			named: []rails.Component{leaf3},
		},
		"three rails of a node are the node": {
			in: Input{Verdict: asked(node2, rail22, rail23, rails.Component{Part: rails.Rail, Node: 2, A: 1}), NICs: even(func(p rails.Place, c *record.NICCounters) {
				if p.Node == 2 && p.GPU > 0 {
					c.Retransmits = set(4000)
				}
			})},
			named: []rails.Component{node2},
		},
		"a link of other GPUs is another fault": {
			in:    Input{Verdict: found(0.9, gpu23), Others: []Claim{{Screen, rails.Component{Part: rails.Link, Node: 2, A: 0, B: 1}, Strong, "a message between its ends is slow"}}},
			named: []rails.Component{gpu23, {Part: rails.Link, Node: 2, A: 0, B: 1}},
		},
		"two faults":                 {in: Input{Verdict: found(0.9, rail23, link)}, named: []rails.Component{rail23, link}},
		"what is cleared is dropped": {in: Input{Verdict: asked(gpu23), Others: []Claim{{Screen, gpu23, -Strong, "fast by itself"}}}},
		"few NICs make no median":    {in: Input{NICs: map[rails.Place]record.NICCounters{bad: {LinkDowns: set(9)}}}},
	}
	for name, x := range rows {
		t.Run(name, func(t *testing.T) {
			var named []rails.Component
			var open [][]rails.Component
			for _, c := range Join(x.in) {
				require.NotEmpty(t, c.Reasons)
				require.NotEmpty(t, c.Sources)
				if c.Named != nil {
					require.Equal(t, []rails.Component{*c.Named}, c.Candidates)
					named = append(named, *c.Named)
					continue
				}
				open = append(open, c.Candidates)
			}
			require.Equal(t, x.named, named)
			require.Equal(t, x.candidates, open)
		})
	}
}

// What other sources decide changes the verdict of the times: a question becomes a finding,
// a NIC that carries another's bytes is not named. Times alone change nothing.
func TestSettle(t *testing.T) {
	zero, twice, many := uint64(0), uint64(2<<30), uint64(9000)
	v := found(0.9, rail22, rail23)
	Settle(Input{Verdict: v, NICs: even(func(p rails.Place, c *record.NICCounters) {
		switch p {
		case rails.Place{Node: 2, GPU: 3}:
			c.Sent = &zero
		case rails.Place{Node: 2, GPU: 2}:
			c.Sent = &twice
		}
	})})
	require.True(t, v.Exactly(rail23), "%+v", v)
	require.Equal(t, []string{"slow", "counters: the NIC sent 0 B; the median is 1 GiB"}, v.Findings[0].Reasons)
	require.Equal(t, rail22, v.Cleared[0].Component)

	v = asked(rail23, gpu23)
	v.Questions[0].Lost = 0.2
	Settle(Input{Verdict: v, NICs: even(func(p rails.Place, c *record.NICCounters) {
		if p == (rails.Place{Node: 2, GPU: 3}) {
			c.Retransmits = &many
		}
	})})
	require.Equal(t, finding.Faulty, v.State)
	require.True(t, v.Exactly(rail23), "%+v", v)
	require.InDelta(t, 0.2, v.Findings[0].Lost, 1e-9)

	v = asked(rail23, gpu23)
	want := *asked(rail23, gpu23)
	want.State = finding.Unclear
	Settle(Input{Verdict: v, NICs: even(nil)})
	require.Equal(t, want.Questions, v.Questions)
	require.Equal(t, want.State, v.State)
}
