package probe

import (
	"io/fs"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/judge"
	"zbench/bench/base/slice"
	"zbench/internal/topo"
)

// Other rules of the screen compare these facts and findings with the other nodes'.
var (
	own      = []string{"GPUs", "NICs"}
	compared = []string{"port_down", "nic_rates_differ"}
)

// Facts reads a node's facts from a tree: NICs, GPUs of the kernel's topology, versions, and
// defects.
func Facts(fsys fs.FS, n *nodescreen.Node, environ []string) error {
	t, err := topo.Read(fsys, topo.Inputs{Host: n.Host, Environ: environ})
	if err != nil {
		return err
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
		if f.Code == judge.CodeFlush { // no measurement of a single node crosses a NIC as jobs do
			n.Notes = append(n.Notes, "data in the first message of a connection: "+f.Message+"; next: "+f.Hint)
		}
		if f.Mark == topo.Bad && !slices.Contains(compared, f.Code) {
			n.Faults = append(n.Faults, nodescreen.Fault{Code: f.Code, Subject: f.Subject, Message: f.Message, Next: f.Hint})
		}
	}
	return nil
}

// partitions are the modes of the GPUs, each once.
func partitions(t *topo.Node) string {
	modes := slice.Map(t.GPUs, func(g topo.GPU) string { return strings.TrimSpace(g.Compute + " " + g.Memory) })
	slices.Sort(modes)
	return strings.Join(slices.Compact(modes), ", ")
}
