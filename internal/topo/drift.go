package topo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Load reads a Node from JSON.
func Load(text []byte) (*Node, error) {
	var n Node
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("not a topology: %w", err)
	}
	if n.Schema != Schema {
		return nil, fmt.Errorf("its schema is %q, not %s", shortened(n.Schema), Schema)
	}
	return &n, nil
}

// DriftSchema is the version of a Drift as JSON.
const DriftSchema = "zbench.drift/1"

// Drift has the differences between nodes that should be equal.
type Drift struct {
	// Schema is the version of the format.
	Schema string `json:"schema"`
	// Nodes is the number of nodes that were compared.
	Nodes int `json:"nodes"`
	// Rows are the properties that differ.
	Rows []DriftRow `json:"settings"`
	// Crossed has a sentence for each node whose cables to leaf switches are swapped.
	Crossed []string `json:"crossed"`
	// NotChecked is the reason why cables were not compared; absent if they were.
	NotChecked string `json:"not_checked,omitempty"`
	// Judgement is the result of the comparison as findings.
	Judgement finding.Judgement `json:"judgement"`
}

// DriftRow is one property that differs between nodes.
type DriftRow struct {
	// Name is the name of the property.
	Name string `json:"name"`
	// Usual is the value of more than half of the nodes; empty if there is no such value.
	Usual string `json:"usual"`
	// Others are the values of the other nodes, or of all nodes if there is no majority.
	Others []DriftValue `json:"others"`
}

// DriftValue is a value and the nodes that have it.
type DriftValue struct {
	// Value is the value as its source writes it.
	Value string `json:"value"`
	// Nodes are the nodes with this value.
	Nodes []string `json:"nodes"`
}

// ownValue matches properties that belong to a single node and may therefore differ.
var ownValue = pattern.New(`^env SLURM_TOPOLOGY_ADDR$|_VISIBLE_DEVICES$`)

// `missing` is the value of a property that a node does not have.
const missing = "(none)"

// Compare compares nodes with each other. There must be at least two, with different names.
func Compare(nodes []*Node) (*Drift, error) {
	if len(nodes) < 2 {
		return nil, fmt.Errorf("%s given; drift takes two or more", plain.Count(len(nodes), "node"))
	}
	values := map[string]map[string]string{} // property → node → value
	var hosts []string
	for _, n := range nodes {
		if slices.Contains(hosts, n.Host) {
			return nil, fmt.Errorf("two of the files are of node %q", n.Host)
		}
		hosts = append(hosts, n.Host)
		for _, f := range n.facts() {
			if values[f.Name] == nil {
				values[f.Name] = map[string]string{}
			}
			values[f.Name][n.Host] = f.Value
		}
	}
	d := &Drift{Nodes: len(nodes)}
	for _, name := range sortedKeys(values) {
		if row, differs := driftRow(name, hosts, values[name]); differs && !ownValue.MatchString(name) {
			d.Rows = append(d.Rows, row)
		}
	}
	d.cables(nodes)
	return d, nil
}

// facts() returns the node's stack, and facts derived from its topology.
func (n *Node) facts() []Fact {
	var addresses, rails []string
	for _, g := range n.GPUs {
		addresses = append(addresses, g.PCI)
		path := "none"
		if g.Rail != nil {
			path = g.Rail.Path
		}
		if !slices.Contains(rails, path) {
			rails = append(rails, path)
		}
	}
	all := slices.Clone(n.Stack)
	for _, f := range []Fact{
		{"GPU addresses", strings.Join(addresses, " ")},
		{"rails share", strings.Join(rails, ", ")},
		{"xGMI links", plain.Count(len(n.Links), "link")},
		{"MTU", counted(n.physical(), func(c NIC) string { return numeral(c.MTU) })},
		{"GID indices of RoCE v2", counted(n.physical(), NIC.roceIndices)},
	} {
		if f.Value != "" {
			all = append(all, f)
		}
	}
	return all
}

func (c NIC) roceIndices() string {
	return numbered(slice.Map(slice.Where(c.GIDs, func(g GID) bool { return g.Type == RoCEv2 }), func(g GID) int { return g.Index }))
}

func driftRow(name string, hosts []string, of map[string]string) (row DriftRow, differs bool) {
	value := func(host string) string { return cmp.Or(of[host], missing) }
	usual, odd, split := outliers(hosts, value)
	row = DriftRow{Name: name, Usual: usual}
	if split != nil {
		odd = hosts
	}
	order, have := slice.Group(odd, value)
	row.Others = slice.Map(order, func(v string) DriftValue { return DriftValue{Value: v, Nodes: have[v]} })
	return row, len(row.Others) > 0
}

// cables() compares the leaf switches of the same rail between nodes. Only nodes that use the same
// set of leaf switches are compared. Two swapped cables of a node do not change that set, so the
// swap is found.
func (d *Drift) cables(nodes []*Node) {
	cabled := slice.Where(nodes, func(n *Node) bool { return n.leaves() != nil })
	_, groups := slice.Group(cabled, func(n *Node) string { return strings.Join(slices.Sorted(slices.Values(n.leaves())), "\x00") })
	if len(groups) == 0 {
		d.NotChecked = "no node has a leaf switch for each rail: take them with lldpctl -f json and --outputs"
	}
	for _, key := range sortedKeys(groups) {
		group := groups[key]
		if len(group) < 3 {
			d.NotChecked = fmt.Sprintf("%s share their leaf switches with fewer than two others: no majority", plain.Count(len(group), "node"))
			continue
		}
		for rail := range group[0].GPUs {
			usual, odd, _ := outliers(group, func(n *Node) string { return n.leaves()[rail] })
			for _, n := range odd {
				d.Crossed = append(d.Crossed, fmt.Sprintf("node %s: rail %d (GPU %s, NIC %s) is cabled to %s; the same rail of the other nodes to %s", n.Host, rail, n.GPUs[rail].PCI, n.GPUs[rail].Rail, n.leaves()[rail], usual))
			}
		}
	}
}

// leaves() returns the leaf switches of the rails in the order of the GPUs; nil if one is unknown.
func (n *Node) leaves() []string {
	var all []string
	for _, g := range n.GPUs {
		if g.Rail == nil || len(g.Rail.NICs) != 1 {
			return nil
		}
		c := n.nic(g.Rail.NICs[0])
		if c == nil || c.Leaf == "" {
			return nil
		}
		all = append(all, c.Leaf)
	}
	return all
}

// Differs reports whether anything differs.
func (d *Drift) Differs() bool { return len(d.Rows) > 0 || len(d.Crossed) > 0 }

// Verdict returns the result in one sentence.
func (d *Drift) Verdict() string {
	nodes := plain.Count(d.Nodes, "node")
	if !d.Differs() {
		return nodes + ": nothing differs"
	}
	var parts []string
	if len(d.Rows) > 0 {
		names := slice.Map(d.Rows, func(r DriftRow) string { return r.Name })
		parts = append(parts, plain.Count(len(d.Rows), "setting")+" with differences: "+strings.Join(names, ", "))
	}
	if len(d.Crossed) > 0 {
		parts = append(parts, plain.Count(len(d.Crossed), "cable")+" swapped")
	}
	return nodes + ": " + strings.Join(parts, "; ")
}

// mostWide is the largest number of characters of a value in the table.
const mostWide = 40

// Table returns a table with one row for each value that differs from the majority's.
func (d *Drift) Table() table.Table {
	t := table.Of([]string{"setting", "majority", "other", "nodes"})
	t.Rule = true
	for _, r := range d.Rows {
		for _, o := range r.Others {
			t.Add(r.Name, plain.Clip(cmp.Or(r.Usual, "no majority"), mostWide), plain.Clip(o.Value, mostWide), nodeList(o.Nodes))
		}
	}
	return t
}

// nodeList names nodes. The list is shortened if there are many.
func nodeList(nodes []string) string {
	const most = 8
	if len(nodes) <= most {
		return strings.Join(nodes, ",")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:most], ","), len(nodes)-most)
}

// Shown returns the comparison for display.
func (d *Drift) Shown() *document.Document {
	out := &document.Document{Command: "topo", Value: d, Title: "Differences between " + plain.Count(d.Nodes, "node"), State: finding.Pass, Findings: d.findings()}
	if len(d.Rows) > 0 {
		out.Results("Settings that differ", document.Sheet{Table: d.Table(), Label: "settings that differ"}).Show(document.Everywhere)
	}
	return out
}

// findings() returns the verdict, the swapped cables, and the properties that were not compared.
func (d *Drift) findings() finding.List {
	all := finding.List{{Code: "drift", Severity: finding.OK, Text: d.Verdict()}}
	if d.Differs() {
		all[0].Severity = finding.Fault
	}
	all = append(all, slice.Map(d.Crossed, func(cable string) finding.Finding {
		return finding.Finding{Code: "cable_swapped", Severity: finding.Fault, Text: cable}
	})...)
	if d.NotChecked != "" {
		all = append(all, finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: "cables: " + d.NotChecked})
	}
	return all
}

// WriteJSON writes the differences as JSON.
func (d *Drift) WriteJSON(w io.Writer) error {
	c := *d
	c.Schema, c.Rows, c.Crossed = DriftSchema, jsonfile.Filled(d.Rows), jsonfile.Filled(d.Crossed)
	all := d.findings()
	c.Judgement = finding.Judgement{Rules: Rules, State: all.State(true), Findings: all}
	return jsonfile.Write(w, "differences", c)
}
