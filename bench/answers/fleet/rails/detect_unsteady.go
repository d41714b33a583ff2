package rails

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

const (
	// spreadSigmas is the number of deviations by which a slow sample exceeds the transfer's fastest sample
	// of the round. Five normal samples spread so far in 0.04 % of all cases.
	spreadSigmas = 6
	// fastestTwo is the median difference of the fastest two of five normal samples, in deviations. Up to
	// half of the samples can be slow without changing this difference.
	fastestTwo = 0.55
	// fewNodes is the number of nodes below which the usual rate of slow samples is unknown. In a smaller
	// fleet, leastSlow slow samples among leastSamples samples make a question.
	fewNodes     = 4
	leastSlow    = 3
	leastSamples = 12
	// suspectChance is the probability below which a node is measured more often.
	suspectChance = 0.05
)

// `unsteady` is a node whose transfers have slow samples more often than other nodes' transfers.
type unsteady struct {
	node int
	// `all` counts the node's transfers. `slow` counts the transfers with a slow sample. `lost` is the median
	// loss of the slow samples.
	slow, all int
	lost      float64
	// p is the probability that any node has so many slow transfers by chance.
	p float64
}

// samples holds the transfers of a kind with their slow samples.
type samples struct {
	of []Timing
	// `at` holds the transfers' positions among all timings.
	at []int
	// `slow` holds the losses of each transfer's slow samples; 0 for other samples.
	slow [][]float64
	any  []bool
}

// `behind` returns the loss of each sample against the transfer's fastest sample, and the difference between
// the two fastest samples, as logarithms. A sample that was not timed has loss 0. `timed` is the number of
// timed samples.
func (t Timing) behind() (losses []float64, gap float64, timed int) {
	losses = make([]float64, len(t.Seconds))
	first, second := math.Inf(1), math.Inf(1)
	for i, x := range t.Seconds {
		losses[i] = math.Inf(-1)
		if !(x > 0) || math.IsInf(x, 1) {
			continue
		}
		timed, losses[i] = timed+1, math.Log(x)
		if y := losses[i]; y < first {
			first, second = y, first
		} else {
			second = min(second, y)
		}
	}
	for i := range losses {
		losses[i] = max(0, losses[i]-first)
	}
	return losses, second - first, timed
}

// samplesOf finds the slow samples of each transfer in a round. A slow sample exceeds the transfer's
// fastest sample by more than the noise of its nodes explains. A transfer that is slow for the whole round
// has no slow samples.
func samplesOf(timings []Timing, kind Kind, nodes int) samples {
	n := slice.Count(timings, func(t Timing) bool { return t.Kind == kind })
	s := samples{of: make([]Timing, 0, n), at: make([]int, 0, n), slow: make([][]float64, 0, n), any: make([]bool, 0, n)}
	gaps := make([][]float64, nodes)
	for k, t := range timings {
		if t.Kind != kind {
			continue
		}
		if losses, gap, timed := t.behind(); timed >= minSamples {
			s.of, s.at, s.slow = append(s.of, t), append(s.at, k), append(s.slow, losses)
			gaps[t.Pair.A.Node] = append(gaps[t.Pair.A.Node], gap)
			gaps[t.Pair.B.Node] = append(gaps[t.Pair.B.Node], gap)
		}
	}
	all := median(slices.Concat(gaps...))
	noise := make([]float64, nodes)
	for node, of := range gaps {
		noise[node] = max(median(of), all) / fastestTwo
	}
	for k, t := range s.of {
		cut, slow := max(slowSample, spreadSigmas*max(noise[t.Pair.A.Node], noise[t.Pair.B.Node])), false
		for i, y := range s.slow[k] {
			if y <= cut {
				s.slow[k][i] = 0
			}
			slow = slow || y > cut
		}
		s.any = append(s.any, slow)
	}
	return s
}

// `worst` returns the node whose rate of slow samples is the least probable, compared with the transfers of
// all other nodes.
func (s samples) worst(nodes int) unsteady {
	own, hits := make([]int, nodes), make([]int, nodes)
	total := 0
	for k, t := range s.of {
		for _, node := range []int{t.Pair.A.Node, t.Pair.B.Node} {
			own[node]++
			if s.any[k] {
				hits[node]++
			}
			if t.Pair.A.Node == t.Pair.B.Node {
				break
			}
		}
		if s.any[k] {
			total++
		}
	}
	best := unsteady{p: 1}
	for node := range nodes {
		others, slow := len(s.of)-own[node], total-hits[node]
		if others == 0 || hits[node] < 2 {
			continue
		}
		rate := (float64(slow) + 0.5) / float64(others+1)
		if p := 2 * float64(nodes) * stat.BinomialTail(hits[node], own[node], rate); p < best.p {
			best = unsteady{node: node, slow: hits[node], all: own[node], p: p}
		}
	}
	return best
}

// `steady` finds the nodes with slow samples beyond chance, the most improbable first, and removes these
// samples from the timings. The remaining timings show permanent slowness. `next` is the probability that
// chance explains the next node's slow samples.
func steady(d Data) (found []unsteady, rest []Timing, next float64) {
	rest = d.Timings
	for len(found) < d.Fleet.Nodes {
		kinds := []samples{samplesOf(rest, XGMI, d.Fleet.Nodes), samplesOf(rest, Network, d.Fleet.Nodes)}
		best := kinds[0].worst(d.Fleet.Nodes)
		if u := kinds[1].worst(d.Fleet.Nodes); u.p < best.p {
			best = u
		}
		if best.p > chance {
			return found, rest, best.p
		}
		var lost []float64
		rest = slices.Clone(rest)
		for _, s := range kinds {
			lost = append(lost, s.leaveOut(rest, best.node)...)
		}
		best.lost = share(median(lost))
		found = append(found, best)
	}
	return found, rest, 1
}

// leaveOut removes the slow samples of a node from the timings, and returns their losses.
func (s samples) leaveOut(timings []Timing, node int) (lost []float64) {
	for k, t := range s.of {
		if !s.any[k] || t.Pair.A.Node != node && t.Pair.B.Node != node {
			continue
		}
		seconds := slices.Clone(t.Seconds)
		for i, y := range s.slow[k] {
			if y > 0 {
				seconds[i] = 0
				lost = append(lost, y)
			}
		}
		timings[s.at[k]].Seconds = seconds
	}
	return lost
}

// `unsteady` names the nodes that are slow part of the time.
func (j *judgement) unsteady(v *Verdict) {
	for _, u := range j.nodes {
		v.Findings = append(v.Findings, Slow{
			Component: Component{Part: Node, Node: u.node}, Intermittent: true, Lost: u.lost,
			Confidence: confidence(u.slow, u.slow), Reasons: []string{fmt.Sprintf("slow samples in %d of its %d transfers, far more than in those of other nodes", u.slow, u.all)},
		})
	}
}

// `alone` asks about nodes that are slow part of the time in a fleet with too few nodes for a comparison. The
// samples of such a node fall into two groups, relative to the transfer's fastest sample or to the pair's
// mean.
func (j *judgement) alone(v *Verdict) {
	if j.Fleet.Nodes >= fewNodes {
		return
	}
	standing := v.standing()
	for node := range j.Fleet.Nodes {
		for _, kind := range []Kind{XGMI, Network} {
			var losses []float64
			pairs := map[Pair][]float64{}
			for _, t := range j.Timings {
				if t.Kind == kind && (t.Pair.A.Node == node || t.Pair.B.Node == node) {
					behind, _, _ := t.behind()
					losses = append(losses, slice.Where(behind, func(y float64) bool { return y > 0 })...)
					pairs[t.Pair] = append(pairs[t.Pair], slice.Map(t.Timed(), math.Log)...)
				}
			}
			slow, gap, ok := twoGroups(losses, 0, slowSample)
			if !ok { // differences from the mean do not contain the noise of the fastest sample
				losses = nil
				for _, of := range pairs {
					mean := slice.Sum(of, func(y float64) float64 { return y }) / float64(max(1, len(of)))
					losses = append(losses, slice.Map(of, func(y float64) float64 { return y - mean })...)
				}
				slices.Sort(losses)
				slow, gap, ok = twoGroups(losses, 0, slowSample)
			}
			if !ok || len(slow) < leastSlow || len(losses) < leastSamples || standing[node] != passes {
				continue
			}
			v.Questions = append(v.Questions, Question{
				What: fmt.Sprintf("%d of %d samples are slow (%s)", len(slow), len(losses), KindName(kind)), Lost: share(gap),
				Candidates: []Component{{Part: Node, Node: node}}, Next: "compare with other nodes: four or more tell how often is usual",
			})
			break
		}
	}
}
