package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"zbench/bench/answers/fleet/evidence"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/internal/ras"
	"zbench/internal/topo"
)

// witnessOptions name other sources about the nodes: files of zbench topo, a folder of zbench
// screen, a reply of RCCL's RAS service.
type witnessOptions struct {
	topo        []string
	screen, ras string
}

func (o *witnessOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.topo, "topo", nil, "topo.json of a node, or a folder with such files; also gives the leaf switches")
	f.StringVar(&o.screen, "screen", "", "folder of a screen of these nodes (zbench screen)")
	f.StringVar(&o.ras, "ras", "", "file with an answer of RCCL's RAS service (ncclras -v, or rcclras -v)")
}

// witnesses has the content of the sources that the options name.
type witnesses struct {
	nodes  []*topo.Node
	screen *evidence.Screens
	ras    *evidence.Services
}

// readWitnesses reads the files that the options name, before anything is measured.
func readWitnesses(s State, o *witnessOptions) (*witnesses, error) {
	w := &witnesses{}
	for _, name := range o.topo {
		more, err := readTopologies(s, name)
		if err != nil {
			return nil, err
		}
		w.nodes = append(w.nodes, more...)
	}
	if o.screen != "" {
		if err := w.readScreen(s, o.screen); err != nil {
			return nil, err
		}
	}
	if o.ras != "" {
		text, err := railsInput(s, "ras", o.ras)
		if err != nil {
			return nil, err
		}
		answer, err := ras.Parse(text)
		if err != nil {
			return nil, exit.With(exit.Run, fmt.Errorf("%s: %w", o.ras, err), "ncclras -v > FILE, on a node of the job, writes one")
		}
		w.ras = &evidence.Services{Answer: answer}
	}
	return w, nil
}

// readTopologies reads the file of one node, or all files in a folder and its subfolders.
func readTopologies(s State, name string) ([]*topo.Node, error) {
	const next = "`zbench topo --out DIR`, or --format json, writes one for a node"
	info, err := s.FS.Stat(name)
	if err != nil {
		return nil, usagef(next, "--topo: %w", err)
	}
	files := []string{name}
	if info.IsDir() {
		files = nil
		entries, err := s.FS.ReadDir(name)
		if err != nil {
			return nil, usagef(next, "--topo: %w", err)
		}
		for _, e := range entries {
			file := filepath.Join(name, e.Name())
			if e.IsDir() {
				file = filepath.Join(file, "topo.json")
				if _, err := s.FS.Stat(file); err != nil {
					continue
				}
			}
			if filepath.Ext(file) == ".json" && filepath.Base(file) != "run.json" {
				files = append(files, file)
			}
		}
		if len(files) == 0 {
			return nil, usagef(next, "--topo %s has no topo.json", name)
		}
	}
	return loadNodes(s, "--topo", "--topo ", next, files)
}

func (w *witnesses) readScreen(s State, dir string) error {
	d, err := readScreen(s, "screen", dir, nodescreen.Fleet{})
	if err != nil {
		return err
	}
	if d.Nodes == 0 {
		return usagef("give the folder that `zbench screen --out DIR` made", "--screen %s has no file of a node", dir)
	}
	w.screen = &evidence.Screens{Document: d}
	return nil
}

// `at` matches the sources with the nodes of the run. It returns an error if a source is only about
// other nodes. unchecked lists statements about nodes outside the run.
func (w *witnesses) at(names []string, gpus int) (out []evidence.Claim, unchecked []string, err error) {
	other := func(flag string) error {
		return usagef("give the files of this run's nodes; `zbench topo --host NAME` names a node", "--%s has no node of this run, whose nodes are %s", flag, strings.Join(names[:min(len(names), 8)], ", "))
	}
	if len(w.nodes) > 0 {
		t := evidence.Topologies{Facts: map[int][]evidence.Fact{}}
		for _, n := range w.nodes {
			if node := evidence.NodeOf(names, n.Host); node >= 0 {
				t.Nodes++
				t.Facts[node] = append(t.Facts[node], factsOf(n, node)...)
			}
		}
		if t.Nodes == 0 {
			return nil, nil, other("topo")
		}
		out = append(out, t.Claims()...)
	}
	if w.screen != nil {
		if !slices.ContainsFunc(w.screen.Document.Reports, func(n *nodescreen.Node) bool { return evidence.NodeOf(names, n.Host) >= 0 }) {
			return nil, nil, other("screen")
		}
		s := *w.screen
		s.Names, s.GPUs, s.Rail = names, gpus, func(node int, nic string) int { return w.railOf(names[node], nic) }
		out = append(out, s.Claims()...)
	}
	claims, strange, err := w.rasAt(names, gpus)
	return append(out, claims...), strange, err
}

// rasAt matches the RAS reply with the nodes of the run. It refuses a reply that reports a problem
// but names none of these nodes.
func (w *witnesses) rasAt(names []string, gpus int) (claims []evidence.Claim, strange []string, err error) {
	if w.ras == nil {
		return nil, nil, nil
	}
	s := *w.ras
	s.Names, s.GPUs = names, gpus
	claims, strange = s.Claims()
	switch {
	case len(claims) > 0 || s.Answer.State != record.WitnessDegraded:
		return claims, slice.Map(strange, func(text string) string { return "ras: " + text + ": on no node of this run" }), nil
	case len(strange) == 0:
		return nil, nil, usagef("ask with -v: ncclras -v > FILE", "--ras says that a communicator is not well, and names no rank")
	}
	return nil, nil, usagef("give the nodes the same names in both: RAS prints addresses, so write those in --matrix, or the nodes' names in the answer",
		"--ras names %s, and none is on a node of this run, whose nodes are %s", unit.FirstFew(strange, 2), unit.FirstFew(names, 8))
}

// railOf returns the number of the GPU to whose rail a NIC belongs according to the node's
// topology. It returns −1 if there is no such GPU.
func (w *witnesses) railOf(host, nic string) int {
	for _, n := range w.nodes {
		if evidence.NodeOf([]string{host}, n.Host) == 0 {
			return gpuOfNIC(n, nic)
		}
	}
	return -1
}

// gpuOfNIC returns the number of the GPU to whose rail a NIC belongs. It compares PCI addresses.
func gpuOfNIC(n *topo.Node, nic string) int {
	return slices.IndexFunc(n.GPUs, func(g topo.GPU) bool { return g.Rail != nil && slices.Contains(g.Rail.NICs, nic) })
}

// factsOf returns the faults and warnings in a node's topology, each with its component. It leaves
// out contradictions with RCCL's file, because that file was written at another time.
func factsOf(n *topo.Node, node int) []evidence.Fact {
	var out []evidence.Fact
	for _, f := range n.Findings {
		if f.Mark == topo.Note || strings.HasPrefix(f.Code, "xml_") || f.Code == "sources_differ" {
			continue
		}
		out = append(out, evidence.Fact{Component: componentOf(n, node, f.Subject), Code: f.Code, Says: f.Message, Bad: f.Mark == topo.Bad})
	}
	return out
}

// componentOf returns the component that the subject of a finding names: a GPU, a pair of GPUs, a
// NIC, or else the node.
func componentOf(n *topo.Node, node int, subject string) rails.Component {
	gpu := func(pci string) int {
		return slices.IndexFunc(n.GPUs, func(g topo.GPU) bool { return g.PCI == pci })
	}
	if i := gpu(subject); i >= 0 {
		return rails.Component{Part: rails.GPU, Node: node, A: i}
	}
	if a, b, pair := strings.Cut(subject, " – "); pair && gpu(a) >= 0 && gpu(b) >= 0 {
		return rails.Component{Part: rails.Link, Node: node, A: min(gpu(a), gpu(b)), B: max(gpu(a), gpu(b))}
	}
	if i := gpuOfNIC(n, subject); i >= 0 {
		return rails.Component{Part: rails.Rail, Node: node, A: i}
	}
	return rails.Component{Part: rails.Node, Node: node}
}

// leaves returns the leaf switches of the run's rails according to the topologies. They come from
// LLDP or a table, or else from SLURM_TOPOLOGY_ADDR, which is marked as a hypothesis. It returns
// nil if none is known.
func (w *witnesses) leaves(names []string, gpus int) [][]string {
	for _, leafOf := range []func(n *topo.Node, rail int) string{wiredLeaf, slurmLeaf} {
		out, known := make([][]string, gpus), false
		for rail := range out {
			out[rail] = make([]string, len(names))
			for _, n := range w.nodes {
				if node := evidence.NodeOf(names, n.Host); node >= 0 {
					out[rail][node] = leafOf(n, rail)
					known = known || out[rail][node] != ""
				}
			}
		}
		if known {
			return out
		}
	}
	return nil
}

// wiredLeaf returns the leaf switch to which a rail's NIC is wired, according to LLDP or a table.
func wiredLeaf(n *topo.Node, rail int) string {
	i := slices.IndexFunc(n.NICs, func(c topo.NIC) bool { return c.Leaf != "" && gpuOfNIC(n, c.Name) == rail })
	if i < 0 {
		return ""
	}
	return n.NICs[i].Leaf
}

// slurmLeaf returns the lowest switch above the node in Slurm's topology, which is the same for
// every rail.
func slurmLeaf(n *topo.Node, _ int) string {
	for _, f := range n.Stack {
		if f.Name != "env SLURM_TOPOLOGY_ADDR" {
			continue
		}
		if path := strings.Split(f.Value, "."); len(path) > 1 {
			return path[len(path)-2] + " (by SLURM_TOPOLOGY_ADDR, a hypothesis)"
		}
	}
	return ""
}

// settle combines the sources with a verdict on other people's measurements.
func (w *witnesses) settle(v *rails.Verdict, names []string, gpus int) error {
	claims, unchecked, err := w.at(names, gpus)
	v.Unchecked = append(v.Unchecked, unchecked...)
	if gpus == 0 {
		claims = evidence.OfNodes(claims)
	}
	if err == nil && len(claims) > 0 {
		evidence.Settle(evidence.Input{Verdict: v, Others: claims})
	}
	return err
}
