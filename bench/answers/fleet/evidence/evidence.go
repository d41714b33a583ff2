// Package evidence joins independent sources about a fleet: the times of bench/answers/fleet/rails, the
// counters of NICs, a node's topology and its screen, and RCCL's RAS. Join names one component for each
// fault, or lists the candidates if it cannot tell.
//
// Every source makes claims: for or against a component, with a weight. Claims about components that
// exclude each other as the cause (a NIC, its GPU, its node, its leaf switch) are weighed against each
// other. Other claims belong to separate faults.
package evidence

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Source is the origin of a claim.
type Source string

// The sources.
const (
	Times    Source = "times"
	Counters Source = "counters"
	Topology Source = "topology"
	Screen   Source = "screen"
	RAS      Source = "ras"
)

// Weights of claims. Negative weights speak against a component.
const (
	// Weak marks a component that may explain the observation.
	Weak = 1
	// Medium marks a component that stands out.
	Medium = 2
	// Strong marks a component that was seen to fail by itself.
	Strong = 3
)

// Claim is a source's statement about a component.
type Claim struct {
	Source    Source
	Component rails.Component
	// Weight is Weak to Strong if the claim is for the component, and negative if it is against the
	// component.
	Weight int
	// Says is the reason, in words for the user.
	Says string
}

// Input has all known facts. Only Fleet is required.
type Input struct {
	Fleet   rails.Fleet
	Verdict *rails.Verdict
	// NICs holds the increase of the NICs' counters, by the place of their GPU.
	NICs map[rails.Place]record.NICCounters
	// Actual lists the NICs that carried the bytes of each GPU.
	Actual []rails.ActualRail
	// Others are the claims of further sources.
	Others []Claim
}

// Conclusion is the cause of one fault.
type Conclusion struct {
	// Named is the component, nil if the sources do not decide.
	Named *rails.Component
	// Candidates are the components that explain the observation, the likeliest first.
	Candidates []rails.Component
	// Explained are the components that Named accounts for: its rivals.
	Explained []rails.Component
	// Reasons are the sources' statements. The statements about the likeliest candidate come first.
	Reasons []string
	// Sources are the sources with a statement about a candidate.
	Sources []Source
}

const (
	// leastScore is the least sum of weights of a named component. leastMargin is the least lead of a
	// named component over the next candidate.
	leastScore  = Medium
	leastMargin = 1
	// `common` is the least number of parts with equal evidence for which the whole counts as the cause.
	common = 3
)

// hypothesis is a component with the claims for and against it.
type hypothesis struct {
	rails.Component
	score  int
	claims []Claim
}

// Join draws the conclusions, the best supported first.
func Join(in Input) []Conclusion {
	all := slices.DeleteFunc(in.weighed(), func(h hypothesis) bool { return h.score <= 0 })
	var out []Conclusion
	var scores []int
	for len(all) > 0 {
		cluster := []hypothesis{all[0]}
		all = all[1:]
		for i := 0; i < len(cluster); i++ {
			all = slices.DeleteFunc(all, func(h hypothesis) bool {
				rival := in.rivals(cluster[i].Component, h.Component)
				if rival {
					cluster = append(cluster, h)
				}
				return rival
			})
		}
		c := conclude(cluster)
		at, _ := slices.BinarySearchFunc(scores, cluster[0].score, func(have, score int) int { return cmp.Compare(score, have) })
		for at < len(scores) && scores[at] == cluster[0].score {
			at++ // equal scores stay in the order of the sources
		}
		out, scores = slices.Insert(out, at, c), slices.Insert(scores, at, cluster[0].score)
	}
	return out
}

// `weighed` returns all components that have a claim, with their scores.
func (in Input) weighed() []hypothesis {
	var all []hypothesis
	for _, c := range slices.Concat(ofTimes(in.Verdict), in.ofCounters(), in.ofActual(), in.Others) {
		i := slices.IndexFunc(all, func(h hypothesis) bool { return h.Component == c.Component })
		if i < 0 {
			i = len(all)
			all = append(all, hypothesis{Component: c.Component})
		}
		all[i].score += c.Weight
		all[i].claims = append(all[i].claims, c)
	}
	return all
}

// conclude decides between rivals and sorts them.
func conclude(cluster []hypothesis) Conclusion {
	slices.SortStableFunc(cluster, func(a, b hypothesis) int { return cmp.Compare(b.score, a.score) })
	best := cluster[0].score
	tied := slice.Count(cluster, func(h hypothesis) bool { return h.score == best })
	if whole := slices.IndexFunc(cluster, func(h hypothesis) bool { return h.Part == rails.Node || h.Part == rails.Leaf }); whole > 0 && tied >= common {
		// If so many parts fail in the same way, one common cause is likelier than several.
		h := cluster[whole]
		h.score = best + leastMargin
		cluster = slices.Insert(slices.Delete(cluster, whole, whole+1), 0, h)
	}
	var out Conclusion
	for _, h := range cluster {
		out.Candidates = append(out.Candidates, h.Component)
		for _, c := range h.claims {
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s: %s", c.Source, c.Says))
			if c.Weight > 0 && !slices.Contains(out.Sources, c.Source) {
				out.Sources = append(out.Sources, c.Source)
			}
		}
	}
	if lead := cluster[0]; lead.score >= leastScore && (len(cluster) == 1 || lead.score-cluster[1].score >= leastMargin) {
		out.Named = &lead.Component
		out.Explained, out.Candidates = out.Candidates[1:], out.Candidates[:1]
	}
	return out
}

// rivals reports whether two components explain the same fault: one is part of the other, or lies on the
// other's path.
func (in Input) rivals(a, b rails.Component) bool {
	return in.covers(a, b) || in.covers(b, a)
}

// `covers` reports whether a fault of the whole shows in the part.
func (in Input) covers(whole, part rails.Component) bool {
	switch whole.Part {
	case rails.Node:
		return part.Part != rails.Leaf && (part.Node == whole.Node || part.Part == rails.Path && part.Peer == whole.Node)
	case rails.GPU:
		return part.Node == whole.Node && (part.Part == rails.Rail && part.A == whole.A || part.Part == rails.Link && (part.A == whole.A || part.B == whole.A))
	case rails.Leaf:
		return part.Part == rails.Rail && part.A == whole.A && (whole.B < 0 || in.Fleet.Leaf(whole.A, part.Node) == whole.B)
	default:
		return false
	}
}
