package recommend

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/stat"
)

// key is what the results of one curve share.
type key struct {
	collective, dtype, op string
	ranks, nodes, local   int
	groups, stride        int
	inPlace               bool
	setup                 string
}

// compare orders curves: the whole world before its parts.
func (k key) compare(o key) int {
	place := func(k key) int {
		if k.inPlace {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(k.collective, o.collective), cmp.Compare(o.ranks, k.ranks), cmp.Compare(o.nodes, k.nodes),
		cmp.Compare(k.groups, o.groups), cmp.Compare(k.stride, o.stride), cmp.Compare(k.local, o.local), cmp.Compare(k.dtype, o.dtype),
		cmp.Compare(k.op, o.op), cmp.Compare(place(k), place(o)), cmp.Compare(k.setup, o.setup),
	)
}

// measured is one result and where it comes from.
type measured struct {
	record.Result
	source  int
	name    string
	samples map[string][]float64
}

// Curves makes the curves of the sources: results that differ in size alone
// become one curve, and sources that measured the same become repeats of it.
// The order of sources and results does not matter. It fails where a size is
// not the total one.
func Curves(sources []Source) ([]Curve, error) {
	byKey := map[key][]measured{}
	for i, s := range sources {
		if slices.ContainsFunc(sources[:i], func(o Source) bool { return reflect.DeepEqual(o.Record.Results, s.Record.Results) }) {
			continue // the same measurements a second time are no repeat of them
		}
		for _, r := range s.Record.Results {
			if r.Status != record.OK {
				continue
			}
			if err := totalSize(r); err != nil {
				return nil, err
			}
			k := key{r.Collective, r.Dtype, r.Op, r.Ranks, r.Nodes, r.GPUsPerProcess, r.Groups, r.Stride, r.InPlace, r.Setup}
			byKey[k] = append(byKey[k], measured{r, i, s.Name, s.Samples[r.Key]})
		}
	}
	keys := make([]key, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, key.compare)
	curves := make([]Curve, 0, len(keys))
	for _, k := range keys {
		if c := k.curve(byKey[k], sources); len(c.Points) > 0 {
			curves = append(curves, c)
		}
	}
	return curves, nil
}

// totalSize fails where the size of a sharded collective is that of one rank's
// share: taken for the total, every message would look n times as expensive.
func totalSize(r record.Result) error {
	c, err := collective.ByName(r.Collective)
	if err != nil || r.Ranks < 2 || !c.SendShare && !c.RecvShare {
		return nil //nolint:nilerror // an unknown collective is no curve that anybody asks for
	}
	d, err := collective.DtypeByName(r.Dtype)
	if err != nil || r.Count <= 0 {
		return nil //nolint:nilerror // without width or count there is nothing to compare
	}
	if r.Bytes == r.Count*int64(d.Size) {
		return fmt.Errorf("%s of %d ranks: a size of %d bytes is one rank's share of %d elements, not the total: "+
			"multiply the sizes by the ranks",
			r.Collective, r.Ranks, r.Bytes, r.Count)
	}
	return nil
}

// curve draws one curve through the results.
func (k key) curve(results []measured, sources []Source) Curve {
	c := Curve{
		Collective: k.collective, Dtype: k.dtype, Ranks: k.ranks, Nodes: k.nodes, Groups: k.groups, Stride: k.stride, InPlace: k.inPlace, Setup: k.setup,
		Timing: timingOf(results), Dropped: []Drop{}, Warnings: []record.Warning{},
	}
	runs := map[int]bool{}
	bySize := map[int64][]measured{}
	for _, r := range results {
		runs[r.source] = true
		rec := sources[r.source].Record
		c.Simulated = c.Simulated || rec.Simulated
		c.Imported = c.Imported || rec.Source.Kind == record.Imported
		c.Extrapolated = c.Extrapolated || r.Extrapolated
		c.Neighbours = c.Neighbours || r.Ranks > 0 && r.Ranks < rec.World.Ranks
		if s := summary(r.Result, c.Timing); s != nil && s.Median > 0 && r.Bytes > 0 {
			bySize[r.Bytes] = append(bySize[r.Bytes], r)
		}
	}
	c.Runs = len(runs)
	for size, same := range bySize {
		c.Points = append(c.Points, point(size, same, c.Timing))
	}
	slices.SortFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.Bytes, b.Bytes) })
	c.drop()
	return c
}

// timing is the best one that all the results have.
func timingOf(results []measured) string {
	for _, t := range []string{Isolated, BurstMax} {
		if !slices.ContainsFunc(results, func(r measured) bool { return summary(r.Result, t) == nil }) {
			return t
		}
	}
	return BurstMean
}

// summary is the named timing of a result; nil where it has none.
func summary(r record.Result, name string) *stat.Summary {
	switch {
	case name == Isolated && r.Isolated != nil:
		return r.Isolated.MaxOfRanks
	case name == BurstMax && r.Burst != nil:
		return r.Burst.MaxOfRanks
	case name == BurstMean && r.Burst != nil:
		return r.Burst.MeanOfRanks
	}
	return nil
}

// series is the name of the samples behind a timing.
var series = map[string]string{
	Isolated: record.SeriesIsolatedMax, BurstMax: record.SeriesBurstMax, BurstMean: record.SeriesBurstMean,
}

// point merges the results of one size: of several, the median of their medians.
func point(size int64, same []measured, timing string) Point {
	slices.SortFunc(same, func(a, b measured) int {
		return cmp.Compare(summary(a.Result, timing).Median, summary(b.Result, timing).Median)
	})
	p := Point{Bytes: size}
	var medians []float64
	for _, r := range same {
		s := summary(r.Result, timing)
		medians = append(medians, s.Median)
		p.N += s.N
		p.Samples = append(p.Samples, r.samples[series[timing]]...)
		p.CV = larger(p.CV, s.CV)
		if s.Lo != nil && s.Hi != nil && (p.Lo == nil || *s.Lo < *p.Lo) {
			p.Lo = s.Lo
		}
		if s.Lo != nil && s.Hi != nil && (p.Hi == nil || *s.Hi > *p.Hi) {
			p.Hi = s.Hi
		}
	}
	p.Seconds = stat.Quantile(medians, 0.5)
	if len(medians) > 1 {
		p.Disagree = (medians[len(medians)-1] - medians[0]) / p.Seconds
		p.Fastest, p.Slowest = same[0].name, same[len(same)-1].name
	}
	return p
}

func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
