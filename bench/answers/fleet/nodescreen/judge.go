package nodescreen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
)

// Fleet holds the nodes to judge.
type Fleet struct {
	Nodes []*Node
	// Expected is the number of nodes that should have reported; 0 is unknown. Hosts are the names of the
	// expected nodes, as far as the launcher gives them.
	Expected int
	Hosts    []string
}

// rule is one comparison. Its function `find` returns findings. It adds the things that it could not
// judge to d.Unchecked.
type rule struct {
	name string
	find func(f Fleet, d *Document) []Deviation
}

// rules is the table of comparisons, in the order of a node's findings.
var rules = []rule{
	{"no_report", noReport},
	{"gpus", gpus},
	{"fact", facts},
	{"nic_count", nicCount},
	{"nic_state", nicState},
	{"nic_rate", nicRate},
	{"own_check", ownChecks},
	{finding.CodeWrongData, failures(true)},
	{"error", failures(false)},
	{"memory", slow("memory", "`zbench hbm --all-gpus` on the node; compare clocks, power limits and uncorrected errors with another GPU's")},
	{productRule, slow(productRule, "compare clocks, power limits and temperatures with another GPU's; `zbench gemm --peak` on the node")},
	{"collective", slow("collective", "`zbench topo` on the node; `zbench collectives --groups 2` there names the link")},
	{linkRule, links},
	{"nic_collective", slow("nic_collective", "check the cable, PCIe width and the NIC's counters")},
}

// Rules returns the rules' names, in the order of the table.
func Rules() []string {
	return slice.Map(rules, func(r rule) string { return r.name })
}

// Judge compares the nodes of a fleet. The order of the nodes has no effect.
func Judge(f Fleet) *Document {
	f.Nodes = slices.SortedFunc(slices.Values(f.Nodes), func(a, b *Node) int { return cmp.Compare(a.Host, b.Host) })
	d := &Document{Schema: Schema, Nodes: len(f.Nodes), Expected: f.Expected, Reports: f.Nodes}
	for _, n := range f.Nodes {
		d.Simulated = d.Simulated || n.Simulated
	}
	for _, r := range rules {
		for _, found := range r.find(f, d) {
			found.Rule = r.name
			d.Findings = append(d.Findings, found)
		}
	}
	d.Findings = append(d.Findings, d.doubts()...)
	slices.SortStableFunc(d.Findings, func(a, b Deviation) int { return cmp.Compare(a.Host, b.Host) })
	d.unchecked(f.Nodes)
	d.conclude(f.missing())
	return d
}

// `missing` returns the known hosts without a report.
func (f Fleet) missing() []string {
	return slice.Where(f.Hosts, func(host string) bool {
		return !slices.ContainsFunc(f.Nodes, func(n *Node) bool { return SameHost(n.Host, host) })
	})
}

// SameHost treats a name with and without its domain as the same host.
func SameHost(a, b string) bool {
	short := func(s string) string { s, _, _ = strings.Cut(s, "."); return s }
	return a == b || (!strings.Contains(a, ".") || !strings.Contains(b, ".")) && short(a) == short(b)
}

func noReport(f Fleet, _ *Document) []Deviation {
	const next = "look at the node's log and at the launcher's messages; start `zbench screen` there alone"
	known := f.missing()
	out := slice.Map(known, func(host string) Deviation {
		return Deviation{Host: host, Subject: "node", Message: "it reported nothing before the deadline", Next: next}
	})
	if n := f.Expected - len(f.Nodes) - len(known); n > 0 && len(f.Nodes) > 0 {
		out = append(out, Deviation{Subject: "nodes", Message: fmt.Sprintf("%d of %d nodes reported nothing before the deadline; their names are unknown", n, f.Expected), Next: next})
	}
	return out
}

// gpus finds nodes whose runtime shows fewer GPUs than the runtime of most nodes, or fewer than the
// kernel shows.
func gpus(f Fleet, d *Document) []Deviation {
	usual, most := majority(f.Nodes, func(n *Node) int { return len(n.GPUs) })
	if !most && len(f.Nodes) > 1 {
		d.Unchecked = append(d.Unchecked, "the number of GPUs: no number is that of most nodes")
	}
	var out []Deviation
	for _, n := range f.Nodes {
		have, hiding, next := len(n.GPUs), backend.Like(n.Backend).Hiding, backend.ToolOf(n.Backend)+", dmesg; reset or reboot the node"
		switch {
		case most && have < usual:
			out = append(out, Deviation{Host: n.Host, Subject: "node", Message: fmt.Sprintf("it has %s; most nodes have %d", plain.Count(have, "GPU"), usual), Next: next})
		case n.Packages != nil && have < *n.Packages:
			out = append(out, Deviation{
				Host: n.Host, Subject: "node", Next: "is a variable such as " + hiding[len(hiding)-1] + " set there?",
				Message: fmt.Sprintf("the runtime shows %s, the kernel %d", plain.Count(have, "GPU"), *n.Packages),
			})
		}
	}
	return out
}

// facts finds nodes with a property that is different on most other nodes.
func facts(f Fleet, _ *Document) []Deviation {
	facts := slices.Concat(slice.Map(f.Nodes, func(n *Node) []Fact { return n.Facts })...)
	names := slice.Map(facts, func(x Fact) string { return x.Name })
	slices.Sort(names)
	var out []Deviation
	for _, name := range slices.Compact(names) {
		value := func(n *Node) string { return n.fact(name) }
		usual, most := majority(f.Nodes, value)
		if most && usual == "" {
			continue // if most nodes do not state a property, no node needs to
		}
		for _, n := range f.Nodes {
			switch have := value(n); {
			case most && have != usual:
				out = append(out, Deviation{
					Host: n.Host, Subject: name, Message: fmt.Sprintf("%s is %s; most nodes have %s", name, shown(have), shown(usual)),
					Next: "install the version of the other nodes",
				})
			case !most && len(f.Nodes) > 1:
				out = append(out, Deviation{
					Host: n.Host, Subject: name, Unclear: true, Next: "install one version on all nodes",
					Message: fmt.Sprintf("%s is %s; no value is that of most nodes", name, shown(have)),
				})
			}
		}
	}
	return out
}

func (n *Node) fact(name string) string {
	for _, x := range n.Facts {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

func shown(value string) string { return cmp.Or(value, "unknown") }

// ownChecks returns the findings of the nodes' own checks, except findings that most nodes have.
func ownChecks(f Fleet, d *Document) []Deviation {
	count := map[string]int{}
	for _, n := range f.Nodes {
		seen := map[string]bool{}
		for _, x := range n.Faults {
			if !seen[x.Code] {
				seen[x.Code] = true
				count[x.Code]++
			}
		}
	}
	common := map[string]bool{}
	var out []Deviation
	for _, n := range f.Nodes {
		for _, x := range n.Faults {
			if len(f.Nodes) > 2 && 2*count[x.Code] > len(f.Nodes) {
				common[x.Code] = true
				continue
			}
			out = append(out, Deviation{Host: n.Host, Code: x.Code, Subject: x.Subject, Message: x.Message, Next: x.Next})
		}
	}
	for _, code := range slices.Sorted(maps.Keys(common)) {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: found on %d of %d nodes, so no node is left out for it", code, count[code], len(f.Nodes)))
	}
	return out
}

// failures returns the rule for failed measurements: for measurements with a wrong result if `wrong` is
// true, otherwise for all other failures.
func failures(wrong bool) func(f Fleet, _ *Document) []Deviation {
	return func(f Fleet, _ *Document) []Deviation {
		var out []Deviation
		for _, n := range f.Nodes {
			for _, r := range n.rates() {
				if r.Error != "" && r.Wrong == wrong {
					out = append(out, Deviation{Host: n.Host, Subject: r.subject, Message: r.What + ": " + r.Error, Next: "start `zbench screen` on this node alone"})
				}
			}
		}
		return out
	}
}

func gpuName(g GPU) string {
	if g.PCI == "" {
		return fmt.Sprintf("GPU %d", g.Index)
	}
	return fmt.Sprintf("GPU %d (%s)", g.Index, g.PCI)
}
