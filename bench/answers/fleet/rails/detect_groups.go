package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

const (
	// `apart` is the least distance between the means of two groups that differ, in standard deviations
	// within the groups. A normal sample split in two has a distance of 2.7, a uniform sample 3.5.
	apart = 6
	// leastGroup is the smallest share of the values that makes a group: fewer are outliers.
	leastGroup = 0.05
	// leastMeeting is the least difference between two groups of pairs of nodes, as a logarithm of time.
	// The pairs were timed in different rounds, so their times also vary by round.
	leastMeeting = 0.15
	// mostLimit is the largest limit that allows a verdict, as the logarithm of a loss. A component that lost
	// a third of its bandwidth must not be called healthy.
	mostLimit = 0.4
)

// twoGroups splits values in two so that the variance within the groups is minimal. `slow` holds the indices
// of the larger values, and gap is the difference of the groups' means. ok is true if the groups differ
// clearly: by more than `least`, and by more than `apart` standard deviations within the groups. se is the
// least deviation that it assumes.
func twoGroups(values []float64, se, least float64) (slow []int, gap float64, ok bool) {
	n := len(values)
	if n < 2 {
		return nil, 0, false
	}
	order := slice.Numbers(n)
	total, squares := 0.0, 0.0
	for _, v := range values {
		total, squares = total+v, squares+v*v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	cut, best, sum := 0, math.Inf(-1), 0.0
	for i := 1; i < n; i++ {
		sum += values[order[i-1]]
		low, high := sum/float64(i), (total-sum)/float64(n-i)
		if between := float64(i) * float64(n-i) * (high - low) * (high - low); between > best {
			cut, best, gap = i, between, high-low
		}
	}
	within := max(0, squares-total*total/float64(n)-best/float64(n))
	deviation := max(se, (1+4/float64(n))*math.Sqrt(within/float64(max(n-2, 1)))) // few values can be close by chance
	small := float64(min(cut, n-cut))
	return order[cut:], gap, gap > least && gap > apart*deviation && small >= leastGroup*float64(n)
}

// level returns the median of the values. If the values fall into two groups, and the faster group has at
// least a quarter of them, it returns that group's median. One slow GPU of four, for example, slows half of
// the node's links. se is the standard error of each value.
func level(values []float64, se float64) float64 {
	if slow, _, ok := twoGroups(values, se, leastLoss); ok && 4*len(slow) <= 3*len(values) {
		values = slices.Clone(values)
		for _, i := range slow {
			values[i] = math.NaN()
		}
		values = present(values)
	}
	return median(values)
}

// groups asks about groups of components that differ although no finding names a component of them. The
// median is then no reference.
func (j *judgement) groups(v *Verdict) {
	pair := 0.0
	if j.Given {
		j.groupsOfValues(v)
		_, pair = j.beyond()
	} else {
		j.groupsOfNodes(v)
		j.groupsOfMeetings(v)
		j.groupsOfNICs(v)
	}
	for _, one := range []struct {
		known       bool
		limit, most float64
		what        string
		links       bool
	}{
		{j.net.known, j.net.limit(), mostLimit, map[bool]string{false: "NICs", true: "ends"}[j.Given], false},
		{j.net.known, pair, mostLimit + mostPair, "pairs", false},
		{j.links.known, j.links.limit(), mostLimit, "xGMI links", true},
	} {
		if one.known && one.limit > one.most && !v.doubted() {
			v.Questions = append(v.Questions, Question{
				What: fmt.Sprintf("the %s differ so much that only a loss of %.0f %% would be named", one.what, 100*share(one.limit)), All: true,
				Candidates: worst(j.ranking(), one.links), Next: "look at these by themselves; run again on idle nodes, or give --profile",
			})
		}
	}
}

// `worst` returns the components of a ranking whose loss would be named with less noise: its links if `links`
// is true, otherwise all other components.
func worst(ranking []Ranked, links bool) []Component {
	bad := slice.Where(ranking, func(r Ranked) bool { return (r.Component.Part == Link) == links && r.Lost > share(leastLoss) })
	return slice.Map(bad, func(r Ranked) Component { return r.Component })
}

// groupsOfNodes compares the nodes by their xGMI links.
func (j *judgement) groupsOfNodes(v *Verdict) {
	if !j.links.known {
		return
	}
	var nodes []int
	var levels []float64
	for node, level := range j.links.node {
		if !math.IsNaN(level) && !named(v, Component{Part: Node, Node: node}) {
			nodes, levels = append(nodes, node), append(levels, level)
		}
	}
	slow, gap, ok := twoGroups(levels, j.links.levelError(), leastLoss)
	if !ok {
		return
	}
	sum := 0.0
	for i, level := range levels {
		if !slices.Contains(slow, i) {
			sum += level
		}
	}
	j.links.reference = sum / float64(len(levels)-len(slow)) // the mean of the faster group
	others := "the other"
	if n := len(nodes) - len(slow); n > 1 {
		others += fmt.Sprintf(" %d", n)
	}
	q := Question{
		What: fmt.Sprintf("two groups of nodes: the xGMI links of %d are %.0f %% slower than those of %s", len(slow), 100*share(gap), others),
		Lost: share(gap), All: true, Next: "give --profile with what good hardware gives, or measure these nodes with others",
	}
	for _, i := range slow {
		q.Candidates = append(q.Candidates, Component{Part: Node, Node: nodes[i]})
		if j.links.links() == 1 {
			q.Candidates = append(q.Candidates, Component{Part: Link, Node: nodes[i], B: 1}, Component{Part: GPU, Node: nodes[i]}, Component{Part: GPU, Node: nodes[i], A: 1})
		}
	}
	slices.SortFunc(q.Candidates, Component.compare)
	v.Questions = append(v.Questions, q)
}

// groupLimit returns, as a logarithm, the smallest common loss of all links of a node that is always named
// or asked about in spite of noise.
func (x *xgmi) groupLimit() float64 {
	if x.Nodes < 2 {
		return 0
	}
	return max(leastLoss, apart*x.levelError()) + surely*x.levelError()
}

// levelError returns the standard error of a node's level. The level is the median of the node's links, or
// of the passes over its only link.
func (x *xgmi) levelError() float64 {
	if x.links() > 1 {
		return 1.25 * x.sigma / math.Sqrt(float64(x.links()))
	}
	var off []float64
	passes := 1
	for cell, each := range x.each {
		passes = max(passes, len(each))
		for _, y := range each {
			off = append(off, y-x.raw[cell][0])
		}
	}
	return 1.25 * Deviation(off) / math.Sqrt(float64(passes))
}

// groupsOfMeetings compares the times of pairs of nodes on all rails together. A round of a small
// fleet has too few pairs to show a slow node by its own median.
func (j *judgement) groupsOfMeetings(v *Verdict) {
	levels := map[[2]int][]float64{}
	for _, t := range j.net.kindTimes.of {
		met := unordered(t.Pair.A.Node, t.Pair.B.Node)
		if !named(v, Component{Part: Node, Node: met[0]}) && !named(v, Component{Part: Node, Node: met[1]}) {
			levels[met] = append(levels[met], t.y+t.typical)
		}
	}
	if !j.net.known || len(levels) < 3 {
		return
	}
	meetings := slices.SortedFunc(maps.Keys(levels), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	values := slice.Map(meetings, func(m [2]int) float64 { return stat.Quantile(levels[m], 0.25) }) // the lower quartile is high only if most rails are slow
	slow, gap, ok := twoGroups(values, 0, leastMeeting)
	if !ok {
		return
	}
	q := Question{
		What: fmt.Sprintf("two groups of pairs of nodes: %d are %.0f %% slower on all rails than the other %d", len(slow), 100*share(gap), len(meetings)-len(slow)),
		Lost: share(gap), All: true, Next: "measure these nodes with others",
	}
	met, slowly := map[int]int{}, map[int]int{}
	for i, m := range meetings {
		for _, node := range m {
			met[node]++
			if slices.Contains(slow, i) {
				slowly[node]++
			}
		}
	}
	for _, node := range slices.Sorted(maps.Keys(met)) {
		if c := (Component{Part: Node, Node: node}); met[node] > 1 && slowly[node] == met[node] && !asked(v, c) {
			q.Candidates = append(q.Candidates, c)
		}
	}
	if len(q.Candidates) == 0 && len(meetings) == 3 { // with three nodes, each pair of nodes is timed in rounds of its own
		q.Candidates = slice.Map(slow, func(i int) Component { return Component{Part: Path, Node: meetings[i][0], Peer: meetings[i][1]} })
	}
	if len(q.Candidates) > 0 {
		v.Questions = append(v.Questions, q)
	}
}

// groupsOfNICs compares the NICs whose loss no finding or question explains.
func (j *judgement) groupsOfNICs(v *Verdict) {
	if !j.net.known {
		return
	}
	var places []Place
	var losses []float64
	for i, e := range j.net.ends.of {
		at := Place{i / j.Fleet.GPUs, i % j.Fleet.GPUs}
		if e.all > 0 && !explained(v, at) && !asked(v, Component{Part: Rail, Node: at.Node, A: at.GPU}) && !asked(v, Component{Part: Node, Node: at.Node}) {
			places, losses = append(places, at), append(losses, e.loss)
		}
	}
	slow, gap, ok := twoGroups(losses, j.net.se/2, leastLoss) // a NIC's loss comes from four transfers or more
	if !ok {
		return
	}
	candidates := slice.Map(slow, func(i int) Component { return Component{Part: Rail, Node: places[i].Node, A: places[i].GPU} })
	slices.SortFunc(candidates, Component.compare)
	v.Questions = append(v.Questions, Question{
		What: fmt.Sprintf("two groups of NICs: %d are %.0f %% slower than the other %d", len(slow), 100*share(gap), len(places)-len(slow)),
		Lost: share(gap), All: true, Next: "compare the ports, firmware and switches of both groups", Candidates: candidates,
	})
}

// `named` reports whether a finding names a component. `asked` reports whether the component is a question's
// candidate.
func named(v *Verdict, c Component) bool {
	return slices.ContainsFunc(v.Findings, func(f Slow) bool { return f.Component == c })
}

func asked(v *Verdict, c Component) bool {
	return slices.ContainsFunc(v.Questions, func(q Question) bool { return slices.Contains(q.Candidates, c) })
}
