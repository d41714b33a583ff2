package fabric

import (
	"fmt"
	"slices"
	"strconv"
)

// Ways are the times of messages between two GPUs, which go over an xGMI link within a node and
// over rails between nodes. The loopback finds the bottleneck of each message.
type Ways struct {
	// Link and Rail are the constants for one message without faults. Rail is nil on a fabric
	// without NICs.
	Link Curve
	Rail *Curve
	// lines are lines of the machine file with the shares that faults leave.
	lines []string
}

// ways returns the times of messages in a world. No published source has messages between pairs by
// size. So the rates are the rates of links and NICs, and the latencies are the latencies of
// all_reduce in the models for one and two nodes.
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

// railLines returns the lines with the remaining shares of rails, by rank.
func (d damage) railLines(m *Machine) []string {
	var lines []string
	for node := range m.Nodes {
		dead := d.dead(node)
		for rail := range m.GPUsPerNode {
			own, left := d.own(node, rail), 1.0
			if share := d.rails[[2]int{node, own}]; share > 0 { // a substitute NIC replaces a dead rail
				left = share
			}
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

// linkLines returns the lines with the remaining shares of links, by rank. If several faults slow a
// link, the smallest share counts.
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

// text returns the lines of the machine file.
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
