package nodescreen

import (
	"io"
	"slices"

	"zbench/bench/finding"
	"zbench/bench/jsonfile"
	"zbench/bench/slice"
)

// Schema names the version of screen.json, RulesVersion that of the rules that make its findings.
const (
	Schema       = "zbench.screen/1"
	RulesVersion = 1
)

// Document is what zbench screen writes: screen.json.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// State is healthy, faulty, unclear or not_checked.
	State finding.State `json:"state"`
	// Simulated is true if the loopback timed a node's measurements.
	Simulated bool `json:"simulated"`
	// Nodes is the number of nodes that reported.
	Nodes int `json:"nodes"`
	// Expected is how many nodes should have reported; 0 is unknown.
	Expected int `json:"expected"`
	// Findings are what is wrong, by node.
	Findings []Deviation `json:"findings"`
	// References are what measurements were compared with.
	References []Reference `json:"references"`
	// Unchecked says what was not judged, and why.
	Unchecked []string `json:"unchecked"`
	// Pass are the nodes without a finding.
	Pass []string `json:"pass"`
	// Fail are the nodes to leave out.
	Fail []string `json:"fail"`
	// Unclear are nodes that differ from others without a majority.
	Unclear []string `json:"unclear"`
	// Judgement is what the screen comes to, as findings.
	Judgement finding.Judgement `json:"judgement"`

	// Reports are those of the nodes that were judged, by name.
	Reports []*Node `json:"-"`
	// compared are the rates behind the references, for the gate before OK.
	compared []finding.Compared[Extreme]
	// checked is true where there was something to compare.
	checked bool
}

// Deviation is what is wrong with a node.
type Deviation struct {
	// Host is the node; empty for nodes that did not report and whose names are unknown.
	Host string `json:"host"`
	// Rule names the rule that found it: gpus, library, nic_state, …
	Rule string `json:"rule"`
	// Subject is the component: a GPU, a NIC, or the node.
	Subject string `json:"subject"`
	// Message says what was found and with what it was compared.
	Message string `json:"message"`
	// Lost is the share of the usual bandwidth that is missing, 0 to 1; 0 if it is not a
	// bandwidth.
	Lost float64 `json:"lost"`
	// Unclear is true where no majority tells which nodes are right.
	Unclear bool `json:"unclear"`
	// Next is the next step.
	Next string `json:"next"`
}

// Reference is what one kind of measurement was compared with.
type Reference struct {
	// What was measured.
	What string `json:"what"`
	// Rule that compared it.
	Rule string `json:"rule,omitempty"`
	// Median of all nodes, in bytes per second, of products in operations per second.
	Median float64 `json:"median"`
	// Spread is the robust standard deviation, as a share of the median.
	Spread float64 `json:"spread"`
	// Limit is the least share lost that is named.
	Limit float64 `json:"limit"`
	// Count is the number of values.
	Count int `json:"count"`
	// Slowest is the component with the least rate.
	Slowest *Extreme `json:"slowest,omitempty"`
	// Fastest is the component with the highest rate.
	Fastest *Extreme `json:"fastest,omitempty"`
}

// Extreme is a component at an end of what was measured.
type Extreme struct {
	// Host is the node.
	Host string `json:"host"`
	// Subject is the component: a GPU, a NIC, or the node.
	Subject string `json:"subject"`
	// Rate in the unit of the median.
	Rate float64 `json:"rate" jsonschema:"exclusiveMinimum=0"`
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error {
	out := *d
	out.Judgement = finding.Judgement{Rules: RulesVersion, State: d.State.General(), Findings: d.verdict()}
	out.Findings, out.References, out.Unchecked = jsonfile.Filled(d.Findings), jsonfile.Filled(d.References), jsonfile.Filled(d.Unchecked)
	out.Pass, out.Fail, out.Unclear = jsonfile.Filled(d.Pass), jsonfile.Filled(d.Fail), jsonfile.Filled(d.Unclear)
	return jsonfile.Write(w, "screen", &out)
}

// conclude sorts the nodes and decides the state.
func (d *Document) conclude(missing []string) {
	fail, unclear := map[string]bool{}, map[string]bool{}
	for _, f := range d.Findings {
		if f.Unclear {
			unclear[f.Host] = true
		} else {
			fail[f.Host] = true
		}
	}
	hosts := slices.Concat(missing, slice.Map(d.Reports, func(n *Node) string { return n.Host }))
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		switch {
		case fail[host]:
			d.Fail = append(d.Fail, host)
		case unclear[host]:
			d.Unclear = append(d.Unclear, host)
		default:
			d.Pass = append(d.Pass, host)
		}
	}
	d.State = finding.NotChecked
	if d.Nodes > 0 {
		d.State = finding.Settle(len(fail) > 0, len(d.Unclear) > 0, d.checked || d.Nodes == 1).OfNodes()
	}
}
