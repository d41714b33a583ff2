package fabric

import "zbench/bench/run/spec"

// share returns the remaining share of a group's bandwidth. Work is split evenly over links and
// rails, so the slowest link or rail in use decides.
func (d damage) share(f *Fabric, w spec.World, g Group) float64 {
	left := 1.0
	for _, l := range d.links {
		if g.holds(l.a) && g.holds(l.b) {
			left = min(left, l.share)
		}
	}
	if g.world(w).Nodes == 1 {
		return left
	}
	dead := map[int]map[int]bool{} // by node
	for at, share := range d.rails {
		switch {
		case share == 0 && g.on(w, at[0], -1):
			if dead[at[0]] == nil {
				dead[at[0]] = map[int]bool{}
			}
			dead[at[0]][at[1]] = true
		case share > 0 && g.on(w, at[0], at[1]):
			left = min(left, share)
		}
	}
	for node, rails := range dead {
		left = min(left, g.withoutRails(f, w, node, rails))
	}
	return left
}

// withoutRails returns the remaining share of a group's bandwidth if rails are dead on a node.
// Their traffic moves to the rails of the group's other GPUs on the node (4 of 8 rails gave half in
// a published case, docs/METHOD.md). If the group has only one GPU there, that GPU uses the NIC of
// another GPU, and the two share it. NCCL assigns NICs in this way: each GPU uses one of the
// nearest NICs, without regard to other communicators (ncclTopoGetLocalNet, src/graph/topo.cc).
func (g Group) withoutRails(f *Fabric, w spec.World, node int, dead map[int]bool) float64 {
	own := g.world(w).GPUsPerNode
	if own == w.GPUsPerNode || f.Node.NICs != w.GPUsPerNode {
		return float64(max(f.Node.NICs-len(dead), 0)) / float64(f.Node.NICs)
	}
	live := 0
	for rail := range w.GPUsPerNode {
		switch {
		case !g.on(w, node, rail):
		case own == 1:
			return shareOfSubstitute(w.GPUsPerNode, rail, dead)
		case !dead[rail]:
			live++
		}
	}
	return float64(live) / float64(own)
}

// shareOfSubstitute returns the share of a NIC's bandwidth that a GPU gets. If the GPU's own NIC is
// dead, the GPU shares the substitute NIC with other GPUs of the node. The result is 0 if all NICs
// are dead.
func shareOfSubstitute(rails, own int, dead map[int]bool) float64 {
	taken := substitute(rails, own, dead)
	if taken < 0 {
		return 0
	}
	users := 0
	for rail := range rails {
		if substitute(rails, rail, dead) == taken {
			users++
		}
	}
	return 1 / float64(users)
}

// substitute returns the NIC that a GPU uses: its own NIC, or else a working one whose number
// differs in the lowest bits, as for direct neighbours. It returns −1 if none works.
func substitute(rails, own int, dead map[int]bool) int {
	for differs := range 2 * rails {
		if rail := own ^ differs; rail < rails && !dead[rail] {
			return rail
		}
	}
	return -1
}
