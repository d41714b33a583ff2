package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

func resolved(t *testing.T, nodes int, faults ...string) (*fabric.Machine, error) {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	return f.Resolve(spec.World{Nodes: nodes, GPUsPerNode: 4, GPUsPerProcess: 1}, fabric.Conditions{Faults: faults, Pairs: true})
}

// A rank's bytes are counted at its own NIC, or at the one that a fault makes it take.
func TestSimulatedNICs(t *testing.T) {
	m, err := resolved(t, 2, "crossed_rails:node=1,a=1,b=3", "dead_rail:node=0,rail=2")
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 3, 3, 0, 3, 2, 1}, m.NICs)
	c := m.Counters()
	for rank := range 4 {
		c.Move(rank, rank+4, 10)
		c.Move(rank, (rank+1)%4, 1000) // within the node
	}
	var sent, received []uint64
	for i, n := range c.Read([]string{"a", "b"}) {
		require.Equal(t, i%4, n.GPU)
		require.Equal(t, []string{"a", "b"}[i/4], n.Node)
		sent, received = append(sent, *n.Sent), append(received, *n.Received)
	}
	require.Equal(t, []uint64{10, 10, 0, 20, 0, 0, 0, 0}, sent)
	require.Equal(t, []uint64{0, 0, 0, 0, 10, 10, 10, 10}, received)
	// A slow NIC slows the GPU that uses it.
	m, err = resolved(t, 2, "crossed_rails:node=1,a=1,b=3", "slow_rail:node=1,rail=1,left=0.5")
	require.NoError(t, err)
	require.Contains(t, string(m.Text()), "left rail 7 0.5")
	require.NotContains(t, string(m.Text()), "left rail 5 ")
}

func TestCrossedRailsThatCannotBe(t *testing.T) {
	for _, x := range []struct {
		nodes  int
		faults []string
		says   string
	}{
		{2, []string{"crossed_rails:node=1,a=1,b=1"}, "two GPUs"},
		{1, []string{"crossed_rails:node=0,a=1,b=2"}, "the world has one"},
		{2, []string{"crossed_rails:node=0,a=1,b=2", "crossed_rails:node=0,a=2,b=1"}, "planted already"},
		{2, []string{"crossed_rails:node=0,a=1,b=2", "crossed_rails:node=0,a=2,b=3"}, "GPU 2 of node 0 is crossed already"},
	} {
		_, err := resolved(t, x.nodes, x.faults...)
		require.ErrorContains(t, err, x.says)
	}
	m, err := resolved(t, 1)
	require.NoError(t, err)
	require.Nil(t, m.Counters())
}
