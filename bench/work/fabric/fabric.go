// Package fabric describes hardware as data. For a number of nodes and GPUs it resolves a
// description into the flat machine file that the loopback reads.
//
// A fabric is a YAML file under data/; adding a file adds a fabric. The model of time is T(S) =
// max(floor, x + min(A + 2·√(A·x), R)) with x = k·S/B. A pipeline that is bound by latency takes
// (√A + √x)² for small messages; a full pipeline has a fixed cost R. docs/METHOD.md shows the fit
// to published curves and its limits.
package fabric

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"zbench/bench/base/spell"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/spec"
)

//go:embed data/*.yaml
var data embed.FS

// Limits for a fabric file.
const (
	maxNodes = 1 << 14
	maxGPUs  = 64
)

// Default is the fabric that is used if the user names none.
const Default = "mi300x-pollara"

// Fabric is one hardware description. Rates are in bytes per second, and times are in seconds.
type Fabric struct {
	Name     string   `yaml:"name"`
	Title    string   `yaml:"title"`
	GPU      string   `yaml:"gpu"`
	MaxNodes int      `yaml:"max_nodes"`
	Node     Node     `yaml:"node"`
	Host     Host     `yaml:"host"`
	Models   []Model  `yaml:"models"`
	Roofs    []Roof   `yaml:"roofs"`
	Policies Policies `yaml:"policies"`
	// Faults are faults that every use of the fabric plants, in the form of `zbench list faults`.
	Faults  []string `yaml:"faults"`
	Sources []string `yaml:"sources"`
}

// Node is one server.
type Node struct {
	GPUs     int   `yaml:"gpus"`
	HBMBytes int64 `yaml:"hbm_bytes"`
	// CacheBytes is the size of the last level of cache before the HBM.
	CacheBytes int64 `yaml:"cache_bytes"`
	// HBMRate is the copy rate of one GPU's memory; 0 if it is not modelled.
	HBMRate float64 `yaml:"hbm_rate"`
	// LinkRaw is the line rate of one xGMI link in each direction. Link is its rate in each
	// direction when all links are busy.
	LinkRaw float64 `yaml:"link_raw"`
	Link    float64 `yaml:"link"`
	NICs    int     `yaml:"nics"`
	// NICLineRate is the line rate of one NIC in each direction.
	NICLineRate float64 `yaml:"nic_line_rate"`
}

// Host holds the costs of the host, which launches the work.
type Host struct {
	// Launch is the time that a process needs to launch one collective on one GPU.
	Launch float64 `yaml:"launch"`
	// ExitJitter bounds the difference between the times at which ranks see the end of a
	// collective.
	ExitJitter float64 `yaml:"exit_jitter"`
	// Noise is the relative standard deviation of the time of a launch.
	Noise float64 `yaml:"noise"`
	// Event is the time that it takes to record an event on a stream.
	Event float64 `yaml:"event"`
}

// Span is a range of node counts, including both ends.
type Span struct {
	Min int `yaml:"min"`
	Max int `yaml:"max"`
}

func (s Span) holds(n int) bool { return n >= s.Min && n <= s.Max }

// Law is a value that grows with the number of nodes N:
// (Base + PerLog2·log₂N) · (N/ReferenceNodes)^Power.
type Law struct {
	Base           float64 `yaml:"base"`
	PerLog2        float64 `yaml:"per_log2"`
	Power          float64 `yaml:"power"`
	ReferenceNodes float64 `yaml:"reference_nodes"`
}

// Model holds the constants of the cost model for a range of node counts.
type Model struct {
	Nodes Span `yaml:"nodes"`
	// BusBW is the constant B inside one node, by the number of participating GPUs.
	BusBW map[int]float64 `yaml:"busbw"`
	// ExtrapolatedGPUs lists the entries of BusBW that were not measured.
	ExtrapolatedGPUs []int `yaml:"extrapolated_gpus"`
	// RailEfficiency is the share of the NICs' line rate that is reached between nodes.
	RailEfficiency float64 `yaml:"rail_efficiency"`
	A              Law     `yaml:"a"`
	R              Law     `yaml:"r"`
	Floor          Law     `yaml:"floor"`
	Source         string  `yaml:"source"`
	// Extrapolated describes the parts of the model that were not measured.
	Extrapolated string `yaml:"extrapolated"`
	// Bracket holds bounds for the constants that were not measured; nil if unknown.
	Bracket *Bracket `yaml:"bracket"`
}

// Roof is a bound or a published figure that is drawn beside results.
type Roof struct {
	Label string `yaml:"label"`
	Nodes Span   `yaml:"nodes"`
	// GPUs restricts the roof to this number of GPUs per node; 0 means any number.
	GPUs int `yaml:"gpus"`
	// Per says how the value follows from the node: links_raw or rails. If it is empty, the value
	// is BusBW.
	Per    string  `yaml:"per"`
	BusBW  float64 `yaml:"busbw"`
	Source string  `yaml:"source"`
}

// Names returns the names of the built-in fabrics, the default first.
func Names() []string {
	files, _ := data.ReadDir("data") // embedded, and sorted
	names := []string{Default}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".yaml"); name != Default {
			names = append(names, name)
		}
	}
	return names
}

// ByName loads a built-in fabric. The error about an unknown name is a [spell.Unknown].
func ByName(name string) (*Fabric, error) {
	own, err := spell.Own("fabric", Names(), name)
	if err != nil {
		return nil, err
	}
	text, err := data.ReadFile("data/" + own + ".yaml")
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// Parse reads a fabric from YAML. Unknown keys, keys without a value and values out of range are
// errors that name the key.
func Parse(text []byte) (*Fabric, error) {
	f, err := parse(text)
	if err != nil {
		return nil, err
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	if line := emptied(&tree); line > 0 {
		return nil, fmt.Errorf("fabric %q: line %d: a key has no value", f.Name, line)
	}
	return f, nil
}

// parse reads a fabric like Parse, but does not search for keys without a value. That search would
// double the time. A test checks that the files in the binary have no such keys.
func parse(text []byte) (*Fabric, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var f Fabric
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("fabric %q: %w", f.Name, err)
	}
	return &f, nil
}

func (f *Fabric) validate() error {
	switch {
	case f.Name == "" || f.GPU == "":
		return fmt.Errorf("name and gpu must be given")
	case f.MaxNodes < 1 || f.MaxNodes > maxNodes || f.Node.GPUs < 1 || f.Node.GPUs > maxGPUs:
		return fmt.Errorf("max_nodes must be 1 to %d and node.gpus 1 to %d", maxNodes, maxGPUs)
	case f.Node.HBMBytes < 1 || f.Node.CacheBytes < 0 || f.Node.CacheBytes > f.Node.HBMBytes/8 || !(f.Node.Link > 0):
		return fmt.Errorf("node.hbm_bytes and node.link must be positive, node.cache_bytes at most an eighth of the memory")
	case !within(f.Node.HBMRate, 1e15) || !within(f.Node.LinkRaw, 1e15) || !within(f.Node.NICLineRate, 1e15) || f.Node.NICs < 0:
		return fmt.Errorf("node.hbm_rate, node.link_raw and node.nic_line_rate must be 0 to 1e15 bytes per second, node.nics not negative")
	case !within(f.Host.Event, 1) || !within(f.Host.Launch, 1) || !within(f.Host.ExitJitter, 1) || !within(f.Host.Noise, 0.2):
		return fmt.Errorf("host: launch, event and exit_jitter must be 0 to 1 s, noise 0 to 0.2")
	}
	for n := 1; n <= f.MaxNodes; n++ {
		m := f.model(n)
		if m == nil {
			return fmt.Errorf("no model covers %d nodes", n)
		}
		if n > 1 && (m.RailEfficiency <= 0 || m.RailEfficiency > 1 || f.Node.NICs < 1) {
			return fmt.Errorf("models: rail_efficiency must be in (0, 1] and node.nics positive for %d nodes", n)
		}
	}
	if err := f.Policies.validate(); err != nil {
		return err
	}
	return f.validateCurves()
}

// validateCurves evaluates every model at both ends of its span, where its laws have their extreme
// values, for every number of GPUs.
func (f *Fabric) validateCurves() error {
	for _, m := range f.Models {
		if b := m.Bracket; b != nil {
			if err := errors.Join(b.Fastest.check(), b.Slowest.check()); err != nil {
				return err
			}
		}
		for _, nodes := range []int{max(m.Nodes.Min, 1), min(m.Nodes.Max, f.MaxNodes)} {
			if f.model(nodes) == nil {
				continue // the span begins beyond max_nodes
			}
			for gpus := 1; gpus <= f.Node.GPUs; gpus++ {
				if c, _ := f.curve(collective.All()[0], spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}); !c.valid() {
					return fmt.Errorf("models: busbw and floor must be positive, a and r not negative; on %d nodes with %d GPUs they come out as %+v", nodes, gpus, c)
				}
			}
		}
	}
	return nil
}

// emptied returns the line of the first key without a value, which YAML would read as 0. It returns
// 0 if there is no such key.
func emptied(n *yaml.Node) int {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "" {
		return n.Line
	}
	for _, inner := range n.Content {
		if line := emptied(inner); line > 0 {
			return line
		}
	}
	return 0
}

// Function `within` reports whether v lies between 0 and most. It returns false for a NaN.
func within(v, most float64) bool { return v >= 0 && v <= most }

// model returns the constants for n nodes, or nil if there are none.
func (f *Fabric) model(n int) *Model {
	if i := slices.IndexFunc(f.Models, func(m Model) bool { return m.Nodes.holds(n) }); i >= 0 {
		return &f.Models[i]
	}
	return nil
}
