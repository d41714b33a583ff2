package nodescreen

import (
	"io"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/slice"
)

// Schema is the version of screen.json. RulesVersion is the version of the rules that make its findings.
const (
	Schema       = "zbench.screen/1"
	RulesVersion = 1
)

// Document is the content of screen.json, which zbench screen writes.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// State is healthy, faulty, unclear or not_checked.
	State finding.State `json:"state"`
	// Simulated is true if the loopback timed a node's measurements.
	Simulated bool `json:"simulated"`
	// Nodes is the number of nodes that reported.
	Nodes int `json:"nodes"`
	// Expected is the number of nodes that should have reported; 0 is unknown.
	Expected int `json:"expected"`
	// Findings are the defects by node.
	Findings []Deviation `json:"findings"`
	// References are the values for comparison.
	References []Reference `json:"references"`
	// Unchecked lists what was not judged, with reasons.
	Unchecked []string `json:"unchecked"`
	// Pass are the nodes without a finding.
	Pass []string `json:"pass"`
	// Fail are the nodes to leave out.
	Fail []string `json:"fail"`
	// Unclear are nodes that differ from other nodes while no majority shows which nodes are right.
	Unclear []string `json:"unclear"`
	// Judgement has the result of the screen as findings.
	Judgement finding.Judgement `json:"judgement"`

	// Reports are the reports of the judged nodes, by name.
	Reports []*Node `json:"-"`
	// `compared` holds the rates behind the references. The gate checks them before an OK.
	compared []finding.Compared[Extreme]
	// checked is true if something could be compared.
	checked bool
}

// Deviation is a defect of a node.
type Deviation struct {
	// Host is the node; empty for nodes that did not report and whose names are unknown.
	Host string `json:"host"`
	// Rule is the name of the rule that found the defect: gpus, library, nic_state, …
	Rule string `json:"rule"`
	// Code is the code of the node's own check; absent for other rules.
	Code string `json:"code,omitempty"`
	// Subject is the component: a GPU, a NIC, or the node.
	Subject string `json:"subject"`
	// Message states the finding and the value for comparison.
	Message string `json:"message"`
	// Lost is the missing share of the usual bandwidth, 0 to 1; 0 if the defect is not a loss of bandwidth.
	Lost float64 `json:"lost"`
	// Unclear is true if no majority shows which nodes are right.
	Unclear bool `json:"unclear"`
	// Next is the next step.
	Next string `json:"next"`
}

// Reference holds the values for comparison of one kind of measurement.
type Reference struct {
	// Kind of measurement.
	What string `json:"what"`
	// Rule that compared the measurements.
	Rule string `json:"rule,omitempty"`
	// Median of all nodes, in bytes per second; for products in operations per second.
	Median float64 `json:"median"`
	// Spread is the robust standard deviation, as a share of the median.
	Spread float64 `json:"spread"`
	// Limit is the smallest loss that is named, as a share.
	Limit float64 `json:"limit"`
	// Count is the number of values.
	Count int `json:"count"`
	// Slowest is the component with the lowest rate.
	Slowest *Extreme `json:"slowest,omitempty"`
	// Fastest is the component with the highest rate.
	Fastest *Extreme `json:"fastest,omitempty"`
}

// Extreme is a component with the lowest or the highest rate.
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
