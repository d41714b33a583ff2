package fabric

import (
	"fmt"

	"zbench/bench/record"
)

// carriers are the numbers of the NICs that the ranks send through between nodes; −1 if none works. It is
// nil for a machine without a NIC for each GPU.
func (d damage) carriers(m *Machine, nics int) []int {
	if m.Nodes < 2 || nics < m.GPUsPerNode {
		return nil
	}
	out := make([]int, 0, m.Size())
	for node := range m.Nodes {
		dead := d.dead(node)
		for gpu := range m.GPUsPerNode {
			out = append(out, substitute(m.GPUsPerNode, d.own(node, gpu), dead))
		}
	}
	return out
}

// dead are the rails of a node whose NIC is down.
func (d damage) dead(node int) map[int]bool {
	out := map[int]bool{}
	for at, share := range d.rails {
		if at[0] == node && share == 0 {
			out[at[1]] = true
		}
	}
	return out
}

// own is the number of the NIC that a GPU uses if it works.
func (d damage) own(node, gpu int) int {
	if other, hit := d.crossed[[2]int{node, gpu}]; hit {
		return other
	}
	return gpu
}

// Counters are the counters of the simulated NICs: bytes.
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

// Move counts a message between two ranks. Within a node it takes no NIC.
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
