package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/stat"
)

const (
	// apart is how many deviations within them the means of two groups differ. A split normal
	// sample gives 2.7, a uniform one 3.5.
	apart = 6
	// leastGroup is the share of the values that make a group: fewer are outliers.
	leastGroup = 0.05
	// leastMeeting is the least difference of the logarithms of meetings' times. Meetings in
	// different rounds are compared, which have rounds' own times in them.
	leastMeeting = 0.15
	// mostLimit is the logarithm of the loss from which a limit is too high for a verdict: what
	// has lost a third of its bandwidth must not be called well.
	mostLimit = 0.4
)

// twoGroups splits values so that least of their variance is within the groups. ok tells that
// the groups differ clearly: by more than least, and apart deviations. se is the deviation that
// values have at least. slow are the indices of the larger values.
func twoGroups(values []float64, se, least float64) (slow []int, gap float64, ok bool) {
	n := len(values)
	if n < 2 {
		return nil, 0, false
	}
	order := make([]int, n)
	total, squares := 0.0, 0.0
	for i, v := range values {
		order[i] = i
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
	deviation := max(se, (1+4/float64(n))*math.Sqrt(within/float64(max(n-2, 1)))) // few values lie close by chance
	small := float64(min(cut, n-cut))
	return order[cut:], gap, gap > least && gap > apart*deviation && small >= leastGroup*float64(n)
}

// level is the median, or that of the faster of two groups with a quarter of the values at
// least: half of a node's links are a slow GPU's where there are four. se is the error of each.
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

// groups asks where the fleet falls into groups that differ, none of which is named: then the
// median is no reference.
func (j *judgement) groups(v *Verdict) {
	j.groupsOfNodes(v)
	j.groupsOfMeetings(v)
	j.groupsOfNICs(v)
	for _, one := range []struct {
		known bool
		limit float64
		what  string
		part  Part
	}{{j.net.known, j.net.limit(), "NICs", Rail}, {j.links.known, j.links.limit(), "xGMI links", Link}} {
		if one.known && one.limit > mostLimit && !v.doubted() {
			v.Questions = append(v.Questions, Question{
				What: fmt.Sprintf("the %s differ so much that only a loss of %.0f %% would be named", one.what, 100*share(one.limit)), All: true,
				Candidates: worst(j.ranking(), one.part), Next: "look at these by themselves; run again on idle nodes, or give --profile",
			})
		}
	}
}

// worst are the components of a ranking that have lost what would be named in less noise.
func worst(ranking []Ranked, part Part) []Component {
	var out []Component
	for _, r := range ranking {
		if r.Component.Part == part && r.Lost > share(leastLoss) {
			out = append(out, r.Component)
		}
	}
	return out
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
	j.links.reference = fastMean(levels, slow)
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
			q.Candidates = append(q.Candidates, Component{Part: Link, Node: nodes[i], B: 1})
		}
	}
	sortComponents(q.Candidates)
	v.Questions = append(v.Questions, q)
}

// fastMean is the mean of the values that are not slow.
func fastMean(values []float64, slow []int) float64 {
	sum := 0.0
	for i, v := range values {
		if !slices.Contains(slow, i) {
			sum += v
		}
	}
	return sum / float64(len(values)-len(slow))
}

// groupLimit is the loss of all links of a node, as a logarithm, that is named or asked about
// whatever the noise.
func (x *xgmi) groupLimit() float64 {
	if x.Nodes < 2 {
		return 0
	}
	return max(leastLoss, apart*x.levelError()) + surely*x.levelError()
}

// levelError is the standard error of a node's level, a median of its links; of a single link
// that of its passes.
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
	return 1.25 * deviation(off) / math.Sqrt(float64(passes))
}

// groupsOfMeetings compares what pairs of nodes take, on all rails together. A round has too
// few pairs of a small fleet to tell a slow node by its own median.
func (j *judgement) groupsOfMeetings(v *Verdict) {
	levels := map[[2]int][]float64{}
	for _, t := range j.net.kindTimes.of {
		a, b := min(t.Pair.A.Node, t.Pair.B.Node), max(t.Pair.A.Node, t.Pair.B.Node)
		if !named(v, Component{Part: Node, Node: a}) && !named(v, Component{Part: Node, Node: b}) {
			levels[[2]int{a, b}] = append(levels[[2]int{a, b}], t.y+t.typical)
		}
	}
	if !j.net.known || len(levels) < 3 {
		return
	}
	meetings := slices.SortedFunc(maps.Keys(levels), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	values := make([]float64, len(meetings))
	for i, m := range meetings {
		values[i] = stat.Quantile(levels[m], 0.25) // on all rails, not on half of them
	}
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
	if len(q.Candidates) == 0 && len(meetings) == 3 { // each in rounds of its own
		for _, i := range slow {
			q.Candidates = append(q.Candidates, Component{Part: Path, Node: meetings[i][0], Peer: meetings[i][1]})
		}
	}
	if len(q.Candidates) > 0 {
		v.Questions = append(v.Questions, q)
	}
}

// groupsOfNICs compares the NICs that nothing explains.
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
	slow, gap, ok := twoGroups(losses, j.net.se/2, leastLoss) // of four transfers or more
	if !ok {
		return
	}
	q := Question{
		What: fmt.Sprintf("two groups of NICs: %d are %.0f %% slower than the other %d", len(slow), 100*share(gap), len(places)-len(slow)),
		Lost: share(gap), All: true, Next: "compare the ports, firmware and switches of both groups",
	}
	for _, i := range slow {
		q.Candidates = append(q.Candidates, Component{Part: Rail, Node: places[i].Node, A: places[i].GPU})
	}
	sortComponents(q.Candidates)
	v.Questions = append(v.Questions, q)
}

func sortComponents(of []Component) {
	slices.SortFunc(of, func(a, b Component) int {
		return slices.Compare([]int{a.Node, a.A, a.B}, []int{b.Node, b.A, b.B})
	})
}

// named tells whether a finding is of a component, asked whether it is a candidate.
func named(v *Verdict, c Component) bool {
	return slices.ContainsFunc(v.Findings, func(f Slow) bool { return f.Component == c })
}

func asked(v *Verdict, c Component) bool {
	return slices.ContainsFunc(v.Questions, func(q Question) bool { return slices.Contains(q.Candidates, c) })
}
