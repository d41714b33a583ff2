package recommend

import (
	"cmp"
	"math"
	"slices"

	"zbench/bench/job/trainer"
)

const (
	// gridStep is the ratio of neighbouring settings of the grid. leastSetting is the first setting, in
	// elements.
	gridStep     = 1.189207115002721 // 2^(1/4)
	leastSetting = 32 << 10
	// perRank is the least number of elements per rank in a bucket.
	perRank = 128
)

// unknownRatios are the ratios of backward computation to communication time that an unknown backward time
// is averaged over; the first ratio is nominal.
var unknownRatios = []float64{1, 0.5, 2, 4, 8}

// Grid returns the default scenarios, the nominal scenario first. Messages can take up to 1.6 times as
// long, because computation slows them down, unless they were measured under load. The computation time can
// differ by a factor of 1.25 if measured, and of 1.6 if estimated.
func Grid(loaded, estimated bool) []Scenario {
	networks, computes := []float64{1, 1.3, 1.6}, []float64{1, 0.8, 1.25}
	if loaded {
		networks = []float64{1}
	}
	if estimated {
		computes = []float64{1, 0.6, 1.6}
	}
	var all []Scenario
	for _, n := range networks {
		for _, c := range computes {
			all = append(all, Scenario{Network: n, Compute: c})
		}
	}
	return all
}

// grid returns the question's grid, with the measured contention.
func (q Question) grid(estimated bool) []Scenario {
	all := Grid(q.Slower > 0, estimated)
	for i := range all {
		if q.Slower > 0 {
			all[i].Network, all[i].Contention = q.Slower, q.Contention
		}
	}
	return all
}

// setTimes sets computation and scenarios. The first scenario is nominal.
func (e *engine) setTimes() {
	q := e.q
	e.scenarios = q.Scenarios
	e.known = q.Backward > 0 || q.Forward > 0
	if e.known {
		e.backward, e.forward = cmp.Or(q.Backward, 2*q.Forward), cmp.Or(q.Forward, q.Backward/2)
		if len(e.scenarios) == 0 {
			e.scenarios = q.grid(q.ComputeGuessed)
		}
		return
	}
	e.backward = e.wire()
	e.forward = e.backward / 2
	if len(e.scenarios) > 0 {
		return
	}
	for _, s := range q.grid(true) {
		if s.Compute != 1 {
			continue
		}
		for _, r := range unknownRatios {
			e.scenarios = append(e.scenarios, Scenario{Network: s.Network, Compute: r, Contention: s.Contention})
		}
	}
}

// wire returns the time of all gradients in messages of the largest swept size, in seconds.
func (e *engine) wire() float64 {
	t := 0.0
	for _, m := range e.plans.planner.Plan(0, e.run).Backward {
		i := slices.Index(e.needs, need{m.Collective, m.Ranks})
		last := e.curves[i].Points[len(e.curves[i].Points)-1]
		t += float64(m.Bytes) * last.Seconds / float64(last.Bytes)
	}
	return t
}

// keep returns the present setting in the advised run: the user's setting, or the trainer's default. asIs
// is the present setting in the user's own run, with the trainer's behaviour if nothing is set; nil if the
// two runs are equal.
func (e *engine) keep() (kept, asIs *candidate) {
	setting, run := e.snap(e.t.Default(e.q.Params, e.run)), e.t.Unset(e.q.Run)
	if e.q.Current > 0 {
		setting, run = e.q.Current, e.q.Run
		if e.t.Settings(e.q.Params, e.run) != nil {
			setting = e.snap(setting)
		}
	}
	kept = e.plan(setting, e.run)
	kept.kept = true
	if run != e.run {
		asIs = e.plan(setting, run)
		asIs.kept = true
	}
	return kept, asIs
}

func (e *engine) snap(setting int64) int64 { return Snap(e.t, e.q.Params, e.run, setting) }

// Snap rounds a setting, in elements, up to a valid value of a trainer's knob.
func Snap(t trainer.Trainer, params []trainer.Param, run trainer.Run, setting int64) int64 {
	few := t.Settings(params, run)
	if i := slices.IndexFunc(few, func(s int64) bool { return s >= setting }); i >= 0 {
		return few[i]
	} else if few != nil {
		return few[len(few)-1]
	}
	step := t.Step(setting, run)
	return max(step, (setting+step-1)/step*step)
}

// settings returns the settings to try: a geometric grid, the sums of neighbouring tensors, the trainer's
// default, the user's setting, and one bucket.
func (e *engine) settings() []int64 {
	if few := e.t.Settings(e.q.Params, e.run); few != nil {
		return few
	}
	total := gradients(e.q.Params)
	// The first setting makes one bucket, even with padding.
	all := []int64{e.snap(total + int64(len(e.q.Params))*64), e.snap(e.t.Default(e.q.Params, e.run))}
	for s := float64(max(leastSetting, perRank*int64(e.run.DP))); s < float64(total); s *= gridStep {
		all = append(all, e.snap(int64(s)))
	}
	if !e.coarse {
		for _, s := range e.edges(total) {
			all = append(all, e.snap(s))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	// maxEdges is the most sums of tensors tried in addition to the grid. With more than exactTensors
	// tensors, an octave is divided into 2^binBits bins, and one sum per bin is kept.
	maxEdges     = 2048
	exactTensors = 512
	binBits      = 7
)

// wholeStep is the ratio of neighbouring settings of the layer-wise rule.
const wholeStep = 1.0905077326652577 // 2^(1/8)

// edges returns settings in addition to the grid that can change where buckets end. With Megatron's
// layer-wise rule such settings are not sums of neighbouring tensors, so edges returns a finer grid.
func (e *engine) edges(total int64) []int64 {
	if !e.run.LayerWise || e.run.LegacyLayout || e.run.Zero == 0 {
		return sums(e.q.Params, leastSetting, total, maxEdges)
	}
	var all []int64
	for s := float64(leastSetting); s < float64(total); s *= wholeStep {
		all = append(all, int64(s))
	}
	return all
}

// sums returns at most `most` sums of neighbouring tensors from lo to hi, evenly spread in their logarithm.
// Such sums decide where buckets end.
func sums(params []trainer.Param, lo, hi int64, most int) []int64 {
	before := make([]int64, 1, len(params)+1)
	for i, p := range params {
		before = append(before, before[i]+p.Elements)
	}
	find := allSums
	if len(params) > exactTensors {
		find = binnedSums
	}
	return spread(find(before, lo, hi), most)
}

// allSums returns the differences of a rising list that lie between lo and hi, ascending.
func allSums(before []int64, lo, hi int64) []int64 {
	var all []int64
	for to := range before {
		for from := range to {
			if s := before[to] - before[from]; lo <= s && s <= hi {
				all = append(all, s)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// binnedSums returns the least difference in each bin. One walk over the list finds the least difference
// above the previous bins.
func binnedSums(before []int64, lo, hi int64) []int64 {
	var all []int64
	for least := max(1, lo); ; {
		s := leastSum(before, least)
		if s > hi {
			return all
		}
		all = append(all, s)
		least = binEnd(s)
	}
}

// leastSum returns the least difference of a rising list that is at least `least`; MaxInt64 if there is
// none.
func leastSum(before []int64, least int64) int64 {
	best := int64(math.MaxInt64)
	from := 0
	for _, b := range before {
		// before[from] is the first entry that lies less than `least` below b. before[from-1] is the
		// nearest entry that is far enough below.
		for b-before[from] >= least {
			from++
		}
		if from > 0 {
			if s := b - before[from-1]; s < best {
				if best = s; s == least {
					return s
				}
			}
		}
	}
	return best
}

// bin returns the number of the bin that contains a positive sum.
func bin(s int64) uint64 { return math.Float64bits(float64(s)) >> (52 - binBits) }

// binEnd returns the least sum above the bin of a given sum.
func binEnd(s int64) int64 {
	return int64(math.Ceil(math.Float64frombits((bin(s) + 1) << (52 - binBits))))
}

// spread keeps at most `most` of the ascending values, evenly spread in their logarithm.
func spread(all []int64, most int) []int64 {
	if len(all) <= most {
		return all
	}
	first := float64(max(1, all[0]))
	ratio := math.Log(float64(all[len(all)-1]) / first)
	kept := make([]int64, 0, most)
	for i := range most {
		at, _ := slices.BinarySearch(all, int64(first*math.Exp(ratio*float64(i)/float64(most-1))))
		kept = append(kept, all[min(at, len(all)-1)])
	}
	return slices.Compact(kept)
}
