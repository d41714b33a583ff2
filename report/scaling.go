package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// fallShare is the share of the best bus bandwidth below which a larger world has
// fallen off.
const fallShare = 0.9

// span of a scaling: how far the second message size is below the largest.
const scaleStepDown = 64

// family is how the ranks of a communicator were chosen.
type family string

// The families: a communicator alone, groups of neighbours at once, and groups of
// ranks that are apart.
const (
	oneWorld family = "one communicator"
	groups   family = "groups at once"
	strided  family = "strided groups at once"
)

// scaling is one collective in the worlds of one family, otherwise alike.
type scaling struct {
	// name is the collective, with what tells it from the others of its name.
	name       string
	collective string
	family     family
	worlds     []scaleWorld
	// sizes are message sizes that every world has a result at, in bytes: the
	// largest, and one about scaleStepDown times smaller where there is any.
	sizes []int64
}

// scaleWorld is one number of ranks with its bus bandwidth by message size.
type scaleWorld struct {
	ranks, nodes, groups, stride int
	bySize                       map[int64]*record.Result
}

// text names the world: 1,024 ranks on 128 nodes.
func (w scaleWorld) text() string {
	ranks := plural(int64(w.ranks), "rank")
	if w.stride > 0 {
		ranks += fmt.Sprintf(", %d apart", w.stride)
	}
	if w.groups > 1 {
		return fmt.Sprintf("%d × %s", w.groups, ranks)
	}
	if w.nodes > 0 {
		ranks += " on " + plural(int64(w.nodes), "node")
	}
	return ranks
}

// scalings are the collectives that have results in at least two worlds of a family.
func scalings(drawn []curve) []scaling {
	var order []string
	found := map[string]*scaling{}
	for _, c := range drawn {
		r := c.rows[0]
		if r.Ranks <= 0 {
			continue
		}
		f := familyOf(r)
		words := []string{orUnnamed(c.collective), r.Dtype, r.Op, fmt.Sprint(r.InPlace), fmt.Sprint(r.GPUsPerProcess), r.Setup, string(f)}
		key := strings.Join(words, "\x00")
		s := found[key]
		if s == nil {
			s = &scaling{name: orUnnamed(c.collective), collective: orUnnamed(c.collective), family: f}
			if r.InPlace {
				s.name += " in place"
			}
			if r.Setup != "" {
				s.name += " " + r.Setup
			}
			found[key] = s
			order = append(order, key)
		}
		s.worlds = append(s.worlds, worldOf(c))
	}
	var out []scaling
	for _, key := range order {
		s := found[key]
		slices.SortStableFunc(s.worlds, func(a, b scaleWorld) int { return cmp.Compare(a.ranks, b.ranks) })
		if s.sizes = commonSizes(s.worlds); len(s.worlds) > 1 && len(s.sizes) > 0 {
			out = append(out, *s)
		}
	}
	return out
}

func familyOf(r *record.Result) family {
	switch {
	case r.Groups <= 1:
		return oneWorld
	case r.Stride > 0:
		return strided
	}
	return groups
}

// worldOf indexes the results of a curve by the size asked for, which worlds of
// different ranks share where the size that moved was rounded.
func worldOf(c curve) scaleWorld {
	r := c.rows[0]
	w := scaleWorld{r.Ranks, r.Nodes, max(r.Groups, 1), r.Stride, map[int64]*record.Result{}}
	for _, r := range c.rows {
		if bw, ok := busBWOf(r); ok && r.Status == record.OK && BusBW.drawable(bw) {
			w.bySize[cmp.Or(r.BytesRequested, r.Bytes)] = r
		}
	}
	return w
}

// commonSizes are the largest size that all worlds have, and the one nearest to
// scaleStepDown times less.
func commonSizes(worlds []scaleWorld) []int64 {
	var common []int64
	for _, size := range slices.Sorted(maps.Keys(worlds[0].bySize)) {
		if !slices.ContainsFunc(worlds, func(w scaleWorld) bool { return w.bySize[size] == nil }) {
			common = append(common, size)
		}
	}
	if len(common) == 0 {
		return nil
	}
	largest := common[len(common)-1]
	at, _ := slices.BinarySearch(common, largest/scaleStepDown)
	if common[at] == largest {
		return []int64{largest}
	}
	return []int64{largest, common[at]}
}

// best is the highest bus bandwidth of any world at a size.
func (s scaling) best(size int64) float64 {
	most := 0.0
	for _, w := range s.worlds {
		most = max(most, *w.bySize[size].BusBW)
	}
	return most
}

// scalingCharts draw bus bandwidth over the number of ranks.
func scalingCharts(rec *record.Record, all []scaling) []Chart {
	if len(all) == 0 {
		return nil
	}
	c := baseChart(rec, nil)
	c.ID, c.Title, c.Quantity = "scaling", "Bus bandwidth by number of ranks", Scale
	var names []string
	for _, s := range all {
		for _, size := range s.sizes {
			one := Series{Name: s.name + ", " + unit.Bytes(size)}
			if s.family != oneWorld {
				one.Name += ", " + string(s.family)
			}
			for _, w := range s.worlds {
				r := w.bySize[size]
				p := Point{Bytes: int64(w.ranks), Value: *r.BusBW, Extrapolated: r.Extrapolated}
				p.bracket(r)
				p.Words = unit.Rate(p.Value) + ", " + percent(share(p.Value, s.best(size))) + " of the best, " + w.text()
				one.Points = append(one.Points, p)
			}
			c.Series = append(c.Series, one)
			names = append(names, s.collective)
		}
	}
	out := split(c, names)
	for i := range out {
		out[i].Notes = notesOf(out[i], rec)
	}
	return out
}

// share is part of whole, 0 where there is no whole.
func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// scalingTable has a row for each world and a pair of columns for each collective
// and message size: the bus bandwidth and its share of the best of the same family.
func scalingTable(all []scaling, f family) (t table.Table) {
	t.Columns = []table.Column{{Name: "ranks"}}
	rows := map[string][]string{}
	var order []scaleWorld
	width := 0
	for _, s := range all {
		if s.family != f {
			continue
		}
		for _, size := range s.sizes {
			for i, name := range []string{"busbw", "of best"} {
				t.Columns = append(t.Columns, table.Column{Name: name, Over: s.name + ", " + unit.Bytes(size), Right: true, Begins: i == 0})
			}
			for _, w := range s.worlds {
				key := w.text()
				if rows[key] == nil {
					order = append(order, w)
				}
				for len(rows[key]) < width {
					rows[key] = append(rows[key], none)
				}
				bw := *w.bySize[size].BusBW
				rows[key] = append(rows[key], unit.Rate(bw), percent(share(bw, s.best(size))))
			}
			width += 2
		}
	}
	slices.SortStableFunc(order, func(a, b scaleWorld) int { return cmp.Compare(a.ranks, b.ranks) })
	for _, w := range order {
		cells := rows[w.text()]
		for len(cells) < width {
			cells = append(cells, none)
		}
		t.Add(append([]string{w.text()}, cells...)...)
	}
	return t
}
