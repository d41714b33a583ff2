package fabric_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// A leaf switch is a group of nodes on one rail: the rails of its nodes are slow, those of
// others, and other rails of its own nodes, are not.
func TestALeafIsAGroupOfNodes(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 5, GPUsPerNode: 4, GPUsPerProcess: 1}
	m, err := f.Resolve(w, fabric.Conditions{Pairs: true, Faults: []string{"slow_leaf:rail=2,leaf=1,nodes=2,left=0.5", "slow_leaf:rail=0,leaf=2,nodes=2,left=0.25"}})
	require.NoError(t, err)
	require.Subset(t, lines(m.Text()), []string{"left rail 10 0.5", "left rail 14 0.5", "left rail 16 0.25"})
	left := 0
	for _, line := range lines(m.Text()) {
		if len(line) > 9 && line[:9] == "left rail" {
			left++
		}
	}
	require.Equal(t, 3, left, "the last leaf has one node")

	for text, says := range map[string]string{
		"slow_leaf:rail=2,leaf=3,nodes=2,left=0.5": "leaf is 0 to 2",
		"slow_leaf:rail=2,leaf=0,nodes=0,left=0.5": "nodes is 1 to 5",
		"slow_leaf:rail=2,leaf=0,left=0.5":         "leaf and nodes go together",
		"slow_leaf:rail=2,leaf=0.5,nodes=2,left=1": "leaf is 0 to 2",
	} {
		_, err := f.Resolve(w, fabric.Conditions{Faults: []string{text}})
		require.ErrorContains(t, err, says, text)
	}
	_, err = f.Resolve(w, fabric.Conditions{Faults: []string{"slow_leaf:rail=2,leaf=1,nodes=2,left=0.5", "slow_leaf:rail=2,leaf=1,nodes=2,left=0.4"}})
	require.ErrorContains(t, err, "planted already")
}

func lines(text []byte) []string { return strings.Split(string(text), "\n") }
