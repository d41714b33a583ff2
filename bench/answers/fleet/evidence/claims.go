package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// ofTimes returns the claims of a verdict. The weight of a finding follows its confidence. Candidates of
// questions get the weight Weak.
func ofTimes(v *rails.Verdict) []Claim {
	if v == nil {
		return nil
	}
	var out []Claim
	for _, f := range v.Findings {
		weight := map[string]int{"high": Strong, "medium": Medium, "low": Weak}[rails.Level(f.Confidence)]
		out = append(out, Claim{Times, f.Component, weight, strings.Join(f.Reasons, "; ")})
	}
	for _, q := range v.Questions {
		out = append(out, slice.Map(q.Candidates, func(c rails.Component) Claim { return Claim{Times, c, Weak, q.What} })...)
	}
	return out
}

// Limits of outliers among counters.
const (
	// leastNICs is the number of NICs that make a median.
	leastNICs = 4
	// Retransmissions stand out if they are more than manyTimes times the median and more than manyTimes
	// times leastEvents.
	manyTimes   = 10
	leastEvents = 10
	// `idle` is the share of the median's bytes below which a NIC is idle. `busy` is the share above which
	// a NIC carried another NIC's bytes, too.
	idle = 0.1
	busy = 1.7
	// If at least the share mostOfRail of the NICs behind a leaf switch retransmit, the switch is taken as
	// the cause.
	mostOfRail = 0.75
)

// ofCounters returns the claims of counters.
func (in Input) ofCounters() []Claim {
	places := slices.SortedFunc(maps.Keys(in.NICs), func(a, b rails.Place) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.GPU, b.GPU)) })
	if len(places) < leastNICs {
		return nil
	}
	median := func(of func(record.NICCounters) *uint64) float64 {
		read := slice.Where(places, func(p rails.Place) bool { return of(in.NICs[p]) != nil })
		if len(read) < leastNICs {
			return -1
		}
		return stat.Quantile(slice.Map(read, func(p rails.Place) float64 { return float64(*of(in.NICs[p])) }), 0.5)
	}
	sent := median(func(c record.NICCounters) *uint64 { return c.Sent })
	again := median(func(c record.NICCounters) *uint64 { return c.Retransmits })
	downs := median(func(c record.NICCounters) *uint64 { return c.LinkDowns })
	var out []Claim
	repeats := map[int][]rails.Place{} // by rail
	dead := map[int]int{}              // node to rail
	for _, p := range places {
		c := in.NICs[p]
		at := rails.Component{Part: rails.Rail, Node: p.Node, A: p.GPU}
		if c.LinkDowns != nil && downs >= 0 && float64(*c.LinkDowns) > downs {
			out = append(out, Claim{Counters, at, Strong, fmt.Sprintf("the NIC lost its link %d times", *c.LinkDowns)})
		}
		if c.Retransmits != nil && again >= 0 && float64(*c.Retransmits) > manyTimes*max(again, leastEvents) {
			out = append(out, Claim{Counters, at, Medium, fmt.Sprintf("the NIC sent %d packets again; the median is %.0f", *c.Retransmits, again)})
		}
		if c.Retransmits != nil && *c.Retransmits > manyTimes*leastEvents {
			repeats[p.GPU] = append(repeats[p.GPU], p)
		}
		if c.Sent != nil && sent > 0 && float64(*c.Sent) < idle*sent {
			dead[p.Node] = p.GPU
			out = append(out, Claim{Counters, at, Strong, fmt.Sprintf("the NIC sent %s; the median is %s", unit.Bytes(bounded(float64(*c.Sent))), unit.Bytes(bounded(sent)))})
		}
	}
	out = append(out, in.substitutes(places, dead, sent)...)
	return append(out, in.leaves(repeats)...)
}

// substitutes returns claims that clear NICs which carried the bytes of an idle NIC. Such NICs are not slow
// by themselves.
func (in Input) substitutes(places []rails.Place, dead map[int]int, sent float64) []Claim {
	var out []Claim
	for _, p := range places {
		c := in.NICs[p]
		rail, known := dead[p.Node]
		if known && c.Sent != nil && float64(*c.Sent) > busy*sent {
			at := rails.Component{Part: rails.Rail, Node: p.Node, A: p.GPU}
			out = append(out, Claim{Counters, at, -Strong, fmt.Sprintf("the NIC carried the bytes of rail %d, too", rail)})
		}
	}
	return out
}

// `leaves` returns claims about leaf switches behind which most NICs retransmit. The switch is then the
// likelier cause.
func (in Input) leaves(repeats map[int][]rails.Place) []Claim {
	var out []Claim
	for _, rail := range slices.Sorted(maps.Keys(repeats)) {
		total := map[int]int{} // by leaf; −1 is all of the rail
		hit := map[int]int{}
		for p := range in.NICs {
			if p.GPU == rail {
				total[in.Fleet.Leaf(rail, p.Node)]++
			}
		}
		for _, p := range repeats[rail] {
			hit[in.Fleet.Leaf(rail, p.Node)]++
		}
		for _, leaf := range slices.Sorted(maps.Keys(hit)) {
			if n := hit[leaf]; n >= leastNICs && float64(n) >= mostOfRail*float64(total[leaf]) && len(repeats) < in.Fleet.GPUs {
				out = append(out, Claim{Counters, rails.Component{Part: rails.Leaf, A: rail, B: leaf}, Strong, fmt.Sprintf("%d of %d NICs behind it sent packets again", n, total[leaf])})
			}
		}
	}
	return out
}

func bounded(v float64) int64 { return int64(min(v, 1<<62)) }
