package curve

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// NearlySame is the largest difference, as a share, up to which in-place results get no curve of their
// own.
const NearlySame = 0.05

// placeTrait is the index of the placement in Traits.
const placeTrait = 2

// Pair holds the results of one collective in both placements. One of them may have no rows.
type Pair struct {
	Out, Place Curve
}

// Pairs joins the curves that differ only in placement, in order of first
// appearance.
func Pairs(curves []Curve) []Pair {
	keys, of := slice.Group(curves, func(c Curve) string {
		words := Traits(c.Rows[0])
		words[placeTrait] = ""
		return c.Collective + "\x00" + strings.Join(words, "\x00")
	})
	return slice.Map(keys, func(key string) (p Pair) {
		for _, c := range of[key] {
			if c.Rows[0].InPlace {
				p.Place = c
			} else {
				p.Out = c
			}
		}
		return p
	})
}

// Either returns the out-of-place curve, or the in-place curve if there is no other.
func (p Pair) Either() Curve {
	if len(p.Out.Rows) > 0 {
		return p.Out
	}
	return p.Place
}

// Method apart returns the largest difference between in-place and out-of-place results, as a share.
// The difference is below 0 if no result has a time. The result `all` is false if a result has no
// counterpart. Interrupted results with one pass count, as in tables.
func (p Pair) apart() (most float64, all bool) {
	shown := func(r *record.Result) bool {
		return r.Status == record.OK || r.Status == record.Interrupted && r.Burst != nil
	}
	bySize := map[int64]*record.Result{}
	for _, r := range p.Out.Rows {
		if shown(r) {
			bySize[Size(r)] = r
		}
	}
	most = -1
	for _, r := range p.Place.Rows {
		if !shown(r) {
			continue
		}
		other := bySize[Size(r)]
		if other == nil {
			return most, false
		}
		for _, of := range []func(*record.Result) Timing{BurstOf, IsolatedOf} {
			if a, b := of(r), of(other); a.Known && b.Known {
				most = max(most, math.Abs(a.Median/b.Median-1))
			} else if a.Known {
				return most, false
			}
		}
	}
	return most, true
}

// Drawn returns the curves to draw. If the in-place curve nearly coincides with the out-of-place curve,
// only the out-of-place curve is drawn. The note says which curves are omitted.
func Drawn(curves []Curve) (drawn []Curve, note string) {
	farthest, kept, left := 0.0, 0, 0
	for _, p := range Pairs(curves) {
		apart, all := p.apart()
		switch {
		case len(p.Out.Rows) == 0 || len(p.Place.Rows) == 0:
			drawn = append(drawn, p.Either())
		case all && apart <= NearlySame:
			if apart >= 0 {
				farthest, left = max(farthest, apart), left+1
			}
			c := p.Out
			c.Also, c.Apart = p.Place.Rows, apart
			drawn = append(drawn, c)
		default:
			drawn = append(drawn, p.Out, p.Place)
			kept++
		}
	}
	drawn = slices.DeleteFunc(drawn, func(c Curve) bool { return len(c.Rows) == 0 })
	for i := range drawn {
		drawn[i].Name = Name(drawn, i)
	}
	switch {
	case left == 0:
		return drawn, ""
	case kept > 0:
		note = "In-place curves are drawn only where they differ from those out of place by more than " + unit.Percent(NearlySame) + "; "
	default:
		note = "In-place results are not drawn: they differ from those out of place by at most " + unit.Percent(farthest) + "; "
	}
	return drawn, note + "the results table has them."
}

// Lines puts the results of one size side by side. A size that occurs several times, as in repeated
// runs, takes several lines.
func (p Pair) Lines() [][2]*record.Result {
	var out [][2]*record.Result
	a, b := p.Out.Rows, p.Place.Rows
	for len(a)+len(b) > 0 {
		var line [2]*record.Result
		if len(b) == 0 || len(a) > 0 && Size(a[0]) <= Size(b[0]) {
			line[0] = a[0]
		}
		if len(a) == 0 || len(b) > 0 && Size(b[0]) <= Size(a[0]) {
			line[1] = b[0]
		}
		if line[0] != nil {
			a = a[1:]
		}
		if line[1] != nil {
			b = b[1:]
		}
		out = append(out, line)
	}
	return out
}
