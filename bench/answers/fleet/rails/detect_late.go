package rails

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// `late` finds the nodes that enter transfers later than their partners. The partners then measure more
// time. In a fleet of two nodes, times alone cannot distinguish a late node from a slow network.
func (j *judgement) late(v *Verdict) {
	if !j.net.known {
		return
	}
	ahead := make([][]float64, j.Fleet.Nodes) // the wait of a node's partners, divided by the typical time
	meetings := map[[2]int][]float64{}
	var all []float64
	typical := median(slice.Map(j.net.kindTimes.of, func(t timed) float64 { return math.Exp(t.y + t.typical) }))
	for _, t := range j.net.kindTimes.of {
		y := t.Waited / typical
		ahead[t.Pair.B.Node] = append(ahead[t.Pair.B.Node], y)
		ahead[t.Pair.A.Node] = append(ahead[t.Pair.A.Node], -y)
		met := [2]int{t.Pair.A.Node, t.Pair.B.Node}
		meetings[met] = append(meetings[met], y)
	}
	for _, of := range meetings {
		middle := median(of)
		for _, y := range of {
			all = append(all, y-middle)
		}
	}
	limit := max(leastLoss, sigmas*Deviation(all))
	for node, of := range ahead {
		waited := median(of)
		if !(waited > limit) {
			continue
		}
		c := Component{Part: Node, Node: node}
		reason := fmt.Sprintf("its partners wait %s longer than it does: it enters transfers late, or sends slowly", micros(waited*typical))
		if i := slices.IndexFunc(v.Findings, func(f Slow) bool { return f.Component == c }); i >= 0 {
			v.Findings[i].Reasons = append(v.Findings[i].Reasons, reason)
			continue
		}
		slow := slice.Count(of, func(y float64) bool { return y > limit/2 })
		v.Findings = append(v.Findings, Slow{
			Component: c, Lost: waited / (1 + waited), Confidence: confidence(slow, len(of)), Reasons: []string{reason},
		})
	}
}
