package peers

import (
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
	doubts  []doubt
}

// curve is what the result shares with others of its curve.
func (into *building) curve() curveKey {
	r := into.res
	return curveKey{r.Collective, r.Dtype, r.Op, r.Ranks, r.Nodes, r.GPUsPerProcess}
}

// finish summarises the samples and names the setups where there are several.
func (b *builder) finish(s *scan) {
	b.setups.name()
	b.setupWarning(s)
	for _, into := range b.results {
		if label := b.setups.labels[into.curve()][into.owner.setup]; label != "" {
			into.res.Setup = label
			into.res.Key += "/" + slug(label)
		}
		into.time()
		into.res.Warnings = into.warnings()
		b.rec.Results = append(b.rec.Results, *into.res)
		into.samples = nil
	}
}

// time makes the timing of a result's samples.
func (into *building) time() {
	set, res := into.owner, into.res
	n := len(into.samples)
	seconds, lo, hi := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, s := range into.samples {
		r := s.rounding(res.Bytes, set.unit, set.scale)
		seconds[i], lo[i], hi[i] = r.at, r.lo, r.hi
	}
	res.Burst = &record.Timing{
		Iterations: set.test.header.iters, MeanOfRanks: stat.Summarize(seconds),
		// The median is monotone: those of the ends bound that of the times.
		Rounding: &record.Interval{Lo: stat.Quantile(lo, 0.5), Hi: stat.Quantile(hi, 0.5)},
	}
	if set.factor {
		res.SetHeadline(set.BusFactor(set.ranks))
		return
	}
	res.SetHeadline(0)
	for i, s := range into.samples {
		lo[i] = scaled(s.bus, 1e9)
	}
	printed := stat.Quantile(lo, 0.5)
	res.BusBW = &printed
}
