package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/engine"
	"zbench/bench/fabric"
	"zbench/bench/fleet/evidence"
	"zbench/bench/fleet/rails"
	"zbench/bench/plan"
	"zbench/bench/record"
)

// countedDriver is a survey's driver with the counters of the nodes' NICs.
type countedDriver struct {
	rails.Exchanger
	// simulated are the counters of the loopback's NICs; nil on hardware.
	simulated *fabric.Counters
	// read are the counters now; none where no node has any.
	read func() []record.NICCounters
	// nodes are the names of the nodes, devices the GPUs of all ranks; none if simulated.
	nodes   []string
	devices []record.Device
	// numbered is true of simulated GPUs, which have no PCI address: their number tells which
	// NIC of the simulated topology is theirs.
	numbered bool
	// without is why no counters are read, where that is known beforehand.
	without string
}

// counted adds the counters to an open driver: those of /sys, of a tree that --counters
// names, or the simulation's.
func (o *railsOptions) counted(u *engine.Setup, d engine.Ranks, nodes []string, devices []record.Device) *countedDriver {
	c := &countedDriver{Exchanger: d.(rails.Exchanger), nodes: nodes, devices: devices, numbered: u.Machine != nil} //nolint:forcetypeassert // ready has asked
	c.read = func() []record.NICCounters { return countersOf(d) }
	switch {
	case o.run.counters == "off":
		c.read, c.without = func() []record.NICCounters { return nil }, "--counters off"
	case u.Machine == nil:
	case o.run.counters != "auto":
		c.read = func() []record.NICCounters { return simulatedNodes(countersOf(d), nodes) }
	default:
		if c.simulated = u.Machine.Counters(); c.simulated == nil {
			c.without = "the simulated machine has no NICs"
			break
		}
		c.read = func() []record.NICCounters { return c.simulated.Read(nodes) }
	}
	return c
}

// simulatedNodes gives counters that a process of the loopback read the name of its node.
func simulatedNodes(all []record.NICCounters, nodes []string) []record.NICCounters {
	out := make([]record.NICCounters, 0, len(all))
	for _, c := range all {
		for i, name := range nodes {
			if c.Node == fmt.Sprint("n", i) {
				c.Node = name
				break
			}
		}
		out = append(out, c)
	}
	return out
}

// Exchange counts the bytes of a simulated exchange.
func (c *countedDriver) Exchange(ctx context.Context, e plan.Exchange) ([]float64, error) {
	seconds, err := c.Exchanger.Exchange(ctx, e)
	if err == nil && c.simulated != nil {
		for rank, to := range e.To {
			if to >= 0 {
				c.simulated.Move(rank, to, uint64(e.Warmup+e.Launches)*uint64(e.Case.Layout.Bytes)) //nolint:gosec // both are positive
			}
		}
	}
	return seconds, err
}

// rounds runs the plan's rounds and then the rings that tell which NICs each GPU uses, and
// adds what the NICs counted to the survey and to the evidence. unused says why no GPU's NIC
// could be told; failed is what ended the rounds early.
func (c *countedDriver) rounds(ctx context.Context, v rails.Measurement, about *rails.Survey, in *evidence.Input) (result rails.Rounds, unused []string, failed error) {
	const what = "the rails that the GPUs really use: "
	before := c.read()
	if result, failed = v.Run(ctx, c); result.Rounds == 0 {
		return result, nil, failed
	}
	if len(before) > 0 {
		about.Counters = record.RoseNICs(before, c.read())
		in.NICs = byPlace(about.Counters, about.Nodes)
	}
	switch {
	case v.Fleet.Nodes < 2: // no bytes leave the node
	case c.without != "":
		unused = []string{what + c.without}
	case len(before) == 0:
		unused = []string{what + "no node has counters of NICs that can be read (/sys/class/infiniband)"}
	case failed != nil:
		unused = []string{what + "the run ended before their rings"}
	default:
		var rings []rails.Ring
		rings, failed = v.CountRings(ctx, c, result.Rounds, c.read)
		for _, r := range rings {
			in.Actual = append(in.Actual, rails.ActualRails(v.Fleet.Nodes, r.GPU, float64(r.Bytes), c.carried(r, v.Fleet))...)
		}
		about.SetActual(in.Actual)
	}
	return result, unused, failed
}

// carried is what the NICs sent in a ring. Expected is by the PCI address of the rank's GPU:
// the number of a GPU in the job need not be that on its node.
func (c *countedDriver) carried(r rails.Ring, f rails.Fleet) []rails.Carried {
	var out []rails.Carried
	at := map[string]int{}
	for i, name := range c.nodes {
		at[name] = i
	}
	for _, n := range r.NICs {
		node, known := at[n.Node]
		if !known {
			continue
		}
		one := rails.Carried{Node: node, NIC: n.NIC}
		if n.Sent != nil {
			one.Bytes, one.Counted = *n.Sent, true
		}
		switch rank := node*f.GPUs + r.GPU; {
		case c.numbered:
			one.Expected = n.GPU == r.GPU
		case len(c.devices) == f.Nodes*f.GPUs:
			one.Expected = slices.ContainsFunc(n.PCI, func(pci string) bool { return pci != "" && strings.EqualFold(pci, c.devices[rank].PCI) })
		}
		out = append(out, one)
	}
	return out
}
