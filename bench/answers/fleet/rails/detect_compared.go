package rails

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/finding"
)

// `compared` gives the gate the measured times of the parts, whatever the detectors concluded. The figures
// are whole times: they still contain the time common to a round, a node or most parts.
func (j *judgement) compared(v *Verdict) {
	links, gpus := parts{}, parts{}
	if j.net.known {
		j.endsCompared(v)
	}
	for c, y := range j.wholeLinks {
		links.add(c, y)
		gpus.add(Component{Part: GPU, Node: c.Node, A: c.A}, y)
		gpus.add(Component{Part: GPU, Node: c.Node, A: c.B}, y)
	}
	if j.links.known {
		v.Compared = append(v.Compared, links.compared("xGMI links", v.LinkLimit, median))
		if j.Fleet.GPUs > 2 {
			v.Compared = append(v.Compared, gpus.compared("GPUs by their links", v.LinkLimit, slices.Min))
		}
	}
}

// wholeLinks returns the timed links with the logarithms of their times (xgmi.whole).
func (j *judgement) wholeLinks(yield func(Component, float64) bool) {
	for node, row := range j.links.whole {
		for a := range j.Fleet.GPUs {
			for b := a + 1; b < j.Fleet.GPUs; b++ {
				y := row[j.links.link(a, b)]
				if !math.IsNaN(y) && !yield(Component{Part: Link, Node: node, A: a, B: b}, y) {
					return
				}
			}
		}
	}
}

// endsCompared gives the gate the ends and the given pairs. Given ends are separated by direction, and by
// transfers within and between nodes.
func (j *judgement) endsCompared(v *Verdict) {
	type class struct {
		kind     Kind
		received bool
	}
	ends, pairs := map[class]parts{}, parts{}
	var residues []float64
	if j.Given {
		residues, _ = j.beyond()
	}
	for i, t := range j.net.kindTimes.of {
		for side, p := range []Place{t.Pair.A, t.Pair.B} {
			of := class{t.Kind, j.net.directed && side > 0}
			if ends[of] == nil {
				ends[of] = parts{}
			}
			ends[of].add(j.end(p), t.y+t.typical)
		}
		if j.Given {
			pairs.add(j.pair(t.Pair), residues[i])
		}
	}
	name := map[bool]string{false: "NICs", true: "ends of pairs"}[j.Given]
	for _, of := range []class{{Network, false}, {Network, true}, {XGMI, false}, {XGMI, true}} {
		if ends[of] != nil {
			v.Compared = append(v.Compared, ends[of].compared(name, v.NetworkLimit, slices.Min))
		}
	}
	if v.LinkLimit > 0 && j.Given {
		v.Compared = append(v.Compared, pairs.compared("pairs", v.LinkLimit, slices.Max))
	}
}

// parts are the logarithms of the times of each part.
type parts map[Component][]float64

func (p parts) add(c Component, y float64) { p[c] = append(p[c], y) }

// `compared` turns the times into rates. `of` chooses one of a part's times: the shortest if a single fast
// transfer clears both ends, else the median.
func (p parts) compared(class string, limit float64, of func([]float64) float64) finding.Compared[Component] {
	out := finding.Compared[Component]{Class: class, Limit: limit}
	for _, c := range slices.SortedFunc(maps.Keys(p), func(a, b Component) int { return cmp.Or(cmp.Compare(a.Part, b.Part), a.compare(b)) }) {
		out.Figures = append(out.Figures, finding.Figure[Component]{Subject: c, Rate: math.Exp(-of(p[c]))})
	}
	return out
}
