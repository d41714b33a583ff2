package fabric

import (
	"fmt"
	"slices"
	"strconv"
)

// Ways are what a message between two GPUs takes: over an xGMI link within a node, over
// their rails between nodes. The loopback computes the bottleneck of each message.
type Ways struct {
	// Link and Rail are the constants of one message without faults; Rail is nil on a
	// fabric without NICs.
	Link Curve
	Rail *Curve
	// lines are the shares that faults leave, as the machine file has them.
	lines []string
}

// ways are those of the world, with the latencies of the models for one and two nodes.
// No published source has messages between pairs by size: the rates are those of links and NICs,
// the latencies are all_reduce's.
func (f *Fabric) ways(m *Machine, d damage) *Ways {
	constants := func(nodes int, rate float64) Curve {
		model := f.model(nodes)
		n := float64(nodes)
		return Curve{B: rate, A: model.A.at(n), R: model.R.at(n), Floor: model.Floor.at(n), K: 1}
	}
	w := &Ways{Link: constants(1, f.Node.Link)}
	if m.Nodes > 1 {
		rate := float64(min(m.GPUsPerNode, f.Node.NICs)) / float64(m.GPUsPerNode) * f.Node.NICLineRate * f.model(2).RailEfficiency
		rail := constants(2, rate)
		w.Rail = &rail
		w.lines = d.railLines(m)
	}
	w.lines = append(w.lines, d.linkLines()...)
	return w
}

// railLines are the shares that are left of rails, by rank.
func (d damage) railLines(m *Machine) []string {
	var lines []string
	for node := range m.Nodes {
		dead := map[int]bool{}
		for rail := range m.GPUsPerNode {
			if share, hit := d.rails[[2]int{node, rail}]; hit && share == 0 {
				dead[rail] = true
			}
		}
		for rail := range m.GPUsPerNode {
			own := d.own(node, rail)
			left := d.railLeft(node, own)
			if len(dead) > 0 {
				left = min(left, max(shareOfSubstitute(m.GPUsPerNode, own, dead), leastLeft))
			}
			if left < 1 {
				lines = append(lines, fmt.Sprintf("left rail %d %s", node*m.GPUsPerNode+rail, shortest(left)))
			}
		}
	}
	return lines
}

// linkLines are the shares that are left of links, by rank: several faults may slow one.
func (d damage) linkLines() []string {
	left := map[[2]int]float64{}
	for _, l := range d.links {
		at := [2]int{min(l.a, l.b), max(l.a, l.b)}
		if before, hit := left[at]; !hit || l.share < before {
			left[at] = l.share
		}
	}
	var lines []string
	for at, share := range left {
		lines = append(lines, fmt.Sprintf("left link %d %d %s", at[0], at[1], shortest(share)))
	}
	slices.Sort(lines)
	return lines
}

// railLeft is what slow NICs and leaves leave of a rail; a dead NIC is not counted.
func (d damage) railLeft(node, rail int) float64 {
	if share, hit := d.rails[[2]int{node, rail}]; hit && share > 0 {
		return share
	}
	return 1
}

// text are the lines of the machine file.
func (w *Ways) text(gpus int) []string {
	line := func(name string, c Curve) string {
		return fmt.Sprintf("way %s %d %s %s %s %s", name, gpus, shortest(c.B), shortest(c.A), shortest(c.R), shortest(c.Floor))
	}
	out := []string{line("link", w.Link)}
	if w.Rail != nil {
		out = append(out, line("rail", *w.Rail))
	}
	return append(out, w.lines...)
}

func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// plantSlowGPU slows all links of a GPU and its rail.
func plantSlowGPU(v faultValues, m *Machine, d *damage) error {
	first := int(v["node"]) * m.GPUsPerNode
	for other := range m.GPUsPerNode {
		if other != int(v["gpu"]) {
			d.links = append(d.links, linkDamage{first + int(v["gpu"]), first + other, v["left"]})
		}
	}
	d.slow(int(v["node"]), int(v["gpu"]), v["left"])
	return nil
}

// plantSlowNode slows all links and rails of a node.
func plantSlowNode(v faultValues, m *Machine, d *damage) error {
	node := int(v["node"])
	first := node * m.GPUsPerNode
	for a := range m.GPUsPerNode {
		for b := range a {
			d.links = append(d.links, linkDamage{first + b, first + a, v["left"]})
		}
		d.slow(node, a, v["left"])
	}
	return nil
}

// slow keeps the least share that is left of a rail.
func (d *damage) slow(node, rail int, left float64) {
	if d.rails == nil {
		d.rails = map[[2]int]float64{}
	}
	at := [2]int{node, rail}
	before, hit := d.rails[at]
	if !hit {
		before = 1
	}
	d.rails[at] = min(before, left)
}
