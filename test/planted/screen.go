package planted

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/fstest"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/probe"
	"zbench/test/experiments"
)

// host is a node of a fleet that is screened: its machine, and the files in which Linux describes
// it. A fault changes one of the two, as it would on hardware. The screen sees what it reads and
// measures there.
type host struct {
	name    string
	gpus    int
	library int
	// memory is the share of the modelled rate that the memory of each GPU reaches.
	memory [gpus]float64
	// slow is a fault of the compute units of a GPU; empty if there is none.
	slow string
	tree fstest.MapFS
}

// spread is the relative standard deviation of healthy GPUs, and of the noise of a launch.
const spread = 0.02

// newHost draws a healthy node.
func newHost(rng *rand.Rand, number int) *host {
	h := &host{name: fmt.Sprintf("node%03d", number), gpus: gpus, tree: fstest.MapFS{}}
	for i := range gpus {
		h.memory[i] = min(1, 0.9*(1+spread*rng.NormFloat64()))
		h.put(fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/properties", i+2),
			fmt.Sprintf("simd_count 1216\nlocation_id %d\nunique_id %d\nnum_xcc 8\n", (i+1)<<8, 1000*number+i+1))
		h.nic(i, "4: ACTIVE", "400 Gb/sec (4X NDR)")
	}
	h.put("sys/module/amdgpu/version", "6.12.12\n")
	return h
}

func (h *host) put(name, text string) { h.tree[name] = &fstest.MapFile{Data: []byte(text)} }

func (h *host) nic(i int, state, rate string) {
	port := fmt.Sprintf("sys/class/infiniband/ionic_%d/ports/1/", i)
	h.put(port+"state", state+"\n")
	h.put(port+"rate", rate+"\n")
	h.put(port+"link_layer", "Ethernet\n")
}

// nodeFault is a kind of bad node.
type nodeFault struct {
	name  string
	plant func(h *host, rng *rand.Rand)
}

var nodeFaults = []nodeFault{
	{"seven GPUs", func(h *host, rng *rand.Rand) {
		h.gpus--
		delete(h.tree, fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/properties", 2+rng.IntN(gpus)))
	}},
	{"HBM −15 % at 2 % noise", func(h *host, rng *rand.Rand) { h.memory[rng.IntN(gpus)] *= 0.85 }},
	{"compute units −15 % at 2 % noise", func(h *host, rng *rand.Rand) {
		h.slow = fmt.Sprintf("slow_compute:node=0,gpu=%d,left=0.85", rng.IntN(gpus))
	}},
	{"NIC down", func(h *host, rng *rand.Rand) { h.nic(rng.IntN(gpus), "1: DOWN", "400 Gb/sec (4X NDR)") }},
	{"NIC at 100G", func(h *host, rng *rand.Rand) { h.nic(rng.IntN(gpus), "4: ACTIVE", "100 Gb/sec (4X EDR)") }},
	{"another library", func(h *host, _ *rand.Rand) { h.library = 22807 }},
}

// screened returns what the node reports about itself.
func (h *host) screened(seed uint64) (*nodescreen.Node, error) {
	f, err := fabric.ByName(fabric.Default)
	if err != nil {
		return nil, err
	}
	faults := []string{fmt.Sprintf("noise:sigma=%g", spread)}
	for i, left := range h.memory[:h.gpus] {
		faults = append(faults, fmt.Sprintf("slow_hbm:node=0,gpu=%d,left=%g", i, left))
	}
	if h.slow != "" {
		faults = append(faults, h.slow)
	}
	w := spec.World{Nodes: 1, GPUsPerNode: h.gpus, GPUsPerProcess: h.gpus}
	m, err := f.Resolve(w, fabric.Conditions{Seed: seed, Faults: faults})
	if err != nil {
		return nil, err
	}
	m.CollVersion = h.library
	n := &nodescreen.Node{Schema: nodescreen.NodeSchema, Host: h.name, Backend: "loopback", Simulated: true}
	if _, err := probe.Facts(h.tree, n, nil); err != nil {
		return nil, err
	}
	ctx := context.Background()
	return n, probe.Measure(ctx, probe.Simulated(*m), n)
}

// screenCounts are the outcomes for one kind of bad node.
type screenCounts struct {
	name                string
	seeds, named, wrong int
	first               string
}

// screenFleets screens a number of fleets, each once healthy and once with one bad node of each
// kind. The bad node differs from the healthy one only by its fault.
func screenFleets(seeds, nodes int) ([]screenCounts, error) {
	rows := []screenCounts{{name: "healthy", seeds: seeds}}
	for _, f := range nodeFaults {
		rows = append(rows, screenCounts{name: f.name, seeds: seeds})
	}
	for seed := range seeds {
		rng := source("screen", seed)
		var all []*nodescreen.Node
		for i := range nodes {
			n, err := newHost(rand.New(rand.NewPCG(uint64(seed), uint64(i))), i).screened(uint64(seed*nodes + i)) //nolint:gosec // small
			if err != nil {
				return nil, err
			}
			all = append(all, n)
		}
		rows[0].count(nodescreen.Judge(nodescreen.Fleet{Nodes: all, Expected: nodes}), "", seed)
		for i, f := range nodeFaults {
			at := rng.IntN(nodes)
			h := newHost(rand.New(rand.NewPCG(uint64(seed), uint64(at))), at) //nolint:gosec // small
			f.plant(h, rng)
			n, err := h.screened(uint64(seed*nodes + at)) //nolint:gosec // small
			if err != nil {
				return nil, err
			}
			fleet := slices.Clone(all)
			fleet[at] = n
			rows[1+i].count(nodescreen.Judge(nodescreen.Fleet{Nodes: fleet, Expected: nodes}), h.name, seed)
		}
	}
	return rows, nil
}

// count adds a verdict. bad is the node that must be named; empty for a healthy fleet.
func (c *screenCounts) count(d *nodescreen.Document, bad string, seed int) {
	others := slices.DeleteFunc(slices.Concat(d.Fail, d.Unclear), func(host string) bool { return host == bad })
	c.named += one(bad != "" && slices.Contains(d.Fail, bad))
	c.wrong += one(len(others) > 0)
	if c.first == "" && (len(others) > 0 || bad != "" && !slices.Contains(d.Fail, bad)) {
		c.first = fmt.Sprintf("seed %d, bad node %q: %+v", seed, bad, d.Findings)
	}
}

// The bars of a screen: 49 of 50 bad nodes are named, and never any other node.
var (
	badNode  = experiments.Bar{Rate: 0.98}
	goodNode = experiments.Bar{AtMost: true}
)

func (c screenCounts) failures(small bool) []string {
	var out []string
	if c.name != "healthy" && !badNode.Holds(c.named, c.seeds) && (!small || !badNode.Plausible(c.named, c.seeds)) {
		out = append(out, fmt.Sprintf("%s: %d of %d named: %s", c.name, c.named, c.seeds, c.first))
	}
	if !goodNode.Holds(c.wrong, c.seeds) {
		out = append(out, fmt.Sprintf("%s: a healthy node in %d of %d fleets: %s", c.name, c.wrong, c.seeds, c.first))
	}
	return out
}

func screenMarkdown(rows []screenCounts) string {
	var b strings.Builder
	b.WriteString("| one node of 128 | fleets | named | another node named |\n|---|---|---|---|\n")
	for _, c := range rows {
		named := fmt.Sprint(c.named)
		if c.name == "healthy" {
			named = "–"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d |\n", c.name, c.seeds, named, c.wrong)
	}
	return b.String()
}
