package topo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Bounds of RCCL's topology file. That of a node with 8 GPUs has 14 KB.
const (
	maxXML      = 16 << 20
	maxElements = 100_000
)

// rcclNode is RCCL's view of a node: the devices that the job used.
type rcclNode struct {
	tree  *pciTree
	gpus  []rcclGPU
	nics  []rcclNIC
	links []Link
}

type rcclGPU struct {
	pci, arch string
	device    uint64
	numa      *int
	pcie      *PCIe
}

type rcclNIC struct {
	name, pci string
	// speed is in bytes per second, nil if the file has none.
	speed *float64
	numa  *int
	pcie  *PCIe
}

// readXML reads what RCCL writes to NCCL_TOPO_DUMP_FILE: <system>, <cpu>, nested <pci>,
// and in these <gpu> with its <xgmi> and <nic> with its <net>.
func readXML(text []byte) (*rcclNode, error) {
	if len(text) > maxXML {
		return nil, fmt.Errorf("%d bytes are more than any topology file of RCCL has", len(text))
	}
	r := &xmlReader{node: &rcclNode{tree: &pciTree{index: map[Address]int{}, by: ByXML}}}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the XML is damaged: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if err := r.begin(e); err != nil {
				return nil, err
			}
		case xml.EndElement:
			r.end(e.Name.Local)
		}
	}
	if !r.system {
		return nil, errors.New("there is no <system> element: RCCL writes such a file where NCCL_TOPO_DUMP_FILE names one")
	}
	slices.SortFunc(r.node.links, compareLinks)
	return r.node, nil
}

// xmlReader is where the reader stands.
type xmlReader struct {
	node     *rcclNode
	system   bool
	elements int
	cpus     int
	chain    []string
	numa     *int
	// devices are the PCI elements around, the innermost last.
	devices []pciDevice
	pcies   []*PCIe
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return shortened(strings.TrimSpace(a.Value))
		}
	}
	return ""
}

func (r *xmlReader) begin(e xml.StartElement) error {
	if r.elements++; r.elements > maxElements || len(r.devices) > maxDepth {
		return errors.New("the XML has more elements than any node")
	}
	switch e.Name.Local {
	case "system":
		r.system = true
	case "cpu":
		r.chain, r.numa = []string{fmt.Sprintf("cpu%d", r.cpus)}, nil
		r.cpus++
		if n, err := strconv.Atoi(attribute(e, "numaid")); err == nil && n >= 0 {
			r.numa = &n
		}
	case "pci":
		return r.pci(e)
	case "gpu":
		r.gpu(e)
	case "xgmi":
		r.link(e)
	case "net":
		r.net(e)
	}
	return nil
}

func (r *xmlReader) end(name string) {
	if n := len(r.devices); name == "pci" && n > 0 {
		r.devices, r.pcies, r.chain = r.devices[:n-1], r.pcies[:n-1], r.chain[:len(r.chain)-1]
	}
}

func (r *xmlReader) pci(e xml.StartElement) error {
	address, ok := ParseAddress(attribute(e, "busid"))
	if !ok {
		return fmt.Errorf("<pci busid=%q> is no PCI address", attribute(e, "busid"))
	}
	// Switches show several bridges at one address: each element is one of its own.
	r.chain = append(r.chain, fmt.Sprintf("%s#%d", address, r.elements))
	d := pciDevice{address: address, chain: slices.Clone(r.chain), numa: r.numa, class: hexadecimal(attribute(e, "class")), vendor: hexadecimal(attribute(e, "vendor")), device: hexadecimal(attribute(e, "device"))}
	p := &PCIe{Speed: transfers(attribute(e, "link_speed"))}
	if w, err := strconv.Atoi(attribute(e, "link_width")); err == nil && w > 0 && w <= 32 {
		p.Width = &w
	}
	r.devices, r.pcies = append(r.devices, d), append(r.pcies, p)
	t := r.node.tree
	if i, met := t.index[address]; !met || t.devices[i].bridge() {
		t.index[address] = len(t.devices)
	}
	t.devices = append(t.devices, d)
	return nil
}

func (r *xmlReader) gpu(e xml.StartElement) {
	if n := len(r.devices); n > 0 {
		d := r.devices[n-1]
		arch, _, _ := strings.Cut(attribute(e, "gcn"), ":") // gfx942:sramecc+:xnack-, or 908
		if arch != "" {
			arch = "gfx" + strings.TrimPrefix(arch, "gfx")
		}
		r.node.gpus = append(r.node.gpus, rcclGPU{d.address.String(), arch, d.device, d.numa, r.pcies[n-1]})
	}
}

// link adds an xGMI connection, each pair once.
func (r *xmlReader) link(e xml.StartElement) {
	to, ok := ParseAddress(attribute(e, "target"))
	n := len(r.devices)
	if !ok || n == 0 {
		return
	}
	a, b := r.devices[n-1].address.String(), to.String()
	if compareAddresses(a, b) > 0 {
		a, b = b, a
	}
	if a != b && !hasLink(r.node.links, a, b) {
		r.node.links = append(r.node.links, Link{A: a, B: b})
	}
}

func hasLink(links []Link, a, b string) bool {
	return slices.ContainsFunc(links, func(l Link) bool { return l.A == a && l.B == b || l.A == b && l.B == a })
}

func (r *xmlReader) net(e xml.StartElement) {
	c := rcclNIC{name: attribute(e, "name")}
	if speed, err := strconv.ParseFloat(attribute(e, "speed"), 64); err == nil && speed > 0 && speed < 1e9 {
		c.speed = new(speed * 1e6 / 8) // Mb/s
	}
	if n := len(r.devices); n > 0 {
		c.pci, c.numa, c.pcie = r.devices[n-1].address.String(), r.devices[n-1].numa, r.pcies[n-1]
	}
	r.node.nics = append(r.node.nics, c)
}

// OnlyXML reports that the node is what RCCL saw, because the tree has no GPU.
func (n *Node) OnlyXML() bool { return n.onlyXML }

// addXML reads RCCL's view. Where the tree has no GPU, the XML is of another node: then
// the node is what RCCL saw, and nothing of the tree.
func (n *Node) addXML(text []byte) error {
	if text == nil {
		return nil
	}
	view, err := readXML(text)
	if err != nil {
		return err
	}
	n.xml = view
	if n.kfd != nil && len(n.GPUs) > 0 || n.kfd.hides() || len(n.slots) > 0 || slices.ContainsFunc(view.gpus, func(g rcclGPU) bool { return n.gpu(g.pci) != nil }) {
		n.source(ByXML)
		return nil
	}
	n.onlyXML, n.pci, n.kfd, n.GPUs, n.NICs, n.Sources = true, nil, nil, nil, nil, []string{ByXML}
	for _, g := range view.gpus {
		n.GPUs = append(n.GPUs, GPU{PCI: g.pci, Name: product(g.device), Arch: g.arch, NUMA: g.numa, PCIe: g.pcie})
	}
	slices.SortStableFunc(n.GPUs, func(a, b GPU) int { return compareAddresses(a.PCI, b.PCI) })
	n.Links = slices.Clone(view.links)
	for _, c := range view.nics {
		nic := NIC{Name: c.name, PCI: c.pci, Negotiated: c.speed, NUMA: c.numa, PCIe: c.pcie}
		if a, ok := ParseAddress(c.pci); ok {
			if d := view.tree.find(a); d != nil {
				nic.setChip(d.vendor, d.device)
			}
		}
		n.NICs = append(n.NICs, nic)
	}
	return nil
}
