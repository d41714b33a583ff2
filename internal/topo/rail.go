package topo

import (
	"maps"
	"slices"
	"strings"
)

// The sources of the PCI parents.
const (
	ByPCI = "pci"
	ByXML = "rccl-xml"
)

// setRails sets the rail of each GPU. The PCI parents in sysfs take precedence over the PCI parents
// in RCCL's view.
func (n *Node) setRails() {
	tree := n.pci
	if tree == nil && n.xml != nil {
		tree = n.xml.tree
	}
	if tree == nil {
		return
	}
	for i := range n.GPUs {
		n.GPUs[i].Rail = railOf(tree, n.GPUs[i].PCI, n.candidates(tree))
	}
}

// candidate is a NIC with its place in the PCI tree.
type candidate struct {
	name   string
	device *pciDevice
}

// candidates returns the NICs that can be a rail. A virtual function can be a rail only if
// the physical function of its card is not visible, as in a container or a guest.
func (n *Node) candidates(tree *pciTree) []candidate {
	cards := map[Address]bool{}
	for _, c := range n.NICs {
		if a, ok := ParseAddress(c.PCI); ok && !c.Virtual {
			cards[a.Card()] = true
		}
	}
	var all []candidate
	for _, c := range n.NICs {
		a, ok := ParseAddress(c.PCI)
		d := tree.find(a)
		if !ok || d == nil || c.Virtual && cards[a.Card()] {
			continue
		}
		all = append(all, candidate{c.Name, d})
	}
	return all
}

// railOf returns the NIC that is closest by PCI parents. It is nil if no NIC is below the same host
// bridge, because beyond that bridge PCI does not show which NIC a GPU should use.
func railOf(tree *pciTree, gpu string, nics []candidate) *Rail {
	a, ok := ParseAddress(gpu)
	d := tree.find(a)
	if !ok || d == nil {
		return nil
	}
	var best *Rail
	for _, c := range nics {
		shared, hops := distance(d, c.device)
		if shared == "" {
			continue
		}
		r := Rail{NICs: []string{c.name}, Path: shared, Hops: hops, By: tree.by}
		switch {
		case best == nil || closer(r, *best):
			best = &r
		case !closer(*best, r):
			best.NICs = append(best.NICs, c.name)
		}
	}
	return best
}

// closer() reports whether rail a is closer to the GPU than rail b.
func closer(a, b Rail) bool {
	if a.Path != b.Path {
		return a.Path == PathSwitch
	}
	return a.Hops < b.Hops
}

// String returns the names of the rail's NICs.
func (r *Rail) String() string {
	if r == nil {
		return ""
	}
	return strings.Join(r.NICs, " or ")
}

// contradicts() reports whether two rails have no NIC in common. A rail with more NICs is less
// certain, and contradicts nothing.
func (r *Rail) contradicts(o *Rail) bool {
	return r != nil && o != nil && !slices.ContainsFunc(r.NICs, func(name string) bool { return slices.Contains(o.NICs, name) })
}

// shared returns the GPUs of each rail that several GPUs share, by the names of the rail's NICs.
func (n *Node) shared() map[string][]string {
	of := map[string][]string{}
	for _, g := range n.GPUs {
		if g.Rail != nil {
			of[g.Rail.String()] = append(of[g.Rail.String()], g.PCI)
		}
	}
	maps.DeleteFunc(of, func(_ string, gpus []string) bool { return len(gpus) < 2 })
	return of
}
