package topo

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// NIC is an RDMA device with its port.
type NIC struct {
	// Name is the name of the RDMA device, such as rocep68s0. The names on one host may differ in
	// form.
	Name string `json:"name"`
	// Interface is the network interface, such as enp68s0; empty if no source gives it.
	Interface string `json:"interface"`
	// PCI is the PCI address; empty if no source gives it.
	PCI string `json:"pci"`
	// Driver is the driver of the PCI device, such as ionic or mlx5_core; empty if no source gives
	// it.
	Driver string `json:"driver"`
	// Product is the name of the card or of its chip; empty if no source gives it.
	Product string `json:"product"`
	// Virtual is true for a virtual function (SR-IOV), which shares the port of its card.
	Virtual bool `json:"virtual"`
	// NUMA is the NUMA node; null if no source gives it.
	NUMA *int `json:"numa"`
	// State is the state of the port, such as ACTIVE, DOWN or INIT; empty if no source gives it.
	State string `json:"state"`
	// Layer is Ethernet or InfiniBand; empty if no source gives it.
	Layer string `json:"link_layer"`
	// Rated is the card's nominal rate, in bytes per second; null if unknown.
	Rated *float64 `json:"rated"`
	// RatedBy is the source of Rated: product, or chip if Rated is the rate of the fastest card
	// with this chip.
	RatedBy string `json:"rated_by"`
	// Negotiated is the port's current rate, in bytes per second; null if unknown.
	Negotiated *float64 `json:"negotiated"`
	// MTU is the MTU of the network interface, in bytes; null if unknown.
	MTU *int `json:"mtu"`
	// RDMAMTU is the payload of an RDMA packet for which the NIC is configured, in bytes; null if
	// unknown.
	RDMAMTU *int `json:"rdma_mtu"`
	// Firmware is the firmware version; empty if no source gives it.
	Firmware string `json:"firmware"`
	// GUID is the device's GUID in hexadecimal digits; empty if no source gives it.
	GUID string `json:"guid"`
	// LinkDowns is how often the port lost its link; null if no source counts it.
	LinkDowns *uint64 `json:"link_downs"`
	// GIDs are the port's addresses, without empty entries.
	GIDs []GID `json:"gids"`
	// GIDsRead is true if the GID table could be read.
	GIDsRead bool `json:"gids_read"`
	// Leaf is the switch at the other end of the cable; empty if unknown.
	Leaf string `json:"leaf"`
	// LeafPort is the port of that switch; empty if unknown.
	LeafPort string `json:"leaf_port"`
	// PCIe is the PCIe connection; null if no source gives it.
	PCIe *PCIe `json:"pcie"`
	// Counters are the nonzero error and congestion counters.
	Counters []Counter `json:"counters"`
	// Counted is the number of counters that were read, including counters that are zero.
	Counted int `json:"counted"`

	// mac is the hardware address of the interface.
	mac string
}

// GID is an address of an RDMA port.
type GID struct {
	// Index is the index in the port's table, the value for NCCL_IB_GID_INDEX.
	Index int `json:"index"`
	// Address is the address in the form of IPv6.
	Address string `json:"address"`
	// Type is RoCE v2 or IB/RoCE v1; empty if unknown.
	Type string `json:"type"`
	// Interface is the network interface that has the address; empty if unknown.
	Interface string `json:"interface"`
}

// RoCEv2 is the type of GIDs that routed RoCE uses.
const RoCEv2 = "RoCE v2"

// chip describes the chip of a NIC by its PCI numbers.
type chip struct {
	vendor, device uint64
	name           string
	// `fastest` is the port rate of the fastest card with this chip, in bits per second; 0 if the
	// cards differ too much.
	fastest float64
}

// chips are the chips of NICs by their PCI numbers (pci.ids; rates from the vendors' product
// briefs). Cards with slower ports have the same numbers, so a lower rate is a doubt and not a
// fault.
var chips = []chip{
	{0x1dd8, 0x1002, "AMD Pensando Ethernet PF", 0},
	{0x1dd8, 0x1003, "AMD Pensando Ethernet VF", 0},
	{0x15b3, 0x101d, "ConnectX-6 Dx", 200e9},
	{0x15b3, 0x1021, "ConnectX-7", 400e9},
	{0x15b3, 0x1023, "ConnectX-8", 800e9},
	{0x15b3, 0xa2dc, "BlueField-3", 400e9},
	{0x14e4, 0x1750, "BCM57508", 200e9},
	{0x14e4, 0x1760, "BCM57608", 400e9},
}

// drivers are the drivers of the vendors. They are used if no source names the driver.
var drivers = map[uint64]string{vendorPensando: "ionic", 0x15b3: "mlx5_core", 0x14e4: "bnxt_en", 0x8086: "ice"}

const infiniband = "class/infiniband"

// readNICs reads all RDMA devices of a tree.
func readNICs(fsys fs.FS, tree *pciTree) []NIC {
	root := under(fsys, infiniband)
	if root == "" {
		return nil
	}
	var nics []NIC
	for _, name := range list(fsys, root) {
		folder := path.Join(root, name)
		if !slices.ContainsFunc([]string{"ports", "device", "fw_ver", "node_guid"}, func(file string) bool { return exists(fsys, path.Join(folder, file)) }) {
			continue // /sys/class/infiniband also has files that are not devices
		}
		nics = append(nics, readNIC(fsys, tree, folder, name))
	}
	return nics
}

// readNIC reads one device with its first port. No NIC of a training fabric has more than one port.
func readNIC(fsys fs.FS, tree *pciTree, folder, name string) NIC {
	c := NIC{
		Name: shortened(name), Firmware: text(fsys, path.Join(folder, "fw_ver")),
		GUID: strings.ReplaceAll(text(fsys, path.Join(folder, "node_guid")), ":", ""), Product: text(fsys, path.Join(folder, "hca_type")),
	}
	port := path.Join(folder, "ports", "1")
	_, c.State, _ = strings.Cut(text(fsys, path.Join(port, "state")), ": ")
	c.Layer = text(fsys, path.Join(port, "link_layer"))
	c.Negotiated = portRate(text(fsys, path.Join(port, "rate")))
	c.GIDs, c.GIDsRead = readGIDs(fsys, port)
	for _, g := range c.GIDs {
		c.Interface = cmp.Or(c.Interface, g.Interface)
	}
	c.portCounters(fsys, folder, port)
	c.fromDevice(fsys, tree, folder)
	c.fromInterface(fsys)
	return c
}

// fromDevice adds facts about the PCI device of an RDMA device.
func (c *NIC) fromDevice(fsys fs.FS, tree *pciTree, folder string) {
	device := path.Join(folder, "device")
	about := uevent(fsys, path.Join(device, "uevent"))
	address, ok := ParseAddress(about["PCI_SLOT_NAME"])
	if !ok {
		address, ok = tree.holder(fsys, path.Base(folder))
	}
	if ok {
		c.PCI = address.String()
	}
	vendor, number := hexadecimal(text(fsys, path.Join(device, "vendor"))), hexadecimal(text(fsys, path.Join(device, "device")))
	c.Driver, c.NUMA, c.Virtual = about["DRIVER"], whole(fsys, path.Join(device, "numa_node")), exists(fsys, path.Join(device, "physfn"))
	if d := tree.find(address); ok && d != nil {
		device, vendor, number = d.folder, d.vendor, d.device
		c.Driver, c.NUMA, c.Virtual = cmp.Or(d.driver, c.Driver), d.numa, d.virtual
	}
	c.setChip(vendor, number)
	c.PCIe = readPCIe(fsys, device)
	more, count := deviceCounters(fsys, device)
	c.Counters, c.Counted = append(c.Counters, more...), c.Counted+count
	if names := list(fsys, path.Join(device, "net")); c.Interface == "" && len(names) > 0 {
		slices.Sort(names)
		c.Interface = shortened(names[0])
	}
}

// setChip sets the driver and the nominal rate that follow from the PCI numbers.
func (c *NIC) setChip(vendor, number uint64) {
	c.Driver = cmp.Or(c.Driver, drivers[vendor])
	for _, known := range chips {
		if known.vendor != vendor || known.device != number {
			continue
		}
		c.Product = known.name
		if known.fastest > 0 {
			c.Rated, c.RatedBy = new(known.fastest/8), RatedByChip
		}
	}
}

// fromInterface adds facts about the network interface.
func (c *NIC) fromInterface(fsys fs.FS) {
	root := under(fsys, "class/net")
	if root == "" || c.Interface == "" || strings.ContainsAny(c.Interface, "/…") {
		return
	}
	folder := path.Join(root, c.Interface)
	if mtu := whole(fsys, path.Join(folder, "mtu")); mtu != nil {
		c.MTU = mtu
	}
	c.mac = text(fsys, path.Join(folder, "address"))
	if speed, ok := number(fsys, path.Join(folder, "speed")); ok && c.Negotiated == nil && speed > 0 && speed < 1<<24 {
		c.Negotiated = new(float64(speed) * 1e6 / 8)
	}
	if downs, ok := number(fsys, path.Join(folder, "carrier_down_count")); ok && (c.LinkDowns == nil || downs > *c.LinkDowns) {
		c.LinkDowns = &downs
	}
}

// holder finds the PCI device of an RDMA device whose own folder does not give it.
func (t *pciTree) holder(fsys fs.FS, name string) (Address, bool) {
	if t == nil {
		return Address{}, false
	}
	for _, d := range t.devices {
		if exists(fsys, path.Join(d.folder, "infiniband", name)) {
			return d.address, true
		}
	}
	return Address{}, false
}

// readGIDs reads the addresses of a port and leaves out empty entries. `ok` is false if the table
// cannot be read.
func readGIDs(fsys fs.FS, port string) (gids []GID, ok bool) {
	for _, name := range list(fsys, path.Join(port, "gids")) {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 {
			continue
		}
		ok = true
		address := text(fsys, path.Join(port, "gids", name))
		if strings.Trim(address, "0:") == "" {
			continue // an empty entry, whose type cannot be read either
		}
		gids = append(gids, GID{i, address, text(fsys, path.Join(port, "gid_attrs", "types", name)), text(fsys, path.Join(port, "gid_attrs", "ndevs", name))})
	}
	slices.SortFunc(gids, func(a, b GID) int { return cmp.Compare(a.Index, b.Index) })
	return gids, ok
}

// portRate converts a rate such as "400 Gb/sec (4X NDR)" to bytes per second; nil for any other
// text.
func portRate(s string) *float64 {
	value, rest, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || v <= 0 || v > 1e6 || !strings.HasPrefix(rest, "Gb/sec") {
		return nil
	}
	return new(v * (1e9 / 8))
}

// Kinds returns the kinds of NICs that are the rail of a GPU, each once. If no rail is known, it
// returns the kinds of all NICs.
func (n *Node) Kinds() []record.NICKind {
	railed := slice.Where(n.physical(), func(c NIC) bool { return c.Driver != "" && n.railed(c) })
	return slice.Distinct(slice.Map(railed, func(c NIC) record.NICKind { return record.NICKind{Driver: c.Driver, Model: c.Product} }))
}

// nic returns the NIC with the given name.
func (n *Node) nic(name string) *NIC {
	return find(n.NICs, func(c NIC) bool { return c.Name == name })
}
