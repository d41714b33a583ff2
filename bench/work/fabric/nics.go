package fabric

import (
	"fmt"

	"zbench/bench/run/record"
)

// carriers returns the NIC that each rank uses to send between nodes; −1 if no NIC works. It
// returns nil if the machine does not have one NIC per GPU.
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

// dead returns the rails of a node whose NIC is down.
func (d damage) dead(node int) map[int]bool {
	out := map[int]bool{}
	for at, share := range d.rails {
		if at[0] == node && share == 0 {
			out[at[1]] = true
		}
	}
	return out
}

// Method `own` returns the number of the NIC that a GPU uses while the NIC works.
func (d damage) own(node, gpu int) int {
	if other, hit := d.crossed[[2]int{node, gpu}]; hit {
		return other
	}
	return gpu
}

// Counters holds byte counters of the simulated NICs.
type Counters struct {
	m              *Machine
	sent, received []uint64 // by node and NIC, in the order of ranks
}

// Counters returns counters that start at 0, or nil if the machine has no NICs.
func (m *Machine) Counters() *Counters {
	if m.NICs == nil {
		return nil
	}
	return &Counters{m, make([]uint64, m.Size()), make([]uint64, m.Size())}
}

// Move counts a message from one rank to another. A message within a node uses no NIC.
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

// Read returns the count of every NIC, with the names of the nodes. In the simulated topology, the
// NIC nearest to a GPU has the GPU's number, whichever NIC the GPU uses.
func (c *Counters) Read(nodes []string) []record.NICCounters {
	out := make([]record.NICCounters, 0, len(c.sent))
	for i := range c.sent {
		sent, received := c.sent[i], c.received[i]
		nic := i % c.m.GPUsPerNode
		out = append(out, record.NICCounters{Node: nodes[i/c.m.GPUsPerNode], NIC: fmt.Sprint("nic", nic), GPU: nic, Sent: &sent, Received: &received})
	}
	return out
}
