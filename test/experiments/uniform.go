package experiments

import (
	"slices"

	"zbench/bench/answers/bisect"
)

// uniformRounds has the results of UniformRounds at full size, for a start that costs as much as
// ten cases. The full run checks them.
var uniformRounds = map[string][2]int{"linear": {6, 4}, "a period": {7, 4}, "a step": {8, 6}}

// uniformly measures every build and size a number of times. The builds are in random order in each
// round.
func uniformly(seed uint64, planted float64, d Drift, rounds int) (*Allocation, []bisect.Outcome) {
	a := newAllocation(seed, planted, d, 10, float64(rounds*bisectBuilds))
	s := bisect.New(bisectBuilds, bisectSizes, bisect.Defaults())
	all := make([]int, bisectSizes)
	for i := range all {
		all[i] = i
	}
	for range rounds {
		for _, v := range a.rng.Perm(bisectBuilds) {
			s.Add(a.measure(v, all))
		}
	}
	return a, s.Outcomes()
}

// largest returns the case with the most evidence.
func largest(outcomes []bisect.Outcome) (size int) {
	for i, o := range outcomes {
		if o.Evidence > outcomes[size].Evidence {
			size = i
		}
	}
	return size
}

// `above` blames the case with the most evidence, if this evidence exceeds the threshold.
func above(outcomes []bisect.Outcome, threshold float64) []bisect.Outcome {
	size := largest(outcomes)
	out := make([]bisect.Outcome, len(outcomes))
	if most := outcomes[size]; most.Evidence > threshold {
		out[size].Verdict, out[size].First = bisect.Slower, most.Likeliest
	}
	return out
}

// UniformRounds returns the smallest number of rounds with which equal sampling names the first
// slow build in 95 of 100 searches and blames a wrong one in at most 2 of 100, with and without a
// slow build. It uses the test of bisect. If calibrated is true, it instead blames the largest
// evidence if this exceeds a threshold. In 98 of 100 searches without a slow build, all evidence is
// below that threshold. The threshold is the best possible one, but cannot be known in advance.
func UniformRounds(seeds int, d Drift, calibrated bool) int {
	right, wrong := Bar{Rate: 0.95}, Bar{Rate: 0.02, AtMost: true}
	for rounds := 2; ; rounds++ {
		var evidence []float64
		found, blamed, none := 0, 0, 0
		for seed := range uint64(seeds) { //nolint:gosec // the number of seeds is not negative
			a, o := uniformly(seed, 0, d, rounds)
			evidence = append(evidence, o[largest(o)].Evidence)
			if _, b := a.judge(o); b {
				none++
			}
		}
		slices.Sort(evidence)
		threshold := evidence[seeds-1-seeds/50]
		for seed := range uint64(seeds) { //nolint:gosec // the number of seeds is not negative
			a, o := uniformly(seed, bisectSlow, d, rounds)
			if calibrated {
				o = above(o, threshold)
			}
			r, b := a.judge(o)
			if r {
				found++
			}
			if b {
				blamed++
			}
		}
		if right.Holds(found, seeds) && wrong.Holds(blamed, seeds) && (calibrated || wrong.Holds(none, seeds)) {
			return rounds
		}
	}
}
