package report

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/record"
)

// nearlySame is how far in-place results may be from those out of place and
// still need no curve of their own.
const nearlySame = 0.05

// placeTrait is where traits has the placement.
const placeTrait = 2

// pair is the results of one collective in both placements. One of them may
// have no rows.
type pair struct {
	out, place curve
}

// pairs joins the curves that differ only in placement, in order of first
// appearance.
func pairs(curves []curve) []pair {
	var out []pair
	index := map[string]int{}
	for _, c := range curves {
		words := traits(c.rows[0])
		words[placeTrait] = ""
		key := c.collective + "\x00" + strings.Join(words, "\x00")
		at, known := index[key]
		if !known {
			at = len(out)
			index[key] = at
			out = append(out, pair{})
		}
		if c.rows[0].InPlace {
			out[at].place = c
		} else {
			out[at].out = c
		}
	}
	return out
}

// either is the curve out of place, or the one in place where that is all.
func (p pair) either() curve {
	if len(p.out.rows) > 0 {
		return p.out
	}
	return p.place
}

// apart is how far the results in place are from those out of place, at most,
// as a share, and whether all of them have one to compare with.
func (p pair) apart() (most float64, all bool) {
	bySize := map[int64]*record.Result{}
	for _, r := range p.out.rows {
		if r.Status == record.OK {
			bySize[sizeOf(r)] = r
		}
	}
	for _, r := range p.place.rows {
		if r.Status != record.OK {
			continue
		}
		other := bySize[sizeOf(r)]
		if other == nil {
			return most, false
		}
		for _, of := range []func(*record.Result) timing{timingOf, isolatedOf} {
			if a, b := of(r), of(other); a.known && b.known {
				most = max(most, math.Abs(a.median/b.median-1))
			} else if a.known {
				return most, false
			}
		}
	}
	return most, true
}

// drawnCurves are the curves worth a line in a chart: where those in place
// nearly coincide with those out of place, one stands for both. The note says
// what was left out.
func drawnCurves(curves []curve) (drawn []curve, note string) {
	farthest, kept, left := 0.0, 0, 0
	for _, p := range pairs(curves) {
		apart, all := p.apart()
		switch {
		case len(p.out.rows) == 0 || len(p.place.rows) == 0:
			drawn = append(drawn, p.either())
		case all && apart <= nearlySame:
			farthest, left = max(farthest, apart), left+1
			c := p.out
			c.also, c.apart = p.place.rows, apart
			drawn = append(drawn, c)
		default:
			drawn = append(drawn, p.out, p.place)
			kept++
		}
	}
	drawn = slices.DeleteFunc(drawn, func(c curve) bool { return len(c.rows) == 0 })
	for i := range drawn {
		drawn[i].name = curveName(drawn, i)
	}
	switch {
	case left == 0:
		return drawn, ""
	case kept > 0:
		note = "In-place curves are drawn only where they differ from those out of place by more than " + percent(nearlySame) + "; "
	default:
		note = "In-place results are not drawn: they differ from those out of place by at most " + percent(farthest) + "; "
	}
	return drawn, note + "the results table has them."
}
