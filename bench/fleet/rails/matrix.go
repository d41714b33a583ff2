package rails

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	v.NetworkLimit = share(j.limit() + surely*j.est.sigma)
	v.Ranking = j.ranking()
	if !j.between(v) {
		j.ends(v)
		j.hidden(v)
		j.pairs(v)
		j.groups(v)
	}
	v.finish()
	return v
}

// matrixed is a matrix with what its values say of its ends. With both directions of
// most pairs, sending and receiving are ends of their own: n to send, n to receive.
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

func (j *matrixed) limit() float64 { return j.est.limit() }

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
				f.SlowRounds, f.Rounds = f.SlowRounds+e.agree, f.Rounds+e.clear
				slow = append(slow, []string{"sending", "receiving"}[i])
			}
		}
		if len(slow) == 0 {
			continue
		}
		f.Confidence = confidence(f.SlowRounds, f.Rounds)
		reason := fmt.Sprintf("slow in %d of %d pairs whose other end is not slow", f.SlowRounds, f.Rounds)
		if j.directed && len(slow) == 1 {
			reason += ", only " + slow[0]
		}
		f.Reasons = []string{reason}
		if float64(f.SlowRounds) < most*float64(f.Rounds) { // a fast pair clears both ends
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
		out[i].SlowRounds, out[i].Rounds = out[i].SlowRounds+f.SlowRounds, out[i].Rounds+f.Rounds
		out[i].Confidence = confidence(out[i].SlowRounds, out[i].Rounds)
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
