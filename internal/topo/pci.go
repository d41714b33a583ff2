package topo

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is more than the possible nesting of bridges. PCI has 256 buses in a domain, and real
// nodes have fewer than ten levels.
const maxDepth = 64

// The numbers of PCI vendors.
const (
	vendorAMD      = 0x1002
	vendorNVIDIA   = 0x10de
	vendorPensando = 0x1dd8
)

// pciTree has the devices below the host bridges, each with the bridges above it.
type pciTree struct {
	devices []pciDevice
	index   map[Address]int
	// `by` is the source of the tree: pci or rccl-xml.
	by string
}

// pciDevice is one function on the bus.
type pciDevice struct {
	address Address
	// chain has the host bridge, the bridges below it, and the device itself.
	chain []string
	// folder is the folder of the device in sysfs; empty for other sources.
	folder                string
	class, vendor, device uint64
	driver                string
	numa                  *int
	// `virtual` is true for a virtual function (SR-IOV).
	virtual bool
}

// amdGPU reports whether the device is an AMD compute device (class 12xx), or an AMD display device
// without a connector (0380), such as Instinct GPUs. Virtual functions belong to guests and do not
// count.
func (d pciDevice) amdGPU() bool {
	return d.vendor == vendorAMD && !d.virtual && (d.class>>16 == 0x12 || d.class>>8 == 0x0380 || d.class>>8 == 0x0302)
}

// nvidiaGPU reports whether the device is a display device of NVIDIA, with or without a connector.
func (d pciDevice) nvidiaGPU() bool {
	return d.vendor == vendorNVIDIA && !d.virtual && (d.class>>8 == 0x0302 || d.class>>8 == 0x0300)
}

// bridge reports whether the device is a PCI-to-PCI bridge.
func (d pciDevice) bridge() bool { return d.class>>8 == 0x0604 }

// readPCI reads /sys/devices/pci*, where folders are nested as the bridges are, so that no link has
// to be followed. If a tree has only the links in /sys/bus/pci/devices, it reads the targets of the
// links. It returns nil if the tree has neither.
func readPCI(fsys fs.FS) *pciTree {
	t := &pciTree{index: map[Address]int{}, by: ByPCI}
	if root := under(fsys, "devices"); root != "" {
		for _, name := range list(fsys, root) {
			if strings.HasPrefix(name, "pci") {
				t.walk(fsys, path.Join(root, name), []string{name})
			}
		}
	}
	if len(t.devices) == 0 {
		t.follow(fsys)
	}
	if len(t.devices) == 0 {
		return nil
	}
	slices.SortFunc(t.devices, func(a, b pciDevice) int { return a.address.compare(b.address) })
	for i, d := range t.devices {
		t.index[d.address] = i
	}
	return t
}

func (t *pciTree) walk(fsys fs.FS, folder string, chain []string) {
	entries, _ := fs.ReadDir(fsys, folder) // a folder that cannot be read has no devices
	for _, e := range entries[:min(len(entries), maxEntries)] {
		name := e.Name()
		address, ok := ParseAddress(name)
		// Links are skipped: the folders of devices are no links, and a link may lead back up.
		if !ok || e.Type()&fs.ModeSymlink != 0 || len(chain) > maxDepth || len(t.devices) > maxEntries {
			continue
		}
		below := append(slices.Clone(chain), address.String())
		t.add(fsys, address, path.Join(folder, name), below)
		t.walk(fsys, path.Join(folder, name), below)
	}
}

// follow() reads the links in /sys/bus/pci/devices, whose targets name the bridges.
func (t *pciTree) follow(fsys fs.FS) {
	root := under(fsys, "bus/pci/devices")
	if root == "" {
		return
	}
	for _, name := range list(fsys, root) {
		address, ok := ParseAddress(name)
		if !ok {
			continue
		}
		target, err := fs.ReadLink(fsys, path.Join(root, name))
		if err != nil {
			t.add(fsys, address, path.Join(root, name), nil)
			continue
		}
		var chain []string
		for part := range strings.SplitSeq(target, "/") {
			if above, is := ParseAddress(part); is {
				chain = append(chain, above.String())
			} else if strings.HasPrefix(part, "pci") {
				chain = append(chain, part)
			}
		}
		if len(chain) <= maxDepth {
			t.add(fsys, address, path.Join(root, name), chain)
		}
	}
}

func (t *pciTree) add(fsys fs.FS, address Address, folder string, chain []string) {
	number := func(name string) uint64 { return hexadecimal(text(fsys, path.Join(folder, name))) }
	d := pciDevice{address: address, folder: folder, chain: chain}
	d.class, d.vendor, d.device = number("class"), number("vendor"), number("device")
	d.driver = uevent(fsys, path.Join(folder, "uevent"))["DRIVER"]
	d.numa = whole(fsys, path.Join(folder, "numa_node")) // nil for -1: the firmware does not give it
	d.virtual = exists(fsys, path.Join(folder, "physfn"))
	t.devices = append(t.devices, d)
}

// hexadecimal reads a number such as 0x1002, as sysfs and RCCL write it; 0 for any other text.
func hexadecimal(text string) uint64 {
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	if err != nil {
		return 0
	}
	return v
}

// find returns the device at an address; nil if there is none.
func (t *pciTree) find(a Address) *pciDevice {
	if t == nil {
		return nil
	}
	if i, ok := t.index[a]; ok {
		return &t.devices[i]
	}
	return nil
}

// The nearest component that two devices share.
const (
	PathSwitch     = "switch"
	PathHostBridge = "host_bridge"
)

// distance returns the nearest component that two devices share, "" if there is none, and the
// number of PCI links between them. They share a switch if a bridge below the host bridge is above
// both.
func distance(a, b *pciDevice) (shared string, hops int) {
	common := 0
	for common < min(len(a.chain), len(b.chain)) && a.chain[common] == b.chain[common] {
		common++
	}
	hops = len(a.chain) + len(b.chain) - 2*common
	switch {
	case common > 1:
		return PathSwitch, hops
	case common == 1:
		return PathHostBridge, hops
	}
	return "", hops
}

// readPCIe reads the PCIe connection of a device; nil if sysfs does not have it.
func readPCIe(fsys fs.FS, folder string) *PCIe {
	p := PCIe{
		Speed: transfers(text(fsys, path.Join(folder, "current_link_speed"))), MaxSpeed: transfers(text(fsys, path.Join(folder, "max_link_speed"))),
		Width: lanes(fsys, folder, "current_link_width"), MaxWidth: lanes(fsys, folder, "max_link_width"),
	}
	if p == (PCIe{}) {
		return nil
	}
	return &p
}

// lanes reads a number of lanes. For a device without a link sysfs has 0 or 255.
func lanes(fsys fs.FS, folder, name string) *int {
	n := whole(fsys, path.Join(folder, name))
	if n == nil || *n == 0 || *n > 32 {
		return nil
	}
	return n
}

// transfers() reads a rate such as "32.0 GT/s PCIe" in transfers per second; nil for "Unknown".
func transfers(s string) *float64 {
	value, rest, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || v <= 0 || v > 1e6 || !strings.HasPrefix(rest, "GT/s") {
		return nil
	}
	return new(v * 1e9)
}
