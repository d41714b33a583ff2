package fabric

import (
	"maps"
	"slices"

	"zbench/bench/collective"
	"zbench/bench/record"
)

// Describe is the part of the fabric that a record carries.
func (f *Fabric) Describe(m *Machine) *record.Fabric {
	out := &record.Fabric{Name: f.Name, Title: f.Title, Sources: f.Sources, Roofs: []record.Roof{}, Extrapolated: []string{}, Bracket: f.describeEnds(m)}
	for _, r := range f.Roofs {
		if !r.Nodes.holds(m.Nodes) || (r.GPUs != 0 && r.GPUs != m.GPUsPerNode) {
			continue
		}
		if bw := f.roof(r, m.GPUsPerNode); bw > 0 {
			out.Roofs = append(out.Roofs, record.Roof{Label: r.Label, BusBW: bw, Source: r.Source})
		}
	}
	groups := slices.SortedFunc(maps.Keys(m.Extrapolated), Group.compare)
	slices.Reverse(groups) // the whole world's first
	for _, g := range groups {
		for _, name := range collective.Names() {
			for _, doubt := range m.Extrapolated[g][name] {
				if !slices.Contains(out.Extrapolated, doubt) {
					out.Extrapolated = append(out.Extrapolated, doubt)
				}
			}
		}
	}
	return out
}

func (f *Fabric) roof(r Roof, gpus int) float64 {
	switch r.Per {
	case "links_raw":
		return float64(gpus-1) * f.Node.LinkRaw
	case "rails":
		return float64(min(gpus, f.Node.NICs)) * f.Node.NICLineRate
	}
	return r.BusBW
}
