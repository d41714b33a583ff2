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

// Limits of RCCL's topology file. The file of a node with 8 GPUs has 14 KB.
const (
	maxXML      = 16 << 20
	maxElements = 100_000
)

// rcclNode is RCCL's view of a node. It has only the devices that the job used.
type rcclNode struct {
	tree  *pciTree
	gpus  []GPU
	nics  []NIC
	links []Link
	// sockets are the networks that are not RDMA NICs.
	sockets []string
}

// readXML reads the file that RCCL writes to NCCL_TOPO_DUMP_FILE. The file nests <pci> in <cpu>,
// and <cpu> in <system>. A <pci> contains further <pci>, a <gpu> with <xgmi>, or a <nic> with
// <net>.
func readXML(text []byte) (*rcclNode, error) {
	if len(text) > maxXML {
		return nil, fmt.Errorf("%d bytes are more than any topology file of RCCL has", len(text))
	}
	r := &xmlReader{Decoder: xml.NewDecoder(bytes.NewReader(text)), node: &rcclNode{tree: &pciTree{index: map[Address]int{}, by: ByXML}}}
	if err := r.children(place{}); err != nil {
		return nil, err
	}
	if !r.system {
		return nil, errors.New("there is no <system> element: RCCL writes such a file where NCCL_TOPO_DUMP_FILE names one")
	}
	slices.SortFunc(r.node.links, compareLinks)
	return r.node, nil
}

// xmlReader holds the state of reading a topology file.
type xmlReader struct {
	*xml.Decoder
	node           *rcclNode
	system         bool
	elements, cpus int
}

// place is where an element is: the bridges above it, its NUMA node, and the innermost PCI element
// around it, nil if there is none.
type place struct {
	chain  []string
	numa   *int
	device *pciDevice
	pcie   *PCIe
}

// pci returns the address of the innermost PCI element.
func (p place) pci() string {
	if p.device == nil {
		return ""
	}
	return p.device.address.String()
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return shortened(strings.TrimSpace(a.Value))
		}
	}
	return ""
}

// children reads the elements within an element, up to its end or the end of the file.
func (r *xmlReader) children(in place) error {
	for {
		token, err := r.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the XML is damaged: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if err := r.element(e, in); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

func (r *xmlReader) element(e xml.StartElement, in place) error {
	if r.elements++; r.elements > maxElements || len(in.chain) > maxDepth+1 {
		return errors.New("the XML has more elements than any node")
	}
	switch e.Name.Local {
	case "system":
		r.system = true
	case "cpu":
		in = place{chain: []string{fmt.Sprintf("cpu%d", r.cpus)}}
		r.cpus++
		if n, err := strconv.Atoi(attribute(e, "numaid")); err == nil && n >= 0 {
			in.numa = &n
		}
	case "pci":
		address, ok := ParseAddress(attribute(e, "busid"))
		if !ok {
			return fmt.Errorf("<pci busid=%q> is no PCI address", attribute(e, "busid"))
		}
		in = r.pci(e, address, in)
	case "gpu":
		if in.device != nil {
			arch, _, _ := strings.Cut(attribute(e, "gcn"), ":") // such as gfx942:sramecc+:xnack-, or 908
			if arch != "" {
				arch = "gfx" + strings.TrimPrefix(arch, "gfx")
			}
			vendor := in.device.vendor
			if arch == "" && vendor != vendorAMD { // RCCL gives the architecture only for AMD's GPUs
				vendor = vendorNVIDIA
				if sm := attribute(e, "sm"); sm != "" {
					arch = "sm_" + sm
				}
			}
			r.node.gpus = append(r.node.gpus, GPU{PCI: in.pci(), Name: product(vendor, in.device.device), Arch: arch, NUMA: in.numa, PCIe: in.pcie})
		}
	case "xgmi":
		r.link(attribute(e, "target"), in.pci())
	case "net":
		r.net(e, in)
	}
	return r.children(in)
}

// pci adds a PCI device and returns the parent for the elements nested in it.
func (r *xmlReader) pci(e xml.StartElement, address Address, in place) place {
	// A switch has several bridges with the same address, so each element counts as a bridge of its
	// own.
	chain := append(slices.Clone(in.chain), fmt.Sprintf("%s#%d", address, r.elements))
	d := pciDevice{address: address, chain: chain, numa: in.numa, class: hexadecimal(attribute(e, "class")), vendor: hexadecimal(attribute(e, "vendor")), device: hexadecimal(attribute(e, "device"))}
	p := &PCIe{Speed: transfers(attribute(e, "link_speed"))}
	if w, err := strconv.Atoi(attribute(e, "link_width")); err == nil && w > 0 && w <= 32 {
		p.Width = &w
	}
	t := r.node.tree
	if i, met := t.index[address]; !met || t.devices[i].bridge() {
		t.index[address] = len(t.devices)
	}
	t.devices = append(t.devices, d)
	return place{chain, in.numa, &d, p}
}

// link adds an xGMI connection. Each pair of packages is added once.
func (r *xmlReader) link(target, a string) {
	to, ok := ParseAddress(target)
	if !ok || a == "" {
		return
	}
	b := to.String()
	if compareAddresses(a, b) > 0 {
		a, b = b, a
	}
	if a != b && !hasLink(r.node.links, a, b) {
		r.node.links = append(r.node.links, Link{A: a, B: b})
	}
}

func hasLink(links []Link, a, b string) bool { return linkOf(links, a, b) != nil }

// linkOf returns the link between two packages, in either order; nil if there is none.
func linkOf(links []Link, a, b string) *Link {
	return find(links, func(l Link) bool { return l.A == a && l.B == b || l.A == b && l.B == a })
}

// net adds a NIC if it is an RDMA NIC. An interface of the socket transport has neither port nor
// GUID, and cannot access a GPU's memory.
func (r *xmlReader) net(e xml.StartElement, in place) {
	zero := func(name string) bool {
		n, err := strconv.ParseUint(attribute(e, name), 0, 64)
		return err == nil && n == 0
	}
	if zero("port") || zero("guid") || zero("gdr") {
		r.node.sockets = append(r.node.sockets, attribute(e, "name"))
		return
	}
	c := NIC{Name: attribute(e, "name"), PCI: in.pci(), PCIe: in.pcie}
	if speed, err := strconv.ParseFloat(attribute(e, "speed"), 64); err == nil && speed > 0 && speed < 1e9 {
		c.Negotiated = new(speed * 1e6 / 8) // RCCL gives Mb/s
	}
	if in.device != nil {
		c.NUMA = in.numa
		c.setChip(in.device.vendor, in.device.device)
	}
	r.node.nics = append(r.node.nics, c)
}

// OnlyXML reports whether the node consists only of RCCL's view, because the tree has no GPU.
func (n *Node) OnlyXML() bool { return n.onlyXML }

// addXML reads RCCL's view. If the tree has no GPU, the XML is of another node, and the node then
// consists only of RCCL's view, without the tree.
func (n *Node) addXML(text []byte) error {
	if text == nil {
		return nil
	}
	view, err := readXML(text)
	if err != nil {
		return err
	}
	n.xml = view
	if n.kfd != nil && len(n.GPUs) > 0 || n.kfd.hides() || len(n.slots) > 0 || slices.ContainsFunc(view.gpus, func(g GPU) bool { return n.gpu(g.PCI) != nil }) {
		n.source(ByXML)
		return nil
	}
	n.onlyXML, n.pci, n.kfd, n.GPUs, n.NICs, n.Sources = true, nil, nil, slices.Clone(view.gpus), slices.Clone(view.nics), []string{ByXML}
	slices.SortStableFunc(n.GPUs, func(a, b GPU) int { return compareAddresses(a.PCI, b.PCI) })
	n.Links = slices.Clone(view.links)
	return nil
}
