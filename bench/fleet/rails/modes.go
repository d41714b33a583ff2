package rails

import (
	"fmt"
	"maps"
	"slices"
)

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
		m := mode{gap: gap}
		high := make([]bool, len(ys))
		for _, i := range slow {
			high[i] = true
		}
		for i, value := range of {
			if high[i] {
				m.slow = append(m.slow, value)
			} else {
				m.fast = append(m.fast, value)
			}
		}
		out = append(out, m)
	}
	return out
}

// says states both groups by their median rates.
func (j *matrixed) says(m mode) string {
	rate := func(of []int) float64 {
		var rates []float64
		for _, i := range of {
			rates = append(rates, j.Values[i].Rate/1e9)
		}
		return median(rates)
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
		several := 0
		for _, n := range size {
			if n > 1 {
				several++
			}
		}
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
	if limit := max(j.limit(), pair-mostPair); limit > mostLimit && !v.doubted() {
		q := Question{What: fmt.Sprintf("the values differ so much that only an end's loss of %.0f %% and a pair's of %.0f %% would be named", 100*share(j.limit()), 100*share(pair)), All: true, Next: "measure the pairs again on idle nodes"}
		for _, part := range []Part{Node, GPU} {
			q.Candidates = append(q.Candidates, worst(v.Ranking, part)...)
		}
		v.Questions = append(v.Questions, q)
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
	var out []Component
	seen := map[Component]bool{}
	for _, end := range order {
		if c := j.component(end); !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}
