package topo

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"zbench/test/rendertest"

	"github.com/stretchr/testify/require"
)

// fleet is nodes as their JSON has them, each changed before it is written. Rail r of all
// nodes is cabled to leaf r.
func fleet(t *testing.T, size int, change func(i int, n *Node)) []*Node {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("nic,leaf\n")
	for i := range gpus {
		fmt.Fprintf(&csv, "%s,leaf-%d\n", nicName(i), i)
	}
	var b bytes.Buffer
	require.NoError(t, healthy().read(t, Inputs{Outputs: []Output{{"leaves.csv", []byte(csv.String())}}, Environ: []string{"NCCL_IB_GID_INDEX=1", "HOME=/h", "ROCR_VISIBLE_DEVICES=1"}}).WriteJSON(&b))
	var nodes []*Node
	for i := range size {
		n, err := Load(b.Bytes())
		require.NoError(t, err)
		n.Host = fmt.Sprintf("node%d", i)
		change(i, n)
		nodes = append(nodes, n)
	}
	return nodes
}

func set(n *Node, name, value string) {
	for i := range n.Stack {
		if n.Stack[i].Name == name {
			n.Stack[i].Value = value
		}
	}
}

func compared(t *testing.T, nodes []*Node) *Drift {
	t.Helper()
	d, err := Compare(nodes)
	require.NoError(t, err)
	return d
}

// Nodes that are equal have no drift; each planted difference is the one row.
func TestDrift(t *testing.T) {
	none := func(int, *Node) {}
	require.False(t, compared(t, fleet(t, 5, none)).Differs())
	require.Equal(t, "5 nodes: nothing differs", compared(t, fleet(t, 5, none)).Verdict())
	for _, one := range []struct {
		name   string
		change func(n *Node)
		value  string
	}{
		{"kernel", func(n *Node) { set(n, "kernel", "6.9.0") }, "6.9.0"},
		{"amdgpu", func(n *Node) { set(n, "amdgpu", "6.10.5") }, "6.10.5"},
		{"env NCCL_IB_GID_INDEX", func(n *Node) { set(n, "env NCCL_IB_GID_INDEX", "3") }, "3"},
		{"MTU", func(n *Node) { *n.NICs[3].MTU = 1500 }, "1 × 1500, 7 × 9000"},
		{"GPU addresses", func(n *Node) { n.GPUs = n.GPUs[:7] }, ""},
		{"xGMI links", func(n *Node) { n.Links = n.Links[1:] }, "27 links"},
		{"amdgpu", func(n *Node) { n.Stack = n.Stack[2:] }, missing},
	} {
		d := compared(t, fleet(t, 5, func(i int, n *Node) {
			if i == 3 {
				one.change(n)
			}
		}))
		i := 0
		for i < len(d.Rows) && d.Rows[i].Name != one.name {
			i++
		}
		require.Less(t, i, len(d.Rows), one.name)
		require.Len(t, d.Rows[i].Others, 1)
		require.Equal(t, []string{"node3"}, d.Rows[i].Others[0].Nodes)
		if one.value != "" {
			require.Equal(t, one.value, d.Rows[i].Others[0].Value)
		}
		require.Contains(t, d.Verdict(), one.name)
	}
	own := compared(t, fleet(t, 3, func(i int, n *Node) { set(n, "env ROCR_VISIBLE_DEVICES", fmt.Sprint(i)) }))
	require.False(t, own.Differs(), "a node's own")
}

// Without a majority both values are shown, and neither is called the right one.
func TestDriftWithoutMajority(t *testing.T) {
	d := compared(t, fleet(t, 4, func(i int, n *Node) { set(n, "kernel", fmt.Sprint("6.", i/2)) }))
	require.Equal(t, []DriftRow{{Name: "kernel", Others: []DriftValue{{"6.0", []string{"node0", "node1"}}, {"6.1", []string{"node2", "node3"}}}}}, d.Rows)
	require.Contains(t, rendertest.Text(t, d.Shown(), 120, false), "no majority")
	require.Contains(t, rendertest.Markdown(t, d.Shown()), "| kernel")
}

// Two cables of a node that are swapped are named, rail by rail; a node of another group
// of leaves is not compared with them.
func TestCablesSwapped(t *testing.T) {
	d := compared(t, fleet(t, 4, func(i int, n *Node) {
		if i == 2 {
			n.nic(nicName(0)).Leaf, n.nic(nicName(1)).Leaf = "leaf-1", "leaf-0"
		}
	}))
	require.Len(t, d.Crossed, 2)
	require.Contains(t, d.Crossed[0], "node node2: rail 0 (GPU "+gpuAt(0)+", NIC "+nicName(0)+") is cabled to leaf-1; the same rail of the other nodes to leaf-0")
	require.Empty(t, d.Rows)
	require.Empty(t, d.NotChecked)
	d = compared(t, fleet(t, 4, func(i int, n *Node) {
		for j := range n.NICs {
			n.NICs[j].Leaf = fmt.Sprint("group", i/3, n.NICs[j].Leaf)
		}
	}))
	require.Empty(t, d.Crossed)
	require.Contains(t, d.NotChecked, "no majority")
	d = compared(t, fleet(t, 3, func(_ int, n *Node) { n.NICs[0].Leaf = "" }))
	require.Contains(t, d.NotChecked, "no node has a leaf switch for each rail")
}

func TestCompareRefuses(t *testing.T) {
	nodes := fleet(t, 2, func(int, *Node) {})
	_, err := Compare(nodes[:1])
	require.ErrorContains(t, err, "1 node given")
	_, err = Compare([]*Node{nodes[0], nodes[0]})
	require.ErrorContains(t, err, `two of the files are of node "node0"`)
	for text, says := range map[string]string{`{"schema":"zbench.doctor/1"}`: `its schema is "zbench.doctor/1"`, `[`: "not a topology"} {
		_, err := Load([]byte(text))
		require.ErrorContains(t, err, says)
	}
}
