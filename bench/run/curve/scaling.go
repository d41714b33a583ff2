package curve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// absurd is a bus bandwidth that only a damaged record can have, in bytes per second.
const absurd = 1e18

// FallShare is the share of the best bus bandwidth below which a larger world has fallen off.
const FallShare = 0.9

// scaleStepDown is the ratio of the largest message size to the second one.
const scaleStepDown = 64

// Family is the choice of a communicator's ranks.
type Family string

// The families: a single communicator, simultaneous groups of neighbours, and groups of ranks with
// a stride.
const (
	OneWorld Family = "one communicator"
	Groups   Family = "groups at once"
	Strided  Family = "strided groups at once"
)

// Scaling is one collective in all worlds of a family; all other traits are equal.
type Scaling struct {
	// Name is the collective with the traits that distinguish this scaling from others of the collective.
	Name       string
	Collective string
	Family     Family
	Worlds     []World
	// Sizes are message sizes for which every world has a result, in bytes: the largest, and a size about
	// scaleStepDown times smaller if there is one.
	Sizes []int64
}

// World is one number of ranks with its bus bandwidth by message size.
type World struct {
	Ranks, Nodes, Groups, Stride int
	BySize                       map[int64]*record.Result
}

// Text describes the world: 1,024 ranks on 128 nodes.
func (w World) Text() string {
	ranks := unit.Count(w.Ranks, "rank")
	if w.Stride > 0 {
		ranks += fmt.Sprintf(", %d apart", w.Stride)
	}
	if w.Groups > 1 {
		return fmt.Sprintf("%d × %s", w.Groups, ranks)
	}
	if w.Nodes > 0 {
		ranks += " on " + unit.Count(w.Nodes, "node")
	}
	return ranks
}

// Scalings returns the collectives that have results in at least two worlds of a family.
func Scalings(drawn []Curve) []Scaling {
	known := slice.Where(drawn, func(c Curve) bool { return c.Rows[0].Ranks > 0 })
	type alike struct {
		record.CurveKey
		family Family
	}
	keys, of := slice.Group(known, func(c Curve) alike {
		k := alike{c.Rows[0].CurveKey(), familyOf(c.Rows[0])}
		k.Collective = plain.OrUnnamed(c.Collective)
		k.Ranks, k.Nodes, k.Groups, k.Stride = 0, 0, 0, 0 // the worlds differ in them
		return k
	})
	var out []Scaling
	for _, k := range keys {
		s := Scaling{Name: k.Collective, Collective: k.Collective, Family: k.family, Worlds: slice.Map(of[k], worldOf)}
		if k.InPlace {
			s.Name += " in place"
		}
		if k.Setup != "" {
			s.Name += " " + k.Setup
		}
		slices.SortStableFunc(s.Worlds, func(a, b World) int { return cmp.Compare(a.Ranks, b.Ranks) })
		if s.Sizes = commonSizes(s.Worlds); len(s.Worlds) > 1 && len(s.Sizes) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func familyOf(r *record.Result) Family {
	switch {
	case r.Groups <= 1:
		return OneWorld
	case r.Stride > 0:
		return Strided
	}
	return Groups
}

// worldOf indexes the results of a curve by the requested size, which is equal in all worlds, while the
// moved size is rounded to the ranks.
func worldOf(c Curve) World {
	r := c.Rows[0]
	w := World{r.Ranks, r.Nodes, max(r.Groups, 1), r.Stride, map[int64]*record.Result{}}
	for _, r := range c.Rows {
		if bw, ok := BusBW(r); ok && r.Status == record.OK && bw <= absurd {
			w.BySize[cmp.Or(r.BytesRequested, r.Bytes)] = r
		}
	}
	return w
}

// commonSizes returns the largest size that all worlds have, and the smallest that is at least
// 1/scaleStepDown of it.
func commonSizes(worlds []World) []int64 {
	common := slice.Where(slices.Sorted(maps.Keys(worlds[0].BySize)), func(size int64) bool {
		return !slices.ContainsFunc(worlds, func(w World) bool { return w.BySize[size] == nil })
	})
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

// Best returns the highest bus bandwidth of any world at a size.
func (s Scaling) Best(size int64) float64 {
	return slice.Most(s.Worlds, func(w World) float64 { return *w.BySize[size].BusBW })
}

// Fall compares the largest world with the best one at a size. The result kept is the remaining share of
// the bus bandwidth. The result falls is true if this share is below FallShare. In this case the result
// text describes the fall.
func (s Scaling) Fall(size int64) (text string, kept float64, falls bool) {
	last := s.Worlds[len(s.Worlds)-1]
	best := slices.MaxFunc(s.Worlds, func(a, b World) int { return cmp.Compare(*a.BySize[size].BusBW, *b.BySize[size].BusBW) })
	now := Share(*last.BySize[size].BusBW, *best.BySize[size].BusBW)
	if now >= FallShare || best.Ranks >= last.Ranks {
		return "", now, false
	}
	return fmt.Sprintf("%s reaches %s on %s, %s of the %s on %s", s.Name, unit.Rate(*last.BySize[size].BusBW), unit.Count(last.Ranks, "rank"),
		unit.Percent(now), unit.Rate(*best.BySize[size].BusBW), unit.Count(best.Ranks, "rank")), now, true
}

// Share returns part divided by whole, or 0 if whole is 0.
func Share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}
