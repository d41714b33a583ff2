package pairs

import (
	"cmp"
	"math"
	"slices"
)

// Bars of the judgement. A slow node or pair must lie below the rest by this share, and by
// this many times the scatter of the rest.
const (
	nodeBar, pairBar = 0.05, 0.10
	// Nodes with fewer than fewPartners partners have bars of their own: the scatter of few
	// nodes, a slow one among them, is itself uncertain.
	fewPartners              = 5
	smallBar, smallScatter   = 0.10, 3
	nodeScatter, pairScatter = 5, 6
	// fewSlow is how many pairs that were slow once are named. A faulty link is one or two.
	fewSlow = 3
	// madScale makes the median absolute deviation a standard deviation of normal values.
	madScale = 1.4826
	// leastNodes have a majority; fewer cannot tell which end is slow.
	leastNodes = 3
)

// Slow is a node or a pair that is slow.
type Slow struct {
	// From is the node; To is empty for a node, else the other end of a pair.
	From, To string
	// Share is what is lost of the bandwidth that the rest has, from 0 to 1.
	Share float64
	// Pairs is the number of pairs that show it.
	Pairs int
	// Confidence is high, medium or low.
	Confidence string
}

// The levels of confidence: high for a node with five partners or a pair measured again,
// medium for a node with fewer, low for a pair measured once.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// Verdict is what a matrix comes to.
type Verdict struct {
	Nodes []string
	// Pairs is the number of different pairs with a figure.
	Pairs int
	// Median is that of all pairs, in bytes per second.
	Median float64
	// Scatter is the relative standard deviation of pairs that are not slow.
	Scatter float64
	// Slow are slow nodes, then slow pairs, each the worst first.
	Slow []Slow
	// Unclear are pairs that were slow the one time that they were measured, where they are
	// more than a few: samples that are slow by chance look the same.
	Unclear []Slow
	// Single are nodes with fewer than two partners: they could not be judged.
	Single []string
	// Undecided is true if there are too few nodes to tell which end of a pair is slow.
	Undecided bool
}

// pair is one direction of a connection.
type pair struct {
	from, to string
	rates    []float64
	rate     float64
}

// Judge names what is slow against the median of the rest. A slow node slows all of its
// pairs, a slow pair is alone. A pair's expected rate is the median of the nodes, less what
// the slower of its two ends loses.
func Judge(samples []Sample) Verdict {
	all := grouped(samples)
	var v Verdict
	of := map[string][]float64{}
	rates := make([]float64, 0, len(all))
	for _, p := range all {
		of[p.from], of[p.to] = append(of[p.from], p.rate), append(of[p.to], p.rate)
		rates = append(rates, p.rate)
	}
	for name := range of {
		v.Nodes = append(v.Nodes, name)
	}
	slices.Sort(v.Nodes)
	v.Pairs, v.Median = len(all), median(rates)
	if len(v.Nodes) < leastNodes {
		v.Undecided = true
		return v
	}
	partners := partnersOf(all)
	effect := map[string]float64{}
	var effects []float64
	for _, name := range v.Nodes {
		effect[name] = best(of[name])
		effects = append(effects, effect[name])
		if partners[name] < 2 {
			v.Single = append(v.Single, name)
		}
	}
	usual := median(effects)
	if usual <= 0 {
		v.Undecided = true
		return v
	}
	v.slowNodes(effect, partners, usual, spread(effects)/usual)
	v.slowPairs(all)
	return v
}

// slowNodes are those whose better pairs, too, are below those of the other nodes.
func (v *Verdict) slowNodes(effect map[string]float64, partners map[string]int, usual, scatter float64) {
	for _, name := range v.Nodes {
		bar, confidence := max(nodeBar, nodeScatter*scatter), High
		if partners[name] < fewPartners {
			bar, confidence = max(smallBar, smallScatter*scatter), Medium
		}
		share := 1 - effect[name]/usual
		if share < bar || partners[name] < 2 {
			continue
		}
		v.Slow = append(v.Slow, Slow{From: name, Share: share, Pairs: partners[name], Confidence: confidence})
	}
	slices.SortStableFunc(v.Slow, func(a, b Slow) int { return cmp.Compare(b.Share, a.Share) })
}

// slowPairs are below what their slower end explains.
func (v *Verdict) slowPairs(all []pair) {
	lost := map[string]float64{}
	for _, s := range v.Slow {
		lost[s.From] = s.Share
	}
	var rest, sound []float64
	for _, p := range all {
		if lost[p.from]+lost[p.to] == 0 {
			sound = append(sound, p.rate)
		}
	}
	usual := median(sound)
	if usual <= 0 { // slow nodes are in all pairs
		return
	}
	for _, p := range all {
		rest = append(rest, p.rate/(usual*(1-max(lost[p.from], lost[p.to]))))
	}
	v.Scatter = spread(rest)
	bar := max(pairBar, pairScatter*v.Scatter)
	var found []Slow
	for i, p := range all {
		if share := 1 - rest[i]; share >= bar {
			found = append(found, Slow{From: p.from, To: p.to, Share: share, Pairs: 1, Confidence: p.confidence(usual * (1 - bar))})
		}
	}
	slices.SortStableFunc(found, func(a, b Slow) int { return cmp.Compare(b.Share, a.Share) })
	once := func(s Slow) bool { return s.Confidence == Low }
	if low := slices.DeleteFunc(slices.Clone(found), func(s Slow) bool { return !once(s) }); len(low) > fewSlow {
		v.Unclear, found = low, slices.DeleteFunc(found, once)
	}
	v.Slow = append(v.Slow, found...)
}

// confidence is high if the pair was measured again and was slow again.
func (p pair) confidence(below float64) string {
	if len(p.rates) > 1 && slices.Max(p.rates) < below {
		return High
	}
	return Low
}

// grouped are the samples of each pair, one direction apart from the other, by names.
func grouped(samples []Sample) []pair {
	at := map[[2]string]int{}
	var all []pair
	for _, s := range samples {
		key := [2]string{s.From, s.To}
		i, met := at[key]
		if !met {
			i = len(all)
			at[key] = i
			all = append(all, pair{from: s.From, to: s.To})
		}
		all[i].rates = append(all[i].rates, s.Rate)
	}
	for i := range all {
		all[i].rate = median(all[i].rates)
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return all
}

// partnersOf is the number of different partners of each node.
func partnersOf(all []pair) map[string]int {
	met := map[[2]string]bool{}
	of := map[string]int{}
	for _, p := range all {
		a, b := min(p.from, p.to), max(p.from, p.to)
		if !met[[2]string{a, b}] {
			met[[2]string{a, b}] = true
			of[a]++
			of[b]++
		}
	}
	return of
}

// median is 0 without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// best is what a node gives with good partners: the upper quartile of its pairs, of
// few pairs the largest. Pairs with slow partners do not lower it.
func best(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if len(s) < fewPartners {
		return s[len(s)-1]
	}
	at := 0.75 * float64(len(s)-1)
	i := int(at)
	return s[i] + (at-float64(i))*(s[min(i+1, len(s)-1)]-s[i])
}

// spread is the standard deviation by the median absolute deviation.
func spread(values []float64) float64 {
	m := median(values)
	var off []float64
	for _, v := range values {
		off = append(off, math.Abs(v-m))
	}
	return madScale * median(off)
}
