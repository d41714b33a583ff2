package fabric

import (
	"fmt"
	"maps"
	"slices"

	"zbench/bench/record"
)

// carriers is the number of the NIC that each rank sends through between nodes; −1 where
// none works. nil is a machine without a NIC for each GPU.
func (d damage) carriers(m *Machine, nics int) []int {
	if m.Nodes < 2 || nics < m.GPUsPerNode {
		return nil
	}
	out := make([]int, 0, m.Size())
	for node := range m.Nodes {
		dead := map[int]bool{}
		for rail := range m.GPUsPerNode {
			if share, hit := d.rails[[2]int{node, rail}]; hit && share == 0 {
				dead[rail] = true
			}
		}
		for gpu := range m.GPUsPerNode {
			out = append(out, substitute(m.GPUsPerNode, d.own(node, gpu), dead))
		}
	}
	return out
}

// own is the number of the NIC that a GPU uses where it works.
func (d damage) own(node, gpu int) int {
	if other, hit := d.crossed[[2]int{node, gpu}]; hit {
		return other
	}
	return gpu
}

// Counters are what the simulated NICs count: bytes alone.
type Counters struct {
	m              *Machine
	sent, received []uint64 // by node and NIC, as ranks are numbered
}

// Counters begin at zero; nil where the machine has no NICs.
func (m *Machine) Counters() *Counters {
	if m.NICs == nil {
		return nil
	}
	return &Counters{m, make([]uint64, m.Size()), make([]uint64, m.Size())}
}

// Move counts a message between two ranks, whose bytes take NICs between nodes alone.
func (c *Counters) Move(from, to int, bytes uint64) {
	per := c.m.GPUsPerNode
	if from/per == to/per {
		return
	}
	if nic := c.m.NICs[from]; nic >= 0 {
		c.sent[from/per*per+nic] += bytes
	}
	if nic := c.m.NICs[to]; nic >= 0 {
		c.received[to/per*per+nic] += bytes
	}
}

// Read is what every NIC has counted, by the names of the nodes. The simulated topology has
// the NIC of a GPU's own number nearest to it, whatever the GPU uses.
func (c *Counters) Read(nodes []string) []record.NICCounters {
	out := make([]record.NICCounters, 0, len(c.sent))
	for i := range c.sent {
		sent, received := c.sent[i], c.received[i]
		nic := i % c.m.GPUsPerNode
		out = append(out, record.NICCounters{Node: nodes[i/c.m.GPUsPerNode], NIC: fmt.Sprint("nic", nic), GPU: nic, Sent: &sent, Received: &received})
	}
	return out
}

// plantCrossed lets two GPUs of a node send through each other's NIC.
func plantCrossed(v faultValues, m *Machine, d *damage) error {
	node, a, b := int(v["node"]), int(v["a"]), int(v["b"])
	if a == b {
		return fmt.Errorf("a and b are two GPUs")
	}
	if m.Nodes < 2 {
		return fmt.Errorf("rails are used between nodes: the world has one")
	}
	for _, gpu := range []int{a, b} {
		if _, hit := d.crossed[[2]int{node, gpu}]; hit {
			return fmt.Errorf("GPU %d of node %d is crossed already", gpu, node)
		}
	}
	if d.crossed == nil {
		d.crossed = map[[2]int]int{}
	}
	maps.Copy(d.crossed, map[[2]int]int{{node, a}: b, {node, b}: a})
	return nil
}

// crossedPlace is the same in either order.
func crossedPlace(v faultValues) string {
	gpus := []float64{v["a"], v["b"]}
	slices.Sort(gpus)
	return fmt.Sprintf("the crossed rails of GPUs %g and %g of node %g", gpus[0], gpus[1], v["node"])
}
