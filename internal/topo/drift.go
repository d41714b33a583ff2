package topo

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/table"
)

// Load reads a Node of its JSON.
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

// Drift is what differs between nodes that should be equal.
type Drift struct {
	// Nodes is the number of nodes that were compared.
	Nodes int
	// Rows are the properties that differ.
	Rows []DriftRow
	// Crossed are nodes whose cables are swapped between leaf switches, in sentences.
	Crossed []string
	// NotChecked is why cables were not compared; empty if they were.
	NotChecked string
}

// DriftRow is a property that differs.
type DriftRow struct {
	Name string
	// Usual is the value of more than half of the nodes; empty without such a majority.
	Usual string
	// Others are the values of the other nodes, or of all without a majority.
	Others []DriftValue
}

// DriftValue is a value and its nodes.
type DriftValue struct {
	Value string
	Nodes []string
}

// ownValue are properties that belong to a node and may differ.
func ownValue(name string) bool {
	return name == "env SLURM_TOPOLOGY_ADDR" || strings.HasSuffix(name, "_VISIBLE_DEVICES")
}

// missing stands for a property that a node does not have.
const missing = "(none)"

// Compare holds nodes against each other. There must be two at least, of different names.
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
		if row, differs := driftRow(name, hosts, values[name]); differs && !ownValue(name) {
			d.Rows = append(d.Rows, row)
		}
	}
	d.cables(nodes)
	return d, nil
}

// facts are the stack, and what follows from the topology.
func (n *Node) facts() []Fact {
	var rails []string
	for _, g := range n.GPUs {
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
		{"GPU addresses", strings.Join(n.addresses(), " ")},
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

func (n *Node) addresses() []string {
	var all []string
	for _, g := range n.GPUs {
		all = append(all, g.PCI)
	}
	return all
}

func (c NIC) roceIndices() string {
	var all []int
	for _, g := range c.GIDs {
		if g.Type == RoCEv2 {
			all = append(all, g.Index)
		}
	}
	return numbered(all)
}

func driftRow(name string, hosts []string, of map[string]string) (row DriftRow, differs bool) {
	value := func(host string) string {
		if v, ok := of[host]; ok && v != "" {
			return v
		}
		return missing
	}
	usual, odd, split := outliers(hosts, value)
	row = DriftRow{Name: name, Usual: usual}
	if split != nil {
		odd = hosts
	}
	for _, host := range odd {
		i := slices.IndexFunc(row.Others, func(v DriftValue) bool { return v.Value == value(host) })
		if i < 0 {
			i = len(row.Others)
			row.Others = append(row.Others, DriftValue{Value: value(host)})
		}
		row.Others[i].Nodes = append(row.Others[i].Nodes, host)
	}
	return row, len(row.Others) > 0
}

// cables compares the leaves of equal rails. Nodes are compared with those of the same set
// of leaves: a cable that is swapped within a node leaves its set as it is.
func (d *Drift) cables(nodes []*Node) {
	groups := map[string][]*Node{}
	for _, n := range nodes {
		if leaves := n.leaves(); leaves != nil {
			set := slices.Sorted(slices.Values(leaves))
			groups[strings.Join(set, "\x00")] = append(groups[strings.Join(set, "\x00")], n)
		}
	}
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

// leaves are the leaf switches of the rails in the order of the GPUs, nil if one is not
// known.
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

// Differs reports whether anything does.
func (d *Drift) Differs() bool { return len(d.Rows) > 0 || len(d.Crossed) > 0 }

// Verdict is the result in one sentence.
func (d *Drift) Verdict() string {
	nodes := plain.Count(d.Nodes, "node")
	if !d.Differs() {
		return nodes + ": nothing differs"
	}
	var parts []string
	if len(d.Rows) > 0 {
		var names []string
		for _, r := range d.Rows {
			names = append(names, r.Name)
		}
		parts = append(parts, plain.Count(len(d.Rows), "setting")+" with differences: "+strings.Join(names, ", "))
	}
	if len(d.Crossed) > 0 {
		parts = append(parts, plain.Count(len(d.Crossed), "cable")+" swapped")
	}
	return nodes + ": " + strings.Join(parts, "; ")
}

// Table has a row for each value that differs from the majority's.
func (d *Drift) Table() table.Table {
	t := table.Of([]string{"setting", "majority", "other", "nodes"})
	t.Rule = true
	for _, r := range d.Rows {
		for _, o := range r.Others {
			usual := r.Usual
			if usual == "" {
				usual = "no majority"
			}
			t.Add(r.Name, cut(usual), cut(o.Value), nodeList(o.Nodes))
		}
	}
	return t
}

// cut shortens a value to what a column has room for.
func cut(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// nodeList names nodes, the first few of many.
func nodeList(nodes []string) string {
	const most = 8
	if len(nodes) <= most {
		return strings.Join(nodes, ",")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:most], ","), len(nodes)-most)
}

// lines are the report around its table.
func (d *Drift) lines(width int) (before, after []string) {
	before = plain.Fold(plain.Line(d.Verdict()), width, "", "  ")
	if len(d.Crossed) > 0 {
		before = append(before, "")
	}
	for _, c := range d.Crossed {
		before = append(before, plain.Fold(plain.Line(c), width, "  ✗ ", "    ")...)
	}
	if d.NotChecked != "" {
		after = append([]string{"NOT CHECKED"}, plain.Fold("cables: "+d.NotChecked, width, "  - ", "    ")...)
	}
	return before, after
}

// Text writes the drift for a terminal of a width in columns, 0 for 120.
func (d *Drift) Text(w io.Writer, width int) error {
	if width == 0 {
		width = table.Terminal
	}
	before, after := d.lines(width)
	return around(w, before, after, func(w io.Writer) error { return table.Text(w, width, d.Table()) }, len(d.Rows) > 0)
}

// Markdown writes the drift for an issue.
func (d *Drift) Markdown(w io.Writer) error {
	before := []string{"**" + plain.Markdown(plain.Line(d.Verdict())) + "**"}
	for _, c := range d.Crossed {
		before = append(before, "- ✗ "+plain.Markdown(plain.Line(c)))
	}
	var after []string
	if d.NotChecked != "" {
		after = []string{"NOT CHECKED: cables: " + d.NotChecked}
	}
	return around(w, before, after, func(w io.Writer) error { return table.Markdown(w, d.Table()) }, len(d.Rows) > 0)
}
