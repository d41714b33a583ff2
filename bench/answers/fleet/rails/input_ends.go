package rails

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"zbench/bench/base/slice"
)

// Ends describes the rows and columns of a matrix.
type Ends struct {
	// Names are the ends' names as given. Nodes are the nodes' names.
	Names, Nodes []string
	// At holds the node and GPU of each end; the GPU is −1 if ends are nodes.
	At []Place
}

// Value is one bandwidth of a matrix.
type Value struct {
	// From and To are indices of ends.
	From, To int
	// Rate is in bytes per second, above 0.
	Rate float64
}

// Matrix holds bandwidths of pairs that another tool measured, usually one value per pair. Pairs may be
// missing.
type Matrix struct {
	Ends
	Values []Value
}

const (
	// pairSigmas is the number of robust standard deviations by which a pair must be slower than its ends
	// explain. pairLoss is the least such difference, as a logarithm.
	pairSigmas = 6
	pairLoss   = 0.1
	// With manyValues values or more, the share lonePart of them may be slow by themselves without a
	// question, because single samples are sometimes slow.
	manyValues = 200
	lonePart   = 0.02
)

// Data turns a matrix into two rounds: its pairs between nodes, and its pairs within nodes.
func (m *Matrix) Data() Data {
	gpus := slice.Most(m.At, func(p Place) int { return p.GPU + 1 })
	d := Data{Fleet: Fleet{Nodes: len(m.Nodes), GPUs: gpus}, Given: true, Whole: gpus}
	if slices.ContainsFunc(m.At, func(p Place) bool { return p.GPU < 0 }) {
		d.Fleet.GPUs++
	}
	at := func(end int) Place {
		p := m.At[end]
		if p.GPU < 0 {
			p.GPU = d.Whole
		}
		return p
	}
	seconds := slice.Map(m.Values, func(v Value) float64 { return 1 / v.Rate }) // seconds per byte
	for i, v := range m.Values {
		t := Timing{Pair: Pair{at(v.From), at(v.To)}, Seconds: seconds[i : i+1 : i+1]}
		if m.within(v) {
			t.Round, t.Kind = 1, XGMI
		}
		d.Timings = append(d.Timings, t)
	}
	return d
}

// `within` reports whether a pair is within a node.
func (m *Matrix) within(v Value) bool {
	return m.At[v.From].GPU >= 0 && m.At[v.From].Node == m.At[v.To].Node
}

// `typical` returns the median rates between nodes and within nodes.
func (m *Matrix) typical() map[bool]float64 {
	rates := map[bool][]float64{}
	for _, v := range m.Values {
		rates[m.within(v)] = append(rates[m.within(v)], v.Rate)
	}
	return map[bool]float64{false: median(rates[false]), true: median(rates[true])}
}

// bothWays reports whether at least half of the pairs have both directions.
func (d Data) bothWays() bool {
	seen := map[Pair]bool{}
	for _, t := range d.Timings {
		seen[t.Pair] = true
	}
	both := 0
	for p := range seen {
		if seen[Pair{p.B, p.A}] {
			both++
		}
	}
	return 2*both >= len(seen)
}

// Losses returns the share of bandwidth that each pair lost, by from and to, against the median of its
// kind; NaN if there is no value. If a pair has several values, their median counts.
func (m *Matrix) Losses() [][]float64 {
	typical := m.typical()
	values := map[[2]int][]float64{}
	for _, v := range m.Values {
		at := [2]int{v.From, v.To}
		values[at] = append(values[at], 1-v.Rate/typical[m.within(v)])
	}
	out := make([][]float64, len(m.Names))
	for from := range out {
		out[from] = make([]float64, len(m.Names))
		for to := range out[from] {
			out[from][to] = median(values[[2]int{from, to}])
		}
	}
	return out
}

// referencesOfGiven sets the reference of given pairs, or notes that there are too few pairs.
func (j *judgement) referencesOfGiven(v *Verdict) {
	if !j.net.known {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("%d values of %d ends make no reference: which end is slow needs at least %d values of 3 ends", len(j.net.edges), j.net.timed, minReference))
		j.few(v)
		return
	}
	v.Reference = "the matrix's median"
	residues, pair := j.beyond()
	noise := Deviation(residues) // a slow end may look better by this much
	v.NetworkLimit, v.LinkLimit = share(j.net.surely()+noise), share(pair+surely*noise)
}

// `lone` is a pair that is slower than its ends explain.
type lone struct {
	Component
	loss float64
	// `values` counts the pair's values. `slow` counts the slow values of the pair.
	slow, values int
	ends         Pair
}

// pairs names slow pairs whose two ends are healthy.
func (j *judgement) pairs(v *Verdict) {
	all, values := j.lonePairs(), len(j.net.edges)
	switch {
	case len(all) > fewRounds && values >= manyValues && float64(len(all)) <= lonePart*float64(values):
		v.Unchecked, v.LinkLimit = append(v.Unchecked, fmt.Sprintf("single pairs: %d of %d values are slow by themselves; measure these pairs again", len(all), values)), 0
		return
	case len(all) > fewRounds:
		v.Questions = append(v.Questions, j.manyPairs(all))
		return
	}
	for _, p := range all {
		f := Slow{Component: p.Component, Lost: share(p.loss), Confidence: 0.6 + 0.1*float64(min(p.slow, 3)-1)}
		f.Reasons = []string{fmt.Sprintf("slow in %d of %d values; neither end is slow in its other pairs", p.slow, p.values)}
		if p.values == 1 {
			f.Reasons = append(f.Reasons, "one value: measure the pair again")
		}
		v.Findings = append(v.Findings, f)
	}
}

// manyPairs returns the question about more lone slow pairs than chance explains. Ends that several of
// these pairs share are candidates, too.
func (j *judgement) manyPairs(all []lone) Question {
	q := Question{Next: "measure these pairs again"}
	shared := map[Component]int{}
	for _, p := range all {
		shared[j.end(p.ends.A)]++
		shared[j.end(p.ends.B)]++
		q.Lost = max(q.Lost, share(p.loss))
	}
	for c, n := range shared {
		if n > 1 {
			q.Candidates = append(q.Candidates, c)
		}
	}
	slices.SortFunc(q.Candidates, func(a, b Component) int { return cmp.Or(cmp.Compare(shared[b], shared[a]), a.compare(b)) })
	q.What = fmt.Sprintf("%d pairs are slow beyond what their ends lose in other pairs; they share no end", len(all))
	if n := len(q.Candidates); n > 0 {
		q.What = fmt.Sprintf("%d pairs are slow beyond what their ends lose in other pairs; %d ends are in several of them, one in %d", len(all), n, shared[q.Candidates[0]])
	}
	q.Candidates = append(q.Candidates, slice.Map(all, func(p lone) Component { return p.Component })...)
	return q
}

// `beyond` returns the loss of each pair beyond the loss of its ends, and the limit from which a pair is slow
// by itself.
func (j *judgement) beyond() (residues []float64, limit float64) {
	ends := j.net.ends.of
	residues = slice.Map(j.net.edges, func(e edge) float64 { return e.y - max(ends[e.a].loss, ends[e.b].loss) })
	return residues, max(pairLoss, pairSigmas*Deviation(residues))
}

// lonePairs returns the pairs that are slow by themselves, the worst first.
func (j *judgement) lonePairs() []lone {
	residues, limit := j.beyond()
	middle := median(residues)
	var out []lone
	for i, e := range j.net.edges {
		// An end whose only partner is in a slow pair takes over the pair's loss. The pair of two slow ends
		// may be slower than either end.
		if residues[i]-middle <= limit || j.net.slow(e.a) && j.net.slow(e.b) {
			continue
		}
		p := j.net.kindTimes.of[i].Pair
		c := j.pair(p)
		if k := slices.IndexFunc(out, func(l lone) bool { return l.Component == c }); k >= 0 {
			out[k].slow, out[k].loss = out[k].slow+1, max(out[k].loss, residues[i])
			continue
		}
		out = append(out, lone{c, residues[i], 1, 0, p})
	}
	for _, t := range j.net.kindTimes.of {
		if k := slices.IndexFunc(out, func(l lone) bool { return l.Component == j.pair(t.Pair) }); k >= 0 {
			out[k].values++
		}
	}
	slices.SortStableFunc(out, func(a, b lone) int { return cmp.Compare(b.loss, a.loss) })
	return out
}

// pair returns two ends as a component: a link within a node, or a path between nodes. Peer is the node of
// the other end. A and B are the GPUs.
func (j *judgement) pair(p Pair) Component {
	if j.net.at(p.A) > j.net.at(p.B) {
		p.A, p.B = p.B, p.A
	}
	a, b := j.end(p.A), j.end(p.B)
	if a.Node == b.Node && a.Part == GPU && b.Part == GPU {
		return Component{Part: Link, Node: a.Node, A: a.A, B: b.A}
	}
	return Component{Part: Path, Node: a.Node, Peer: b.Node, A: a.A, B: b.A}
}

// mode holds the pairs of a kind whose values fall into two groups.
type mode struct {
	// fast and slow hold the indices of each group's values.
	fast, slow []int
	gap        float64
}

// The limit of a single pair may exceed mostLimit by mostPair. An end has many pairs, but a pair may have
// one value, and values that scatter by 13 % are still noise.
const mostPair = 0.4

// modes finds the kinds of pairs, within and between nodes, whose values fall into two groups. Explained
// pairs are left out.
func (j *judgement) modes(explained func(Pair) bool) []mode {
	var out []mode
	for _, kind := range []Kind{Network, XGMI} {
		var of []int
		var ys []float64
		for i, t := range j.net.kindTimes.of {
			if t.Kind == kind && !explained(t.Pair) {
				of, ys = append(of, i), append(ys, t.y)
			}
		}
		slow, gap, ok := twoGroups(ys, 0, leastLoss)
		if least := max(2, len(ys)/10); !ok || len(ys) < minReference || len(slow) < least || len(ys)-len(slow) < least {
			continue // the function `pairs` names a few slow values one by one
		}
		m := mode{gap: gap, slow: slice.Map(slow, func(i int) int { return of[i] })}
		slices.Sort(m.slow)
		m.fast = slices.DeleteFunc(of, func(value int) bool {
			_, is := slices.BinarySearch(m.slow, value)
			return is
		})
		out = append(out, m)
	}
	return out
}

// `says` describes both groups by their median rates.
func (j *judgement) says(m mode) string {
	rate := func(of []int) float64 {
		return 1e-9 / median(slice.Map(of, func(i int) float64 { return j.net.kindTimes.of[i].Seconds[0] }))
	}
	return fmt.Sprintf("two groups of values: %d about %.3g GB/s and %d about %.3g GB/s", len(m.fast), rate(m.fast), len(m.slow), rate(m.slow))
}

// `sets` joins the ends of fast pairs into sets. It returns the number of each end's set, and the size of
// each set.
func (j *judgement) sets(m mode) (of, size []int) {
	of, size = make([]int, j.Fleet.Nodes*j.Fleet.GPUs), make([]int, j.Fleet.Nodes*j.Fleet.GPUs)
	for end := range of {
		of[end] = end
	}
	find := func(end int) int {
		for of[end] != end {
			of[end] = of[of[end]]
			end = of[end]
		}
		return end
	}
	for _, i := range m.fast {
		p := j.net.kindTimes.of[i].Pair
		of[find(j.net.at(p.A))] = find(j.net.at(p.B))
	}
	for end := range of {
		of[end] = find(end)
		size[of[end]]++
	}
	return of, size
}

// `between` asks about sets of ends if pairs are fast within a set and slow between sets. The connection
// between the sets is then slow, not an end. It reports whether it asked.
func (j *judgement) between(v *Verdict) bool {
	for _, m := range j.modes(func(Pair) bool { return false }) {
		of, size := j.sets(m)
		across := 0
		for _, i := range m.slow {
			p := j.net.kindTimes.of[i].Pair
			a, b := of[j.net.at(p.A)], of[j.net.at(p.B)]
			if a != b && size[a] > 1 && size[b] > 1 {
				across++
			}
		}
		if float64(across) < most*float64(len(m.slow)) {
			continue
		}
		several := slice.Count(size, func(n int) bool { return n > 1 })
		v.Questions = append(v.Questions, Question{
			What: fmt.Sprintf("%s; the fast ones join the ends to %d sets, the slow ones are between the sets", j.says(m), several),
			Lost: share(m.gap), All: true, Candidates: j.endsOf(m.slow), Next: "look at what joins the sets: spine switches, a partition, a setting that differs",
		})
		return true
	}
	return false
}

// groupsOfValues asks about values in two groups that no end and no pair explains.
func (j *judgement) groupsOfValues(v *Verdict) {
	for _, m := range j.modes(func(p Pair) bool {
		return slices.ContainsFunc(v.Findings, func(f Slow) bool {
			c := f.Component
			return c == j.pair(p) || c == j.end(p.A) || c == j.end(p.B) || c.Part == Node && (c.Node == p.A.Node || c.Node == p.B.Node)
		})
	}) {
		v.Questions = append(v.Questions, Question{
			What: j.says(m) + "; no end explains them", Lost: share(m.gap), All: true, Candidates: j.endsOf(m.slow),
			Next: "compare the settings of both groups; measure the pairs again",
		})
	}
}

// endsOf returns the ends of values as components, the most frequent first.
func (j *judgement) endsOf(values []int) []Component {
	count := map[Component]int{}
	for _, i := range values {
		p := j.net.kindTimes.of[i].Pair
		count[j.end(p.A)]++
		count[j.end(p.B)]++
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b Component) int { return cmp.Or(count[b]-count[a], a.compare(b)) })
}
