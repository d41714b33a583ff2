package nodescreen

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"zbench/bench/pairwise"
	"zbench/bench/stat"
)

// Limits of the comparison of measurements. A value is named if it has lost at least
// Effect of the median and lies at least sigmas robust standard deviations below it: among
// 1,024 values of a normal distribution, 5 give 0.03 % of false findings in a fleet.
const (
	// Effect is the least share lost that is named.
	Effect = 0.08
	sigmas = 5
	// least is the number of values below which nothing is compared.
	least = 4
	// most is the largest limit: with more spread a comparison tells nothing.
	most = 0.5
)

// value is a measurement of a component.
type value struct {
	host, subject string
	rate          float64
}

// outliers compares values of one kind and names the slow ones. The standard deviation is
// 1.4826 times the median absolute deviation (of a normal distribution), which half of the
// values cannot move; with few values it is uncertain itself, and the limit is wider.
func outliers(d *Document, what string, all []value, next string) []Finding {
	if len(all) == 0 {
		return nil
	}
	if len(all) < least {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: %d values are too few to compare, %d are needed", what, len(all), least))
		return nil
	}
	rates := make([]float64, len(all))
	for i, v := range all {
		rates[i] = v.rate
	}
	median := stat.Quantile(rates, 0.5)
	for i, v := range all {
		rates[i] = math.Abs(v.rate - median)
	}
	spread := 1.4826 * stat.Quantile(rates, 0.5) / median
	limit := max(Effect, sigmas*(1+4/float64(len(all)))*spread)
	d.References = append(d.References, Reference{What: what, Median: median, Spread: spread, Limit: min(limit, 1), Count: len(all)})
	if limit > most {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: the values vary by %s, so none can be named", what, pairwise.Percent(spread)))
		return nil
	}
	var out []Finding
	for _, v := range all {
		if lost := 1 - v.rate/median; lost >= limit {
			out = append(out, Finding{
				Host: v.host, Subject: v.subject, Lost: lost, Next: next,
				Message: fmt.Sprintf("%s: %s, %s below the median of %s", what, gigabytes(v.rate), pairwise.Percent(lost), gigabytes(median)),
			})
		}
	}
	return out
}

// byKind compares what was run alike: the same work on the same product.
func byKind(d *Document, all map[string][]value, next string) []Finding {
	var out []Finding
	for _, what := range slices.Sorted(maps.Keys(all)) {
		out = append(out, outliers(d, what, all[what], next)...)
	}
	return out
}

func memory(f Fleet, d *Document) []Finding {
	all := map[string][]value{}
	for _, n := range f.Nodes {
		for _, g := range n.GPUs {
			if r := g.Memory; r != nil && r.Rate != nil {
				what := fmt.Sprintf("memory of %s, %s", g.Name, r.What)
				all[what] = append(all[what], value{n.Host, gpuName(g), *r.Rate})
			}
		}
	}
	return byKind(d, all, "zbench hbm --all-gpus on the node; compare clocks, power limits and uncorrected errors with another GPU's")
}

func collective(f Fleet, d *Document) []Finding {
	all := map[string][]value{}
	for _, n := range f.Nodes {
		if r := n.Collective; r != nil && r.Rate != nil {
			all[r.What] = append(all[r.What], value{n.Host, "node", *r.Rate})
		}
	}
	return byKind(d, all, "zbench topo on the node; zbench collectives --groups 2 there names the link")
}

func nicCollective(f Fleet, d *Document) []Finding {
	all := map[string][]value{}
	for _, n := range f.Nodes {
		for _, c := range n.NICs {
			if r := c.Collective; r != nil && r.Rate != nil {
				all[r.What] = append(all[r.What], value{n.Host, c.Name, *r.Rate})
			}
		}
	}
	return byKind(d, all, "check the cable, PCIe width and the NIC's counters")
}

// majority is the value of more than half of the nodes.
func majority[T comparable](nodes []*Node, of func(*Node) T) (usual T, found bool) {
	count := map[T]int{}
	for _, n := range nodes {
		v := of(n)
		if count[v]++; 2*count[v] > len(nodes) {
			usual, found = v, true
		}
	}
	return usual, found
}

func keys(m map[string]bool) iter.Seq[string] { return maps.Keys(m) }
