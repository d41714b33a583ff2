package peers

import (
	"slices"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// building is a result while rows are added to it.
type building struct {
	res *record.Result
	// owner is the setting of its first row; the others' differ in nothing that
	// matters.
	owner   *setting
	samples []*side
	counted []warningKey
}

// curve is what the result shares with others of its curve.
func (into *building) curve() curveKey {
	r := into.res
	return curveKey{r.Collective, r.Dtype, r.Op, r.Ranks, r.GPUsPerProcess}
}

// finish summarises the samples and names the setups where there are several.
func (b *builder) finish(s *scan) {
	b.setups.name()
	b.setupWarning(s)
	var scratch []float64
	for _, into := range b.results {
		if label := b.setups.labels[into.curve()][into.owner.setup]; label != "" {
			into.res.Setup = label
			into.res.Key += "/" + slug(label)
		}
		into.time(&scratch)
		into.res.Warnings = into.warnings()
		b.rec.Results = append(b.rec.Results, *into.res)
		into.samples = nil
	}
}

// time makes the timing of a result's samples. The scratch serves all results.
func (into *building) time(scratch *[]float64) {
	set, res := into.owner, into.res
	list := func(of func(*side) float64) []float64 {
		*scratch = (*scratch)[:0]
		for _, s := range into.samples {
			*scratch = append(*scratch, of(s))
		}
		return *scratch
	}
	median := func(of func(*side) float64) float64 {
		values := list(of)
		slices.Sort(values)
		return stat.QuantileSorted(values, 0.5)
	}
	digits := func(s *side) rounding { return s.rounding(res.Bytes, set.unit, set.scale) }
	res.Burst = &record.Timing{
		Iterations:  set.test.header.iters,
		MeanOfRanks: stat.Summarize(list(func(s *side) float64 { return digits(s).at })),
		// The median is monotone: those of the ends bound that of the times.
		Rounding: &record.Interval{
			Lo: median(func(s *side) float64 { return digits(s).lo }),
			Hi: median(func(s *side) float64 { return digits(s).hi }),
		},
	}
	if set.factor {
		res.SetHeadline(set.BusFactor(set.ranks))
		return
	}
	res.SetHeadline(0)
	printed := median(func(s *side) float64 { return scaled(s.bus, 1e9) })
	res.BusBW = &printed
}
