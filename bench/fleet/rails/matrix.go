package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/slice"
)

// Ends are what the rows and columns of a matrix are.
type Ends struct {
	// Names are the ends' names as given. Nodes are those of the nodes.
	Names, Nodes []string
	// At is the node of each end, and its GPU; the GPU is −1 where ends are nodes.
	At []Place
}

// Value is one bandwidth of a matrix.
type Value struct {
	// From and To are ends.
	From, To int
	// Rate is in bytes per second, above 0.
	Rate float64
}

// Matrix is bandwidths of pairs from elsewhere, most often one value a pair. Pairs may
// be missing.
type Matrix struct {
	Ends
	Values []Value
}

const (
	// pairSigmas is how many robust standard deviations a pair must be slower than its
	// ends explain, pairLoss the least logarithm of that.
	pairSigmas = 6
	pairLoss   = 0.1
	// manyValues is the number of values from which lonePart of them may be slow by
	// themselves without a question: single samples are sometimes slow.
	manyValues = 200
	lonePart   = 0.02
)

// JudgeMatrix decides which end of the pairs is slow, or which pair. It compares pairs
// within nodes and pairs between nodes each with their own median.
func JudgeMatrix(m *Matrix) *Verdict {
	j := newMatrixed(m)
	v := &Verdict{}
	if len(m.Values) < minReference || len(m.Names) < 3 {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("%d values of %d ends make no reference: which end is slow needs at least %d values of 3 ends", len(m.Values), len(m.Names), minReference))
		v.finish()
		return v
	}
	v.Reference = "the matrix's median"
	few := 1 + 4/float64(len(m.Names)) // the deviation of few ends is uncertain itself
	limit := max(leastLoss, sigmas*j.est.sigma*few) + surely*j.est.sigma*few
	residues, _ := j.beyond()
	v.NetworkLimit = share(limit + Deviation(residues)) // by so much a slow end may look better
	v.Ranking = j.ranking()
	if !j.between(v) {
		j.ends(v)
		j.hidden(v)
		j.pairs(v)
		j.groups(v)
	}
	j.compared(v, share(limit))
	v.finish()
	return v
}

// compared hands the gate the best rate of each end within nodes and between them: one fast pair clears
// both ends. Of two directions each has its own.
func (j *matrixed) compared(v *Verdict, limit float64) {
	for _, within := range []bool{false, true} {
		senders, receivers := parts{}, parts{}
		if !j.directed {
			receivers = senders
		}
		for i, value := range j.Values {
			if j.within(value) == within {
				senders.add(j.component(value.From), j.edges[i].y)
				receivers.add(j.component(value.To), j.edges[i].y)
			}
		}
		for _, of := range []parts{senders, receivers} {
			if len(of) > 0 {
				v.Compared = append(v.Compared, of.compared("ends of pairs", limit, slices.Min))
			}
		}
	}
}

// matrixed is a matrix with what its values say of its ends. Where most pairs have both directions
// (directed), each end counts as two: place i of the estimates is end i as a sender, place n + i the same
// end as a receiver.
type matrixed struct {
	*Matrix
	directed bool
	edges    []edge
	est      ends
}

func newMatrixed(m *Matrix) *matrixed {
	j := &matrixed{Matrix: m, directed: m.bothWays()}
	typical := m.typical()
	n := len(m.Names)
	for _, v := range m.Values {
		e := edge{v.From, v.To, math.Log(typical[m.within(v)] / v.Rate)}
		if j.directed {
			e.b += n
		}
		j.edges = append(j.edges, e)
	}
	if j.directed {
		n *= 2
	}
	j.est = solve(n, j.edges)
	return j
}

// within tells a pair within a node from one between nodes.
func (m *Matrix) within(v Value) bool {
	return m.At[v.From].GPU >= 0 && m.At[v.From].Node == m.At[v.To].Node
}

// typical are the median rates between nodes and within nodes.
func (m *Matrix) typical() map[bool]float64 {
	rates := map[bool][]float64{}
	for _, v := range m.Values {
		rates[m.within(v)] = append(rates[m.within(v)], v.Rate)
	}
	return map[bool]float64{false: median(rates[false]), true: median(rates[true])}
}

// bothWays tells whether at least half of the pairs have both directions.
func (m *Matrix) bothWays() bool {
	seen := map[[2]int]bool{}
	for _, v := range m.Values {
		seen[[2]int{v.From, v.To}] = true
	}
	both := 0
	for p := range seen {
		if seen[[2]int{p[1], p[0]}] {
			both++
		}
	}
	return 2*both >= len(seen)
}

// component is an end as a component.
func (m *Matrix) component(end int) Component {
	at := m.At[end]
	if at.GPU < 0 {
		return Component{Part: Node, Node: at.Node}
	}
	return Component{Part: GPU, Node: at.Node, A: at.GPU}
}

// sides are the places of an end in the estimates: one, or sending and receiving.
func (j *matrixed) sides(end int) []int {
	if j.directed {
		return []int{end, end + len(j.Names)}
	}
	return []int{end}
}

// ends names the slow ends. All GPUs of a node together are the node.
func (j *matrixed) ends(v *Verdict) {
	var found []Slow
	partly := Question{Next: "measure these pairs again"}
	for end := range j.Names {
		f := Slow{Component: j.component(end)}
		var slow []string
		for i, at := range j.sides(end) {
			if e := j.est.of[at]; j.est.sure(at) {
				f.Lost = max(f.Lost, share(e.loss))
				f.agree, f.clear = f.agree+e.agree, f.clear+e.clear
				slow = append(slow, []string{"sending", "receiving"}[i])
			}
		}
		if len(slow) == 0 {
			continue
		}
		f.Confidence = confidence(f.agree, f.clear)
		reason := fmt.Sprintf("slow in %d of %d pairs whose other end is not slow", f.agree, f.clear)
		if j.directed && len(slow) == 1 {
			reason += ", only " + slow[0]
		}
		f.Reasons = []string{reason}
		if float64(f.agree) < most*float64(f.clear) { // a fast pair clears both ends
			partly.What, partly.Lost = reason, max(partly.Lost, f.Lost)
			partly.Candidates = append(partly.Candidates, f.Component)
			continue
		}
		found = append(found, f)
	}
	v.Findings = append(v.Findings, j.merged(found)...)
	if n := len(partly.Candidates); n > 0 {
		if n > 1 {
			partly.What = fmt.Sprintf("%d ends are slow in some of their pairs and fast in others", n)
		}
		v.Questions = append(v.Questions, partly)
	}
}

// ranking is all ends, the worst first; of two directions the slower.
func (j *matrixed) ranking() []Ranked {
	var out []Ranked
	for end := range j.Names {
		r := Ranked{Component: j.component(end)}
		timed := false
		for _, at := range j.sides(end) {
			if e := j.est.of[at]; e.all > 0 {
				r.Lost, r.Slow, r.All = max(r.Lost, share(e.loss)), r.Slow+e.agree, r.All+e.clear
				timed = true
			}
		}
		if timed {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Ranked) int { return cmp.Compare(b.Lost, a.Lost) })
	return out
}

// Losses are the share of bandwidth that each pair has lost, by from and to, compared with
// the median of its kind; NaN where there is no value. Of several values it is the median.
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

// merged turns the findings of most GPUs of a node into one of the node.
func (j *matrixed) merged(found []Slow) []Slow {
	gpus, slow := map[int]int{}, map[int]int{}
	for _, at := range j.At {
		if at.GPU >= 0 {
			gpus[at.Node]++
		}
	}
	for _, f := range found {
		if f.Component.Part == GPU {
			slow[f.Component.Node]++
		}
	}
	var out []Slow
	for _, f := range found {
		node := f.Component.Node
		if f.Component.Part != GPU || len(j.Nodes) < 2 || slow[node] < 2 || float64(slow[node]) < most*float64(gpus[node]) {
			out = append(out, f)
			continue
		}
		whole := Component{Part: Node, Node: node}
		i := slices.IndexFunc(out, func(o Slow) bool { return o.Component == whole })
		if i < 0 {
			f.Component, f.Reasons = whole, []string{fmt.Sprintf("%d of its %d GPUs are slow", slow[node], gpus[node])}
			out = append(out, f)
			continue
		}
		out[i].Lost = max(out[i].Lost, f.Lost)
		out[i].agree, out[i].clear = out[i].agree+f.agree, out[i].clear+f.clear
		out[i].Confidence = confidence(out[i].agree, out[i].clear)
	}
	return out
}

// hidden asks about ends that have values with slow ones alone.
func (j *matrixed) hidden(v *Verdict) {
	q := Question{What: "slow pairs whose ends have no other partner that is not slow", Next: "measure each of them with others"}
	for end := range j.Names {
		for _, at := range j.sides(end) {
			if j.est.slow(at) && j.est.of[at].clear == 0 && !slices.Contains(q.Candidates, j.component(end)) {
				q.Candidates = append(q.Candidates, j.component(end))
				q.Lost = max(q.Lost, share(j.est.of[at].loss))
			}
		}
	}
	if len(q.Candidates) > 0 {
		v.Questions = append(v.Questions, q)
	}
}

// lone is a pair that is slower than its ends explain.
type lone struct {
	Component
	loss float64
	// slow of its values are slow.
	slow, values int
	ends         [2]int
}

// pairs names pairs that are slow though both ends are not.
func (j *matrixed) pairs(v *Verdict) {
	all := j.lone()
	switch {
	case len(all) > fewRounds && len(j.Values) >= manyValues && float64(len(all)) <= lonePart*float64(len(j.Values)):
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("single pairs: %d of %d values are slow by themselves; measure these pairs again", len(all), len(j.Values)))
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

// manyPairs is the question about more pairs than chance makes slow by themselves. Ends that
// several of them share are candidates, too.
func (j *matrixed) manyPairs(all []lone) Question {
	q := Question{Next: "measure these pairs again"}
	shared := map[Component]int{}
	for _, p := range all {
		for _, end := range p.ends {
			shared[j.component(end)]++
		}
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

// beyond is what each pair has lost beyond its ends, and the loss from which a pair is slow by
// itself.
func (j *matrixed) beyond() (residues []float64, limit float64) {
	residues = slice.Map(j.edges, func(e edge) float64 { return e.y - max(j.est.of[e.a].loss, j.est.of[e.b].loss) })
	return residues, max(pairLoss, pairSigmas*Deviation(residues))
}

// lone are the pairs that are slow by themselves, the worst first.
func (j *matrixed) lone() []lone {
	residues, limit := j.beyond()
	middle := median(residues)
	var out []lone
	for i, v := range j.Values {
		// An end that shares a slow pair with its only partner takes its loss over.
		// The pair of two slow ends may be slower than either.
		if residues[i]-middle <= limit || j.est.slow(j.edges[i].a) && j.est.slow(j.edges[i].b) {
			continue
		}
		c := j.pair(v)
		if k := slices.IndexFunc(out, func(l lone) bool { return l.Component == c }); k >= 0 {
			out[k].slow, out[k].loss = out[k].slow+1, max(out[k].loss, residues[i])
			continue
		}
		out = append(out, lone{c, residues[i], 1, 0, [2]int{v.From, v.To}})
	}
	for _, v := range j.Values {
		if k := slices.IndexFunc(out, func(l lone) bool { return l.Component == j.pair(v) }); k >= 0 {
			out[k].values++
		}
	}
	slices.SortStableFunc(out, func(a, b lone) int { return cmp.Compare(b.loss, a.loss) })
	return out
}

// pair is two ends as a component: a link within a node, a path between nodes. Peer is
// the other end's node, A and B are the GPUs.
func (m *Matrix) pair(v Value) Component {
	a, b := m.At[min(v.From, v.To)], m.At[max(v.From, v.To)]
	if m.within(v) {
		return Component{Part: Link, Node: a.Node, A: min(a.GPU, b.GPU), B: max(a.GPU, b.GPU)}
	}
	return Component{Part: Path, Node: a.Node, Peer: b.Node, A: max(a.GPU, 0), B: max(b.GPU, 0)}
}

// mode is the pairs of a kind whose values fall into two groups.
type mode struct {
	// fast and slow are the values of both groups.
	fast, slow []int
	gap        float64
}

// mostPair is by how much more the limit of a single pair may be than that of an end, which has
// many pairs: values that scatter by 13 % are noise still.
const mostPair = 0.4

// modes finds the kinds of pairs, within and between nodes, whose values fall into two groups;
// explained ones are left out.
func (j *matrixed) modes(explained func(value int) bool) []mode {
	var out []mode
	for _, within := range []bool{false, true} {
		var of []int
		var ys []float64
		for i, v := range j.Values {
			if j.within(v) == within && !explained(i) {
				of, ys = append(of, i), append(ys, j.edges[i].y)
			}
		}
		slow, gap, ok := twoGroups(ys, 0, leastLoss)
		if least := max(2, len(ys)/10); !ok || len(ys) < minReference || len(slow) < least || len(ys)-len(slow) < least {
			continue // single values are pairs of their own
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

// says states both groups by their median rates.
func (j *matrixed) says(m mode) string {
	rate := func(of []int) float64 {
		return median(slice.Map(of, func(i int) float64 { return j.Values[i].Rate / 1e9 }))
	}
	return fmt.Sprintf("two groups of values: %d about %.3g GB/s and %d about %.3g GB/s", len(m.fast), rate(m.fast), len(m.slow), rate(m.slow))
}

// sets are the ends that fast pairs of a mode join: the number of each end's set, and how many
// ends each set has.
func (j *matrixed) sets(m mode) (of, size []int) {
	of, size = make([]int, len(j.Names)), make([]int, len(j.Names))
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
		of[find(j.Values[i].From)] = find(j.Values[i].To)
	}
	for end := range of {
		of[end] = find(end)
		size[of[end]]++
	}
	return of, size
}

// between asks about sets of ends whose pairs are fast within and slow between them: no end is
// slow then, but what joins the sets. It tells whether it has asked.
func (j *matrixed) between(v *Verdict) bool {
	for _, m := range j.modes(func(int) bool { return false }) {
		of, size := j.sets(m)
		across := 0
		for _, i := range m.slow {
			a, b := of[j.Values[i].From], of[j.Values[i].To]
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

// groups asks about values in two groups that no end and no pair explains.
func (j *matrixed) groups(v *Verdict) {
	explained := func(i int) bool {
		value := j.Values[i]
		return slices.ContainsFunc(v.Findings, func(f Slow) bool {
			c := f.Component
			return c == j.pair(value) || c == j.component(value.From) || c == j.component(value.To) ||
				c.Part == Node && (c.Node == j.At[value.From].Node || c.Node == j.At[value.To].Node)
		})
	}
	for _, m := range j.modes(explained) {
		v.Questions = append(v.Questions, Question{
			What: j.says(m) + "; no end explains them", Lost: share(m.gap), All: true, Candidates: j.endsOf(m.slow),
			Next: "compare the settings of both groups; measure the pairs again",
		})
	}
	_, pair := j.beyond()
	if limit := max(j.est.limit(), pair-mostPair); limit > mostLimit && !v.doubted() {
		v.Questions = append(v.Questions, Question{
			What: fmt.Sprintf("the values differ so much that only an end's loss of %.0f %% and a pair's of %.0f %% would be named", 100*share(j.est.limit()), 100*share(pair)),
			All:  true, Next: "measure the pairs again on idle nodes", Candidates: slices.Concat(worst(v.Ranking, Node), worst(v.Ranking, GPU)),
		})
	}
}

// endsOf are the ends of values as components, those in most of them first.
func (j *matrixed) endsOf(values []int) []Component {
	count := map[int]int{}
	for _, i := range values {
		count[j.Values[i].From]++
		count[j.Values[i].To]++
	}
	order := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(order, func(a, b int) int { return count[b] - count[a] })
	return slice.Distinct(slice.Map(order, j.component))
}
