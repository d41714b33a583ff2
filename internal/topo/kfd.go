package topo

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"zbench/internal/linux"
)

// linkXGMI is the type of an xGMI link in KFD's io_links: HSA_IOLINKTYPE of the kernel's
// kfd_topology.h.
const linkXGMI = 11

// kfdTree is the content of /sys/class/kfd/kfd/topology.
type kfdTree struct {
	nodes []kfdNode
	// `denied` has the nodes whose properties cannot be read: KFD answers EPERM for GPUs that the
	// device cgroup does not allow. `broken` has the invalid nodes.
	denied, broken []int
}

// kfdNode is a CPU socket or a partition of a GPU.
type kfdNode struct {
	id    int
	props map[string]uint64
	links []kfdLink
}

// kfdLink is one direction of a connection.
type kfdLink struct {
	to   int
	kind uint64
	// bandwidth is max_bandwidth in MB/s, 0 if KFD does not know it.
	bandwidth, weight uint64
}

// gpu reports whether the node is a GPU; a CPU has no SIMDs.
func (n kfdNode) gpu() bool { return n.props["simd_count"] > 0 || n.props["gfx_target_version"] > 0 }

func (n kfdNode) cpu() bool { return !n.gpu() && n.props["cpu_cores_count"] > 0 }

func (n kfdNode) address() Address { return located(n.props["domain"], n.props["location_id"]) }

// readKFD reads the topology; nil if the tree has none.
func readKFD(fsys fs.FS) *kfdTree {
	root := ""
	for _, name := range []string{"sys/class/kfd/kfd/topology", "class/kfd/kfd/topology", "sys/devices/virtual/kfd/kfd/topology", "topology", "."} {
		if exists(fsys, path.Join(name, "nodes")) {
			root = path.Join(name, "nodes")
			break
		}
	}
	if root == "" && (exists(fsys, "0/properties") || exists(fsys, "1/properties")) {
		root = "." // the tree begins at the folder of the nodes
	}
	if root == "" {
		return nil
	}
	t := &kfdTree{}
	for _, name := range list(fsys, root) {
		id, err := strconv.Atoi(name)
		if err != nil || id < 0 {
			continue
		}
		t.add(fsys, path.Join(root, name), id)
	}
	slices.SortFunc(t.nodes, func(a, b kfdNode) int { return cmp.Compare(a.id, b.id) })
	slices.Sort(t.denied)
	slices.Sort(t.broken)
	return t
}

func (t *kfdTree) add(fsys fs.FS, folder string, id int) {
	all, err := read(fsys, path.Join(folder, "properties"))
	// The error is EPERM; a recording has an empty file instead.
	if errors.Is(err, fs.ErrPermission) || err == nil && all == "" {
		t.denied = append(t.denied, id)
		return
	}
	n := kfdNode{id: id, props: linux.KFDProperties(all)}
	if err != nil || !n.gpu() && !n.cpu() {
		t.broken = append(t.broken, id)
		return
	}
	for _, name := range list(fsys, path.Join(folder, "io_links")) {
		all, err := read(fsys, path.Join(folder, "io_links", name, "properties"))
		if err != nil {
			continue
		}
		p := linux.KFDProperties(all)
		to, ok := p["node_to"]
		if !ok || to > maxEntries || p["node_from"] != uint64(id) {
			continue
		}
		n.links = append(n.links, kfdLink{int(to), p["type"], p["max_bandwidth"], p["weight"]})
	}
	t.nodes = append(t.nodes, n)
}

// hides() reports whether there are GPUs that this process's device cgroup does not allow.
func (t *kfdTree) hides() bool { return t != nil && len(t.denied) > 0 }

// gpus returns the nodes that are GPUs.
func (t *kfdTree) gpus() []kfdNode {
	if t == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.nodes), func(n kfdNode) bool { return !n.gpu() })
}

// known() reports whether the node has a folder, readable or not.
func (t *kfdTree) known(id int) bool {
	return slices.ContainsFunc(t.nodes, func(n kfdNode) bool { return n.id == id }) || slices.Contains(t.denied, id) || slices.Contains(t.broken, id)
}

// cpuOrdinal returns the index of a node among the CPUs, which KFD lists in the order of their
// NUMA nodes; −1 if it is no CPU.
func (t *kfdTree) cpuOrdinal(id int) int {
	i := 0
	for _, n := range t.nodes {
		if !n.cpu() {
			continue
		}
		if n.id == id {
			return i
		}
		i++
	}
	return -1
}

// numa returns the NUMA node of the CPU to which a GPU's node is linked; nil if there is none.
func (t *kfdTree) numa(n kfdNode) *int {
	best := -1
	var weight uint64
	for _, l := range n.links {
		if i := t.cpuOrdinal(l.to); i >= 0 && (best < 0 || l.weight < weight) {
			best, weight = i, l.weight
		}
	}
	if best < 0 {
		return nil
	}
	return &best
}
