// Package topo reads the topology of one node: GPUs with their partitions and xGMI links from KFD,
// NICs from their drivers, PCI parents and NUMA nodes, and error counters. It also reads RCCL's
// topology XML and the output of nicctl, rdma, ethtool, ip and lldpctl, and reports where two
// sources disagree.
//
// Read takes a file system (the root of the node or a recorded tree) and Inputs, and returns a
// Node. It opens nothing else and runs no program. A fact that no source gives is null, and is
// listed in Node.NotChecked. Counting reads only the counters of NICs.
package topo

import (
	"cmp"
	"io/fs"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
)

// Schema is the version of a Node as JSON; Rules is the version of the rules that make its
// findings.
const (
	Schema = "zbench.topo/1"
	Rules  = 1
)

// Mark is the severity of a finding.
type Mark string

// The marks. Bad is a fault, or a contradiction between two sources. Doubt may cost
// speed. Note judges nothing.
const (
	Bad   Mark = "bad"
	Doubt Mark = "doubt"
	Note  Mark = "note"
)

// Marks returns all marks, the worst first.
func Marks() []Mark { return []Mark{Bad, Doubt, Note} }

// severity returns how much a mark matters.
func (m Mark) severity() finding.Severity {
	switch m {
	case Bad:
		return finding.Fault
	case Doubt:
		return finding.Warning
	default:
		return finding.Note
	}
}

// Remark is one finding about a node.
type Remark struct {
	// Mark is the severity of the finding: bad is a fault or a contradiction of two sources,
	// doubt may cost speed, note judges nothing.
	Mark Mark `json:"mark"`
	// Code identifies the kind of finding. It does not change between versions.
	Code string `json:"code"`
	// Subject is the component that the finding is about: a PCI address, a NIC, a pair of GPUs, or
	// the node.
	Subject string `json:"subject"`
	// Message says what was found.
	Message string `json:"message"`
	// Hint is the next step; absent for notes that need none.
	Hint string `json:"hint,omitempty"`
}

// Unchecked is a fact that no source gave.
type Unchecked struct {
	// What is the fact that was not checked.
	What string `json:"what"`
	// Why is the reason why it was not checked.
	Why string `json:"why"`
	// Next is how to check it.
	Next string `json:"next"`
}

// Node is the topology of one node.
type Node struct {
	// Schema is the version of the format.
	Schema string `json:"schema"`
	// Tool is the version of zbench.
	Tool string `json:"tool"`
	// Host is the name of the node; for a recorded tree, the name that the user gave.
	Host string `json:"host"`
	// Sources are the sources that were read: kfd, pci, infiniband, rccl-xml, and the
	// commands whose output was given.
	Sources []string `json:"sources"`
	// Verdict is the result in one sentence.
	Verdict string `json:"verdict"`
	// Findings are faults, contradictions and notes, the worst first.
	Findings []Remark `json:"findings"`
	// GPUs are the GPU packages, ordered by PCI address.
	GPUs []GPU `json:"gpus"`
	// Links are the xGMI connections between packages.
	Links []Link `json:"links"`
	// NICs are the RDMA devices, ordered by PCI address.
	NICs []NIC `json:"nics"`
	// Stack is the node's software: kernel, driver, firmware, environment.
	Stack []Fact `json:"stack"`
	// NotChecked lists the facts that no source gave.
	NotChecked []Unchecked `json:"not_checked"`
	// Judgement is the result as findings. Findings that differ only in their component are merged.
	Judgement finding.Judgement `json:"judgement"`

	// pci is the tree of PCI bridges; nil if no source has it.
	pci *pciTree
	// kfd is the topology that was read from KFD; nil if there is none.
	kfd *kfdTree
	// xml is RCCL's view; nil if no XML was given.
	xml     *rcclNode
	onlyXML bool
	// slots are the GPUs on the PCI bus, whatever their driver.
	slots []pciDevice
	// environ is true if the environment was given.
	environ bool
}

// GPU is one GPU package with all of its partitions.
type GPU struct {
	// PCI is the PCI address of the package, such as 0000:0c:00.0.
	PCI string `json:"pci"`
	// Name is the name of the product, or the device number if it is unknown.
	Name string `json:"name"`
	// Arch is the instruction set, such as gfx942; empty if no source gives it.
	Arch string `json:"arch"`
	// UniqueID is the unique id of the package in hexadecimal digits; empty if no source gives it.
	UniqueID string `json:"unique_id"`
	// Hive is the number of the xGMI hive in hexadecimal digits; empty for a GPU outside a hive.
	Hive string `json:"hive"`
	// Nodes are the numbers of the KFD nodes of this package, one per partition.
	Nodes []int `json:"kfd_nodes"`
	// Partitions is the number of visible partitions; 0 if KFD was not read.
	Partitions int `json:"partitions"`
	// Compute is the compute partition mode (SPX, DPX, TPX, QPX, CPX); empty if unknown.
	Compute string `json:"compute_partition"`
	// Memory is the memory partition mode (NPS1, NPS4, …); empty if unknown.
	Memory string `json:"memory_partition"`
	// CUs is the number of compute units of all visible partitions; 0 if unknown.
	CUs int `json:"compute_units"`
	// NUMA is the NUMA node; null if no source gives it.
	NUMA *int `json:"numa"`
	// Rail is the closest NIC by PCI parents; null if none can be named.
	Rail *Rail `json:"rail"`
	// PCIe is the PCIe connection; null if no source gives it.
	PCIe *PCIe `json:"pcie"`
	// Counters are the nonzero error counters.
	Counters []Counter `json:"counters"`
	// Counted is the number of counters that were read, including counters that are zero.
	Counted int `json:"counted"`
}

// Rail is the NIC through which a GPU's traffic is expected to leave the node.
type Rail struct {
	// NICs are the closest NICs; several if PCI parents do not decide.
	NICs []string `json:"nics"`
	// Path is the nearest component that GPU and NIC share: switch or host_bridge.
	Path string `json:"path"`
	// Hops is the number of PCI links between GPU and NIC.
	Hops int `json:"hops"`
	// By is the source of the PCI parents: pci or rccl-xml.
	By string `json:"by"`
}

// PCIe is the PCIe connection of a device.
type PCIe struct {
	// Speed is the negotiated rate per lane, in transfers per second; null if unknown.
	Speed *float64 `json:"speed"`
	// MaxSpeed is the highest rate per lane that the device supports, in transfers per second; null
	// if unknown.
	MaxSpeed *float64 `json:"max_speed"`
	// Width is the negotiated number of lanes; null if unknown.
	Width *int `json:"width"`
	// MaxWidth is the highest number of lanes that the device supports; null if unknown.
	MaxWidth *int `json:"max_width"`
}

// Link is an xGMI connection between two packages.
type Link struct {
	// A is the PCI address of one package.
	A string `json:"a"`
	// B is the PCI address of the other package.
	B string `json:"b"`
	// Bandwidth is the bandwidth that KFD gives, in bytes per second; null if KFD gives 0, which
	// means unknown.
	Bandwidth *float64 `json:"bandwidth"`
	// Weight is KFD's distance between the packages; 0 if the source has none.
	Weight int `json:"weight"`
}

// Counter is an error counter.
type Counter struct {
	// Name is the name of the counter with its group, such as ras/umc/ue, aer/correctable/RxErr or
	// link_downed.
	Name string `json:"name"`
	// Value is the count since the driver was loaded, or since the device was reset.
	Value uint64 `json:"value"`
}

// Fact is a property of the node's software.
type Fact struct {
	// Name is the name of the property.
	Name string `json:"name"`
	// Value is the value as its source writes it.
	Value string `json:"value"`
}

// Inputs are the inputs of Read besides the file system. All may be empty.
type Inputs struct {
	Tool, Host string
	// XML is the text of RCCL's topology file (NCCL_TOPO_DUMP_FILE).
	XML []byte
	// Outputs are the outputs of commands.
	Outputs []Output
	// Environ has environment variables as NAME=value. Only variables on the allow-list are kept.
	Environ []string
}

// Read reads a node. It fails only for inputs that the user named. Missing parts of the tree are
// listed in NotChecked.
func Read(fsys fs.FS, in Inputs) (*Node, error) {
	fsys = unwrapped(fsys)
	n := &Node{Schema: Schema, Tool: in.Tool, Host: in.Host, environ: in.Environ != nil}
	n.kfd = readKFD(fsys)
	n.pci = readPCI(fsys)
	n.readGPUs(fsys)
	n.NICs = readNICs(fsys, n.pci)
	if len(n.NICs) > 0 {
		n.source("infiniband")
	}
	if err := n.addXML(in.XML); err != nil {
		return nil, err
	}
	n.addOutputs(in.Outputs)
	slices.SortStableFunc(n.NICs, func(a, b NIC) int { return cmp.Or(compareAddresses(a.PCI, b.PCI), cmp.Compare(a.Name, b.Name)) })
	n.setRails()
	n.Stack = stackOf(fsys, n, in.Environ)
	n.judge()
	n.fill()
	return n, nil
}

// Empty reports whether no GPU and no NIC was found.
func (n *Node) Empty() bool { return len(n.GPUs) == 0 && len(n.NICs) == 0 }

// Faulty reports whether a finding is bad.
func (n *Node) Faulty() bool {
	return slices.ContainsFunc(n.Findings, func(f Remark) bool { return f.Mark == Bad })
}

func (n *Node) source(name string) {
	if !slices.Contains(n.Sources, name) {
		n.Sources = append(n.Sources, name)
	}
}

func (n *Node) find(mark Mark, code, subject, message, hint string) {
	n.Findings = append(n.Findings, Remark{mark, code, subject, message, hint})
}

func (n *Node) unchecked(what, why, next string) {
	n.NotChecked = append(n.NotChecked, Unchecked{what, why, next})
}

// gpu returns the GPU at a PCI address; nil if there is none.
func (n *Node) gpu(pci string) *GPU {
	return find(n.GPUs, func(g GPU) bool { return g.PCI == pci })
}

// find returns the first element of a list that meets a condition; nil if there is none.
func find[T any](all []T, is func(T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return &all[i]
	}
	return nil
}

// fill replaces nil lists by empty ones, which JSON writes as [].
func (n *Node) fill() {
	n.Sources, n.Findings, n.GPUs, n.Links = jsonfile.Filled(n.Sources), jsonfile.Filled(n.Findings), jsonfile.Filled(n.GPUs), jsonfile.Filled(n.Links)
	n.NICs, n.Stack, n.NotChecked = jsonfile.Filled(n.NICs), jsonfile.Filled(n.Stack), jsonfile.Filled(n.NotChecked)
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.Nodes, g.Counters = jsonfile.Filled(g.Nodes), jsonfile.Filled(g.Counters)
	}
	for i := range n.NICs {
		c := &n.NICs[i]
		c.GIDs, c.Counters = jsonfile.Filled(c.GIDs), jsonfile.Filled(c.Counters)
	}
	rank := func(m Mark) int { return slices.Index(Marks(), m) }
	slices.SortStableFunc(n.Findings, func(a, b Remark) int { return cmp.Compare(rank(a.Mark), rank(b.Mark)) })
}
