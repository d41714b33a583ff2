// Package nodescreen judges the nodes of a fleet before they form a world. Each node reports its facts and
// its own measurements (Node, one file each). Judge compares the nodes and names the failing and outlying
// nodes with the reason. It measures nothing and knows only the faults that the reports show.
package nodescreen

import (
	"encoding/json"
	"fmt"
	"io"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/pattern"
)

// NodeSchema is the version of a node's file.
const NodeSchema = "zbench.screen-node/1"

// Node is one node's report about itself, without any other node.
type Node struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Tool is the version of zbench.
	Tool string `json:"tool"`
	// Host is the name of the node.
	Host string `json:"host"`
	// Backend is rocm, cuda or loopback.
	Backend string `json:"backend"`
	// Simulated is true if the loopback's model timed the measurements.
	Simulated bool `json:"simulated"`
	// Duration of the screen in seconds.
	Seconds float64 `json:"seconds" jsonschema:"minimum=0"`
	// GPUs in the order of the runtime.
	GPUs []GPU `json:"gpus"`
	// Packages is the number of GPUs in the kernel's topology; null if unknown.
	Packages *int `json:"packages"`
	// NICs are the RDMA devices, by PCI address, without virtual functions.
	NICs []NIC `json:"nics"`
	// Facts are properties that the nodes of a fleet should share: versions of libraries, drivers
	// and firmware.
	Facts []Fact `json:"facts"`
	// Faults are the findings of the node's own checks.
	Faults []Fault `json:"faults"`
	// Collective is the collective over the node's GPUs; null if it was not run.
	Collective *Rate `json:"collective"`
	// Links are messages between every two GPUs of the node; absent if they were not run.
	Links *Links `json:"links,omitempty"`
	// Soak is the search for wrong data in first messages between the node's GPUs. Its samples are attempts;
	// it has no rate. Absent if it was not run.
	Soak *Rate `json:"soak,omitempty"`
	// Notes list omitted steps with reasons.
	Notes []string `json:"notes"`
}

// GPU is a GPU of the runtime.
type GPU struct {
	// Index is the runtime's number.
	Index int `json:"index"`
	// Name of the product.
	Name string `json:"name"`
	// PCI address; empty if unknown.
	PCI string `json:"pci"`
	// Bytes of memory.
	Bytes int64 `json:"bytes"`
	// Memory is the bandwidth of the GPU's memory; null if it was not measured.
	Memory *Rate `json:"memory"`
	// Product is the rate of a matrix product that fills the GPU's compute units; absent if it was not run.
	Product *Rate `json:"product,omitempty"`
}

// NIC is an RDMA device with its port.
type NIC struct {
	// Name of the device in the form of NCCL_IB_HCA.
	Name string `json:"name"`
	// State of the port: ACTIVE, DOWN, INIT, …; empty if unknown.
	State string `json:"state"`
	// Negotiated is the port's rate in bytes per second; null if unknown.
	Negotiated *float64 `json:"negotiated"`
	// Rated is the card's nominal rate in bytes per second; null if unknown.
	Rated *float64 `json:"rated"`
	// Collective is the collective with this NIC as the only path; null if it was not run.
	Collective *Rate `json:"collective"`
}

// Fact is a property of a node.
type Fact struct {
	// Name of the property.
	Name string `json:"name"`
	// Value as the fact's source writes it.
	Value string `json:"value"`
}

// Fault is a finding of a node's own checks.
type Fault struct {
	// Code is stable across versions.
	Code string `json:"code"`
	// Subject is the component: a PCI address, a NIC, or the node.
	Subject string `json:"subject"`
	// Message states the finding.
	Message string `json:"message"`
	// Next is the next step; absent if there is none.
	Next string `json:"next,omitempty"`
}

// Rate is one measurement, or the reason why there is none.
type Rate struct {
	// Workload with its size, such as "copy 1 GiB".
	What string `json:"what"`
	// Rate is the median in bytes per second (bus bandwidth for a collective, operations per second for a
	// product); null if the measurement failed or has no rate.
	Rate *float64 `json:"rate" jsonschema:"exclusiveMinimum=0"`
	// Samples is the number of samples behind the median.
	Samples int `json:"samples"`
	// Error is the reason of a failure; absent without one.
	Error string `json:"error,omitempty"`
	// Wrong is true if the measurement failed with a wrong result; absent otherwise.
	Wrong bool `json:"wrong,omitempty"`
}

// Links are messages between every two GPUs of a node, in the rounds of zbench rails.
type Links struct {
	// Workload with its size.
	What string `json:"what"`
	// Bytes of a message.
	Bytes int64 `json:"bytes" jsonschema:"exclusiveMinimum=0"`
	// Timings are the timed messages.
	Timings []LinkTiming `json:"timings"`
	// Error is the reason of a failure; absent without one.
	Error string `json:"error,omitempty"`
}

// LinkTiming holds the times of one pair's messages in one round.
type LinkTiming struct {
	// Round counts from 0; in a round of the same number, all nodes measure the same pairs.
	Round int `json:"round"`
	// A is a GPU of the pair, by the runtime's number.
	A int `json:"a"`
	// B is the other GPU of the pair.
	B int `json:"b"`
	// Seconds of each launch.
	Seconds []float64 `json:"seconds"`
}

// WriteJSON writes the node's file.
func (n *Node) WriteJSON(w io.Writer) error {
	out := *n
	out.GPUs, out.NICs, out.Facts = jsonfile.Filled(n.GPUs), jsonfile.Filled(n.NICs), jsonfile.Filled(n.Facts)
	if n.Links != nil && n.Links.Timings == nil {
		none := *n.Links
		none.Timings, out.Links = []LinkTiming{}, &none
	}
	out.Faults, out.Notes = jsonfile.Filled(n.Faults), jsonfile.Filled(n.Notes)
	return jsonfile.Write(w, "node", &out)
}

// hostName is the pattern of a node's name, which is part of command lines and files. Its length is checked
// separately: as a count in the expression it would take a fifth of the program's start-up time.
var hostName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// longestHost is the longest name in the DNS, in bytes.
const longestHost = 253

// ReadNode reads a node's file. The error describes the defect.
func ReadNode(text []byte) (*Node, error) {
	var n Node
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("not the file of a screened node: %w", err)
	}
	switch {
	case n.Schema != NodeSchema:
		return nil, fmt.Errorf("schema %.40q, expected %q", n.Schema, NodeSchema)
	case len(n.Host) > longestHost || !hostName.MatchString(n.Host):
		return nil, fmt.Errorf("host %.40q is not the name of a host", n.Host)
	}
	if n.Links != nil {
		for _, t := range n.Links.Timings {
			if a, b := min(t.A, t.B), max(t.A, t.B); a < 0 || a == b || b >= len(n.GPUs) {
				return nil, fmt.Errorf("links: a message between GPUs %d and %d of %d", t.A, t.B, len(n.GPUs))
			}
		}
	}
	for _, r := range n.rates() {
		if v := r.Rate.Rate; v != nil && !(*v > 0) {
			return nil, fmt.Errorf("%s: rate %g, expected a positive number", r.What, *v)
		}
	}
	if jsonfile.Edited(text) {
		n.Notes = append(n.Notes, "EDITED: its file was edited after zbench wrote it: the content does not fit its checksum")
	}
	return &n, nil
}

// measurement is a measurement of a node: the rule that compares it, its kind, and the component.
type measurement struct {
	rule, kind, subject string
	*Rate
}

// rates returns all measurements of the node.
func (n *Node) rates() []measurement {
	var out []measurement
	add := func(rule, of, subject string, r *Rate) {
		if r != nil {
			out = append(out, measurement{rule, of + r.What, subject, r})
		}
	}
	add("collective", "", "node", n.Collective)
	add("soak", "", "node", n.Soak)
	for _, g := range n.GPUs {
		add("memory", "memory of "+g.Name+", ", gpuName(g), g.Memory)
		add(productRule, "product of "+g.Name+", ", gpuName(g), g.Product)
	}
	for _, c := range n.NICs {
		add("nic_collective", "", c.Name, c.Collective)
	}
	return append(out, n.linkRates()...)
}

// Figures returns the measured rates of the node, each once.
func (n *Node) Figures() (out []history.Figure) {
	for _, r := range n.rates() {
		if r.Rate.Rate != nil {
			out = append(out, history.Figure{Kind: r.kind, Subject: r.subject, Rate: *r.Rate.Rate})
		}
	}
	return out
}
