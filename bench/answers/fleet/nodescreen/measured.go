package nodescreen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

// Limits of the comparison of measurements. A value is named if it is below the median by at least the
// share Effect and by at least `sigmas` robust standard deviations. With 1,024 values of a normal
// distribution, 5 deviations give a false finding in 0.03 % of fleets.
const (
	// Effect is the smallest loss that is named, as a share.
	Effect = 0.08
	sigmas = 5
	// Least is the smallest number of values among which a value can be named. Among fewer values, a value
	// that is effectOfFew below the best value is unclear: two or three healthy values may differ by more
	// than Effect.
	Least       = 4
	effectOfFew = 0.12
	// Most is the largest limit: with more spread a comparison has no meaning.
	Most = 0.5
)

// productRule compares matrix products. The rates of products are in operations per second; all other rates
// are in bytes per second.
const productRule = "product"

// rateText formats a rate that a rule compares.
func rateText(rule string, rate float64) string {
	if rule == productRule {
		return unit.Flops(rate)
	}
	return unit.Rate(rate)
}

// kind identifies measurements that are compared with each other: the same work on the same
// product.
type kind struct {
	rule, what string
	values     []Extreme
}

// Limit returns the smallest named loss as a share of the median of some rates. spread is the standard
// deviation of the rates divided by their median. It is estimated as 1.4826 times the median absolute
// deviation (the factor of a normal distribution), which half of the values cannot change. With few values
// the spread is itself uncertain, and the limit is wider.
func Limit(rates []float64) (median, spread, limit float64) {
	median = stat.Quantile(rates, 0.5)
	spread = rails.Deviation(rates) / median
	return median, spread, max(Effect, sigmas*(1+4/float64(len(rates)))*spread)
}

// rates returns only the rates of the values.
func (k kind) rates() []float64 {
	return slice.Map(k.values, func(v Extreme) float64 { return v.Rate })
}

// refer stores the reference of a kind. limit is the smallest named loss.
func (d *Document) refer(k kind, median, spread, limit float64) {
	byRate := func(a, b Extreme) int { return cmp.Compare(a.Rate, b.Rate) }
	slowest, fastest := slices.MinFunc(k.values, byRate), slices.MaxFunc(k.values, byRate)
	d.References = append(d.References, Reference{What: k.what, Rule: k.rule, Median: median, Spread: spread, Limit: min(limit, 1), Count: len(k.values), Slowest: &slowest, Fastest: &fastest})
}

// outliers compares values of one kind, names the slow values, and gives the compared rates to the gate.
func outliers(d *Document, k kind, next string) []Deviation {
	what, all := k.what, k.values
	if len(all) < 2 {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: %s: too few to compare, 2 are needed", what, plain.Count(len(all), "value")))
		return nil
	}
	median, spread, limit := Limit(k.rates())
	if len(all) < Least {
		limit = effectOfFew
	}
	d.refer(k, median, spread, limit)
	of := finding.Compared[Extreme]{Class: what, Limit: limit, Figures: slice.Map(all, func(v Extreme) finding.Figure[Extreme] { return finding.Figure[Extreme]{Subject: v, Rate: v.Rate} })}
	if limit > Most {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: the values vary by %s, so none can be named", what, rails.Percent(spread)))
		of.Limit = Effect // half of the values may be slow
	}
	if d.compared = append(d.compared, of); limit > Most || len(all) < Least {
		return nil
	}
	var out []Deviation
	for _, v := range all {
		if lost := 1 - v.Rate/median; lost >= limit {
			out = append(out, Deviation{
				Host: v.Host, Subject: v.Subject, Lost: lost, Next: next,
				Message: fmt.Sprintf("%s: %s, %s below the median of %s", what, rateText(k.rule, v.Rate), rails.Percent(lost), rateText(k.rule, median)),
			})
		}
	}
	return out
}

// doubts returns values far below their peers, if their node has no finding.
func (d *Document) doubts() []Deviation {
	doubts, checked := finding.Gate(d.compared, func(v Extreme) bool {
		return slices.ContainsFunc(d.Findings, func(f Deviation) bool { return f.Host == v.Host })
	})
	d.checked = checked || slices.ContainsFunc(d.References, func(r Reference) bool { return r.Rule == linkRule })
	var out []Deviation
	for _, of := range doubts {
		rule := d.reference(of.Class).Rule
		for _, f := range of.Figures {
			out = append(out, Deviation{
				Host: f.Subject.Host, Subject: f.Subject.Subject, Rule: rule, Lost: f.Lost, Unclear: true,
				Message: fmt.Sprintf("%s: %s, %s below its peers, which are too few or differ too much to tell who is right", of.Class, rateText(rule, f.Rate), rails.Percent(f.Lost)),
				Next:    "screen this node with four or more others",
			})
		}
	}
	return out
}

// kinds returns the rates that a rule compares, by workload, in the order of the nodes.
func kinds(nodes []*Node, rule string) []kind {
	all := map[string][]Extreme{}
	for _, n := range nodes {
		for _, r := range n.rates() {
			if r.rule == rule && r.Rate.Rate != nil {
				all[r.kind] = append(all[r.kind], Extreme{n.Host, r.subject, *r.Rate.Rate})
			}
		}
	}
	return slice.Map(slices.Sorted(maps.Keys(all)), func(what string) kind { return kind{rule, what, all[what]} })
}

// `slow` returns the rule that compares the rates of one kind of measurement. `next` is the remedy for a slow
// component.
func slow(rule, next string) func(f Fleet, d *Document) []Deviation {
	return func(f Fleet, d *Document) []Deviation {
		return slices.Concat(slice.Map(kinds(f.Nodes, rule), func(k kind) []Deviation { return outliers(d, k, next) })...)
	}
}

// majority returns the value that more than half of the entries have; zero if there is none.
func majority[E any, T comparable](all []E, of func(E) T) (usual T, found bool) {
	count := map[T]int{}
	for _, one := range all {
		v := of(one)
		if count[v]++; 2*count[v] > len(all) {
			usual, found = v, true
		}
	}
	return usual, found
}
