package rails

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
)

// Part is the kind of a component.
type Part string

// The kinds of components.
const (
	Link Part = "xgmi_link"
	GPU  Part = "gpu"
	Rail Part = "rail"
	Node Part = "node"
	Leaf Part = "leaf"
	// Path is the connection of two nodes without any component of either.
	Path Part = "path"
)

// Parts returns all kinds of components, with Rank.
func Parts() []Part { return []Part{Link, GPU, Rail, Node, Leaf, Path, Rank} }

// Component is one thing that can be slow. Fields that do not apply to its kind are 0.
type Component struct {
	Part Part
	// Node is the node of a link, GPU, rail, node or path. Peer is the other node of a path.
	Node int
	Peer int
	// A is the GPU, the rail, or a link's first GPU. B is a link's second GPU, or a leaf's number: −1 for
	// all leaves of a rail.
	A int
	B int
}

// compare orders components by place, whatever their kind.
func (c Component) compare(o Component) int {
	return cmp.Or(cmp.Compare(c.Node, o.Node), cmp.Compare(c.A, o.A), cmp.Compare(c.B, o.B))
}

// Slow is a slow component.
type Slow struct {
	Component Component
	// Lost is the lost share of the component's bandwidth, 0 to 1. For an intermittent fault it is the
	// share lost while the fault lasts.
	Lost float64
	// Intermittent is true for a fault that comes and goes.
	Intermittent bool
	// Confidence estimates the probability that this component, not its partners, is slow, from the
	// number of transfers that agree: 0 to 1.
	Confidence float64
	// Reasons are sentences for people.
	Reasons []string
	// Nodes are the nodes of a leaf.
	Nodes []int
}

// Question describes what the data cannot decide.
type Question struct {
	// What states the observation. Candidates are the components that may explain it.
	What       string
	Candidates []Component
	// Lost is the lost share of bandwidth, 0 to 1.
	Lost float64
	// Next is the step that would decide the question.
	Next string
	// All is true if the reference is in doubt: no node is known to be healthy.
	All bool
	// ring is true for a rail that is slow only in its ring.
	ring bool
	// `undecided` is true for a question that replaces a finding.
	undecided bool
	// `partly` is true for ends that are slow with some of their partners.
	partly bool
}

// Levels returns the words for a confidence, the highest first.
func Levels() []string { return []string{"high", "medium", "low"} }

// Verdict is the result for a fleet.
type Verdict struct {
	State finding.State
	// Findings are named components, the worst first. Questions are observations whose cause is not
	// certain.
	Findings  []Slow
	Questions []Question
	// Unchecked lists the parts that were not judged, with reasons.
	Unchecked []string
	// Cleared holds the components that stood out and are not named.
	Cleared []Cleared
	// Reference describes the values for comparison.
	Reference string
	// profiled is true if times were compared with a profile.
	profiled bool
	// NetworkLimit is the smallest loss of NICs or given ends that would be named, as a share of the
	// bandwidth, 0 to 1. LinkLimit is the same for links or given pairs. 0 means not judged.
	NetworkLimit float64
	LinkLimit    float64
	// Ranking lists every NIC and link, or every given end, or every rank, with its loss, the worst first.
	Ranking []Ranked
	// Compared holds the figures that the gate checks before an OK.
	Compared []finding.Compared[Component]
	// rivals returns the components that may be slow instead of c if c seems to have this loss, a
	// logarithm; nil if unknown.
	rivals func(c Component, loss float64) []Component
}

// Cleared is a component that the times suspected, with the reason why it is not named.
type Cleared struct {
	Component Component
	Why       string
}

// Ranked is a component with its loss.
type Ranked struct {
	Component Component
	// Lost is the lost share of the component's bandwidth, 0 to 1. For a rank it is the share of the time
	// that other ranks wait.
	Lost float64
	// All counts the transfers with healthy partners. Slow counts the slow transfers with healthy partners.
	Slow, All int
}

// loss returns the logarithm of the slowdown.
func (f Slow) loss() float64 { return -math.Log(max(1-f.Lost, 1e-9)) }

// share converts a loss in logarithms into a share of bandwidth.
func share(loss float64) float64 { return max(0, 1-math.Exp(-loss)) }

// finish asks about the parts that the gate doubts, sorts the findings, and sets the state.
func (v *Verdict) finish() {
	at := v.standing()
	doubts, checked := finding.Gate(v.Compared, func(c Component) bool { return at[c.Node] > passes || v.ofLeaf(c) })
	if len(doubts) > 0 {
		v.Questions = append(v.Questions, v.behind(doubts))
	}
	slices.SortStableFunc(v.Findings, func(a, b Slow) int {
		return cmp.Or(less(a.Intermittent, b.Intermittent), cmp.Compare(b.Lost, a.Lost))
	})
	v.State = finding.Settle(len(v.Findings) > 0, len(v.Questions) > 0, checked || v.profiled).OfNodes()
}

// `behind` returns the question about parts that are slower than their peers although no detector explains
// it.
func (v *Verdict) behind(doubts []finding.Compared[Component]) Question {
	q := Question{Next: "run again with --rounds 20; look at these by themselves"}
	var says []string
	for _, d := range doubts {
		lost := slice.Most(d.Figures, func(f finding.Figure[Component]) float64 { return f.Lost })
		says = append(says, fmt.Sprintf("%d of the %s by up to %s", len(d.Figures), d.Class, Percent(lost)))
		q.Lost = max(q.Lost, lost)
		for _, f := range d.Figures {
			if q.Candidates = append(q.Candidates, f.Subject); v.rivals != nil {
				q.Candidates = append(q.Candidates, v.rivals(f.Subject, Slow{Lost: f.Lost}.loss())...)
			}
		}
	}
	q.What = "behind their peers, and no finding explains it: " + strings.Join(says, ", ")
	q.Candidates = slice.Distinct(q.Candidates)
	return q
}

// The standings of a node: it passes, it is a candidate, or it fails.
const (
	passes = iota
	unclear
	fails
)

// standing returns each node's standing after the findings and questions; a node without a finding or
// question passes.
func (v *Verdict) standing() map[int]int {
	at := map[int]int{}
	for _, q := range v.Questions {
		for _, c := range q.Candidates {
			if c.Part == Leaf {
				continue // a leaf makes no single node a candidate
			}
			at[c.Node] = unclear
			if c.Part == Path {
				at[c.Peer] = unclear
			}
		}
	}
	for _, f := range v.Findings {
		switch c := f.Component; c.Part {
		case Path: // both nodes are healthy with other partners
			at[c.Node], at[c.Peer] = max(at[c.Node], unclear), max(at[c.Peer], unclear)
		case Leaf:
			if c.B < 0 {
				continue // every node is behind the rail's switches, so a job cannot avoid them
			}
			for _, node := range f.Nodes {
				at[node] = fails
			}
		default:
			at[c.Node] = fails
		}
	}
	return at
}

// ofLeaf reports whether a named or candidate leaf switch explains a NIC.
func (v *Verdict) ofLeaf(c Component) bool {
	is := func(leaf Component) bool { return leaf.Part == Leaf && c.Part == Rail && leaf.A == c.A }
	return slices.ContainsFunc(v.Findings, func(f Slow) bool { return is(f.Component) }) ||
		slices.ContainsFunc(v.Questions, func(q Question) bool { return len(q.Candidates) == 1 && is(q.Candidates[0]) })
}

// `doubted` reports whether the reference is in doubt.
func (v *Verdict) doubted() bool {
	return slices.ContainsFunc(v.Questions, func(q Question) bool { return q.All })
}

// Replace sets findings and questions that other sources decided.
func (v *Verdict) Replace(findings []Slow, questions []Question) {
	v.Findings, v.Questions = findings, questions
	v.finish()
}

// Interrupted notes that the plan did not finish, and why. A component that was not found slow by
// then is not known to be healthy.
func (v *Verdict) Interrupted(why string) {
	v.Unchecked = append(v.Unchecked, why)
	if v.State == finding.Healthy {
		v.State = finding.NotChecked
	}
}

// Exactly reports whether the verdict names only these components.
func (v *Verdict) Exactly(want ...Component) bool {
	other := func(f Slow) bool { return !slices.Contains(want, f.Component) }
	return len(v.Questions) == 0 && len(v.Findings) == len(want) && !slices.ContainsFunc(v.Findings, other)
}

// confidence returns a confidence by Laplace's rule of succession.
func confidence(agree, of int) float64 { return float64(agree+1) / float64(of+2) }

// Level returns a confidence as a word.
func Level(confidence float64) string {
	switch {
	case confidence >= 0.8:
		return "high"
	case confidence >= 0.6:
		return "medium"
	}
	return "low"
}
