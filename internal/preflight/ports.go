package preflight

import (
	"fmt"
	"math"

	"zbench/bench/run/plan"
)

// Sweep describes the connections that the next run needs.
type Sweep struct {
	// PerNode is the number of ranks on a node.
	PerNode int
	// Communicators are the sets of communicators that the sweep uses, in order. Each set replaces
	// the previous one.
	Communicators []Communicators
	// Seconds is the estimated duration of the sweep; 0 if unknown.
	Seconds float64
}

// Communicators describes communicators that exist at the same time.
type Communicators struct {
	// Ranks and Nodes are the numbers of ranks and nodes of one communicator.
	Ranks, Nodes int
	// Peers is true if every rank sends to every other rank, as in a collective whose buffer is
	// divided among the ranks.
	Peers bool
}

// SweepOf returns the connections of a sweep's cases. The cases run in two passes, up and down.
// Communicators are replaced whenever the next case needs different communicators.
func SweepOf(cases []plan.Case, perNode int, seconds float64) Sweep {
	s := Sweep{PerNode: perNode, Seconds: seconds}
	var up []Communicators
	var last plan.Comms
	for _, c := range cases {
		if c.Skip != "" {
			continue
		}
		if comms := c.Comms(); len(up) == 0 || comms != last {
			up, last = append(up, Communicators{Ranks: c.Ranks, Nodes: c.Nodes}), comms
		}
		if c.Collective.Shares {
			up[len(up)-1].Peers = true
		}
	}
	s.Communicators = up
	for i := len(up) - 2; i >= 0; i-- { // the last set of the first pass is also the first of the second pass
		s.Communicators = append(s.Communicators, up[i])
	}
	return s
}

// Ports of a node's connections, counted at both ends.
const (
	// channels is the largest number of RCCL's channels in a communicator over several
	// nodes (ROCm/rocm-systems 03a89144, projects/rccl).
	channels = 64
	// perChannel is the number of ports per channel. A ring enters and leaves a node once. In a
	// tree a node has a parent and two children, each with a connection in both directions.
	perChannel = 2 + 6
	// perRank is the number of ports for RCCL's bootstrap: two listening sockets, one connection to
	// rank 0, one connection of the ring, one connection of the proxy, and one connection to the
	// proxy (RCCL 0cbce2a: src/bootstrap.cc, bootstrapInit).
	perRank = 6
	// `closing` is how long a closed connection keeps its port, in seconds
	// (Linux: include/net/tcp.h, TCP_TIMEWAIT_LEN).
	closing = 60
)

// perNode returns an upper bound of the ports that a set takes on a node. Messages between all
// ranks take two ports for each pair of a local and a remote rank (ROCm/rccl#577: an all-to-all of
// N nodes with G GPUs takes (N-1)·G·2·G on a node); PXN divides that by G (NVIDIA/nccl#1882).
func (c Communicators) perNode(pxn bool) int {
	local := max(c.Ranks/max(c.Nodes, 1), 1)
	if c.Nodes <= 1 {
		return perRank * local
	}
	n := perRank*local + channels*perChannel
	if c.Peers {
		pairs := (c.Nodes - 1) * local * local
		if pxn {
			pairs /= local
		}
		n += 2 * pairs
	}
	return n
}

// need() returns the largest number of ports that a node needs within the time that a closed
// connection keeps its port, and the number of sets in that time. If the sweep's duration is
// unknown, all sets count.
func (s Sweep) need(pxn bool) (ports, several int) {
	n := len(s.Communicators)
	at := n // number of sets within that time
	if s.Seconds > 0 && n > 0 {
		at = min(n, 1+int(math.Ceil(closing/(s.Seconds/float64(n)))))
	}
	for i := 0; i+at <= n; i++ {
		sum := 0
		for _, c := range s.Communicators[i : i+at] {
			parallel := max(s.PerNode*c.Nodes/max(c.Ranks, 1), 1) // number of communicators on a node at the same time
			sum += parallel * c.perNode(pxn)
		}
		ports = max(ports, sum)
	}
	return ports, at
}

// ports() compares the host's range of ports with the ports that the sweep needs.
func (w *world) ports(p *Process) verdict {
	r := p.Facts.Ports
	if r == nil {
		return notChecked("ip_local_port_range cannot be read")
	}
	have := fmt.Sprintf("%d ports (%d to %d)", r.Count(), r.Low, r.High)
	need, sets := w.sweep.need(p.Facts.PXN)
	if need <= r.Count() {
		return ok(have)
	}
	found := fmt.Sprintf("%s; one set of communicators takes up to %d", have, need)
	if sets > 1 {
		found = fmt.Sprintf("%s; %d sets of communicators within %d s take up to %d", have, sets, closing, need)
	}
	return warn(found, w.portsNext(p))
}

// widest is the widest range of ports above the leader's own port (20480 to 28671).
const widest = "28672 65535"

func (w *world) portsNext(p *Process) string {
	next := `sudo sysctl net.ipv4.ip_local_port_range="` + widest + `"; or fewer values of --scale and --groups in one run, and 60 s between two runs`
	for _, c := range w.sweep.Communicators {
		if c.Peers && !p.Facts.PXN {
			return "NCCL_PXN_DISABLE=0, which needs a fraction of them; " + next
		}
	}
	return next
}
