package probe

import (
	"io/fs"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/judge"
	"zbench/bench/base/slice"
	"zbench/internal/topo"
)

// The screen has rules of its own for these facts and findings: it compares a node with the other
// nodes.
var (
	own      = []string{"GPUs", "NICs"}
	compared = []string{"port_down", "nic_rates_differ"}
)

// Facts reads a node's facts from a tree of files: NICs, GPUs in the kernel's topology,
// versions, and defects. It returns the topology that it read.
func Facts(fsys fs.FS, n *nodescreen.Node, environ []string) (*topo.Node, error) {
	t, err := topo.Read(fsys, topo.Inputs{Host: n.Host, Environ: environ})
	if err != nil {
		return nil, err
	}
	if slices.Contains(t.Sources, "kfd") {
		n.Packages = new(len(t.GPUs))
		n.Facts = append(n.Facts, nodescreen.Fact{Name: "GPU partitions", Value: partitions(t)})
	}
	for _, c := range slice.Where(t.NICs, func(c topo.NIC) bool { return !c.Virtual }) {
		n.NICs = append(n.NICs, nodescreen.NIC{Name: c.Name, State: c.State, Negotiated: c.Negotiated, Rated: c.Rated})
	}
	for _, x := range t.Stack {
		if !slices.Contains(own, x.Name) {
			n.Facts = append(n.Facts, nodescreen.Fact{Name: x.Name, Value: x.Value})
		}
	}
	for _, f := range t.Findings {
		if f.Code == judge.CodeFlush { // left out, because no measurement of a single node crosses a NIC as jobs do
			n.Notes = append(n.Notes, "data in the first message of a connection: "+f.Message+"; next: "+f.Hint)
		}
		if f.Mark == topo.Bad && !slices.Contains(compared, f.Code) {
			n.Faults = append(n.Faults, nodescreen.Fault{Code: f.Code, Subject: f.Subject, Message: f.Message, Next: f.Hint})
		}
	}
	return t, nil
}

// Counters returns the error counters of a topology, and how often each NIC lost its link.
func Counters(t *topo.Node) (out []history.Counter) {
	add := func(subject string, all []topo.Counter) {
		for _, c := range all {
			if strings.HasPrefix(c.Name, "ras/") || strings.HasPrefix(c.Name, "aer/") {
				out = append(out, history.Counter{Subject: subject, Name: c.Name, Value: c.Value})
			}
		}
	}
	for _, g := range t.GPUs {
		add(g.PCI, g.Counters)
	}
	for _, c := range t.NICs {
		add(c.Name, c.Counters)
		if c.LinkDowns != nil && !c.Virtual {
			out = append(out, history.Counter{Subject: c.Name, Name: "link_downed", Value: *c.LinkDowns})
		}
	}
	return out
}

// Identities returns the unique ids of the GPUs by PCI address, so that a new GPU does not inherit
// the history of the GPU that it replaced.
func Identities(t *topo.Node) map[string]string {
	out := map[string]string{}
	for _, g := range t.GPUs {
		if g.UniqueID != "" {
			out["GPU in "+g.PCI] = g.UniqueID
		}
	}
	return out
}

// partitions returns the modes of the GPUs, each mode once.
func partitions(t *topo.Node) string {
	modes := slice.Map(t.GPUs, func(g topo.GPU) string { return strings.TrimSpace(g.Compute + " " + g.Memory) })
	slices.Sort(modes)
	return strings.Join(slices.Compact(modes), ", ")
}
