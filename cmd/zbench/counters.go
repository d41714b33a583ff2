package main

import (
	"slices"

	"github.com/spf13/pflag"

	"zbench/bench/engine"
	"zbench/bench/fleet/rails"
	"zbench/bench/plan"
	"zbench/bench/record"
)

func addCountersFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "counters", "auto", "where the counters of NICs are read before and after each case: auto is this machine's, on the loopback none, or simulated ones for rails; off; or a folder with a tree of sysfs")
}

// countersRoot is the root of the tree; empty where none is read. A simulation has no NICs:
// those of its host say nothing.
func countersRoot(asked string, simulated bool) string {
	switch {
	case asked == "off" || asked == "auto" && simulated:
		return ""
	case asked == "auto" || asked == "":
		return "/"
	}
	return asked
}

// countersOf are the counters of a driver's nodes now.
func countersOf(d engine.Ranks) []record.NICCounters {
	if c, can := d.(plan.Counting); can {
		return c.Counters()
	}
	return nil
}

// byPlace are the rises of the counters by the place of the NIC's GPU, of one NIC each.
func byPlace(rose []record.NICCounters, nodes []string) map[rails.Place]record.NICCounters {
	out := map[rails.Place]record.NICCounters{}
	for _, c := range rose {
		if node := slices.Index(nodes, c.Node); node >= 0 && c.GPU >= 0 {
			out[rails.Place{Node: node, GPU: c.GPU}] = c
		}
	}
	return out
}
