package plan

import "zbench/bench/record"

// Counting is a Driver that reads counters of the NICs, on the nodes that have any.
type Counting interface {
	// Counters are the values now, those of all nodes; none where no counter is read. What
	// cannot be read is left out: counters are evidence, and no reason to end a sweep.
	Counters() []record.NICCounters
}

// countersOf are the counters of a driver that reads some.
func countersOf(d Driver) []record.NICCounters {
	if c, can := d.(Counting); can {
		return c.Counters()
	}
	return nil
}

// Counters are those of all processes. Once none has any, no process is asked again; once
// one has, they come with the reports on every batch of isolated launches, one of which ends
// a pass. Without an order since they were read they are those: what is read after a pass is
// also what was read before the next.
func (g *Group) Counters() []record.NICCounters {
	if g.countless || g.counted != nil {
		return g.counted
	}
	reports, err := g.do(Order{Do: DoCounters})
	if err != nil {
		return nil
	}
	all := nicsOf(reports)
	g.countless, g.counting, g.counted = len(all) == 0, len(all) > 0, all
	return all
}

// nicsOf are the counters of all processes that reported some. Those of a process that failed
// are as of its failure: bytes per rail are evidence of a hang.
func nicsOf(reports []Report) []record.NICCounters {
	var all []record.NICCounters
	for _, r := range reports {
		all = append(all, r.NICs...)
	}
	return all
}
