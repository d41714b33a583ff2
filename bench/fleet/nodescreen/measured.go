package nodescreen

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/fleet/rails"
	"zbench/bench/stat"
	"zbench/bench/unit"
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

// Value is a measurement of a component: Rate is in bytes per second.
type Value struct {
	Host, Subject string
	Rate          float64
}

// Kind is measurements that are compared with each other: the same work on the same
// product. Rule is the rule that names the slow ones.
type Kind struct {
	Rule, What string
	Values     []Value
	next       string
}

// outliers compares values of one kind and names the slow ones. The standard deviation is
// 1.4826 times the median absolute deviation (of a normal distribution), which half of the
// values cannot move; with few values it is uncertain itself, and the limit is wider.
func outliers(d *Document, k Kind) []Deviation {
	what, all := k.What, k.Values
	if len(all) == 0 {
		return nil
	}
	if len(all) < least {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: %d values are too few to compare, %d are needed", what, len(all), least))
		return nil
	}
	rates := make([]float64, len(all))
	for i, v := range all {
		rates[i] = v.Rate
	}
	median := stat.Quantile(rates, 0.5)
	for i, v := range all {
		rates[i] = math.Abs(v.Rate - median)
	}
	spread := 1.4826 * stat.Quantile(rates, 0.5) / median
	limit := max(Effect, sigmas*(1+4/float64(len(all)))*spread)
	d.References = append(d.References, Reference{What: what, Median: median, Spread: spread, Limit: min(limit, 1), Count: len(all)})
	if limit > most {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: the values vary by %s, so none can be named", what, rails.Percent(spread)))
		return nil
	}
	var out []Deviation
	for _, v := range all {
		if lost := 1 - v.Rate/median; lost >= limit {
			out = append(out, Deviation{
				Host: v.Host, Subject: v.Subject, Lost: lost, Next: k.next,
				Message: fmt.Sprintf("%s: %s, %s below the median of %s", what, unit.Rate(v.Rate), rails.Percent(lost), unit.Rate(median)),
			})
		}
	}
	return out
}

// measured are the rules that compare rates: what each has measured of a node, by what was
// run, and the next step for a slow one.
var measured = []struct {
	rule, next string
	of         func(n *Node, add func(what, subject string, r *Rate))
}{
	{"memory", "`zbench hbm --all-gpus` on the node; compare clocks, power limits and uncorrected errors with another GPU's", func(n *Node, add func(what, subject string, r *Rate)) {
		for _, g := range n.GPUs {
			if r := g.Memory; r != nil {
				add(fmt.Sprintf("memory of %s, %s", g.Name, r.What), gpuName(g), r)
			}
		}
	}},
	{"collective", "`zbench topo` on the node; `zbench collectives --groups 2` there names the link", func(n *Node, add func(what, subject string, r *Rate)) {
		if r := n.Collective; r != nil {
			add(r.What, "node", r)
		}
	}},
	{"nic_collective", "check the cable, PCIe width and the NIC's counters", func(n *Node, add func(what, subject string, r *Rate)) {
		for _, c := range n.NICs {
			if r := c.Collective; r != nil {
				add(r.What, c.Name, r)
			}
		}
	}},
}

// Kinds are the rates of a fleet by rule and by what was run, in the order of the nodes.
func Kinds(nodes []*Node) []Kind {
	var out []Kind
	for _, m := range measured {
		all := map[string][]Value{}
		for _, n := range nodes {
			m.of(n, func(what, subject string, r *Rate) {
				if r.Rate != nil {
					all[what] = append(all[what], Value{n.Host, subject, *r.Rate})
				}
			})
		}
		for _, what := range slices.Sorted(maps.Keys(all)) {
			out = append(out, Kind{m.rule, what, all[what], m.next})
		}
	}
	return out
}

// slow is the rule that compares the rates of one kind of measurement.
func slow(rule string) func(f Fleet, d *Document) []Deviation {
	return func(f Fleet, d *Document) []Deviation {
		var out []Deviation
		for _, k := range Kinds(f.Nodes) {
			if k.Rule == rule {
				out = append(out, outliers(d, k)...)
			}
		}
		return out
	}
}

// majority is the value of more than half, zero if there is none.
func majority[E any, T comparable](all []E, of func(E) T) (usual T, found bool) {
	count := map[T]int{}
	for _, one := range all {
		v := of(one)
		if count[v]++; 2*count[v] > len(all) {
			usual, found = v, true
		}
	}
	return usual, found
}
