package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/test/longtest"
)

const (
	fullFleets  = 200
	smallFleets = fullFleets / 20
)

func TestRailsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows := RunRails(0, fullFleets, "")
	fmt.Print(RailsMarkdown(rows))
	require.Empty(t, RailsFailures(rows, false))
}

// At a twentieth the bars hold as far as so few fleets can tell.
func TestLongRailsAtATwentieth(t *testing.T) {
	longtest.Only(t)
	require.Empty(t, RailsFailures(RunRails(0, smallFleets, ""), true))
}

// A fault is named in a fleet that is healthy without it, by the same draws.
func TestAFleetWithAndWithoutAFault(t *testing.T) {
	for _, part := range parts {
		broken := Broken{rails.Component{Part: part, Node: 11, A: 2}, 0.88, 1}
		switch part {
		case rails.Leaf:
			broken.Node = 0
		case rails.Node:
			broken.A = 0
		case rails.Link:
			broken.B = 6
		default:
		}
		for _, planted := range [][]Broken{nil, {broken}} {
			f := NewFleet(4, 64, fleetGPUs, FleetDefault(), planted...)
			timings, rounds := f.Run(rails.Bounds{})
			require.LessOrEqual(t, rounds, 20)
			v := rails.Judge(rails.Data{Fleet: f.Fleet, Timings: timings})
			if planted == nil {
				require.Equal(t, finding.Healthy, v.State, "%+v %+v", v.Findings, v.Questions)
				continue
			}
			require.True(t, v.Exactly(broken.Component), "%s: %+v %+v", part, v.Findings, v.Questions)
			require.InDelta(t, 0.12, v.Findings[0].Lost, 0.03, part)
		}
	}
}
