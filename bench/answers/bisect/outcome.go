package bisect

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"zbench/bench/answers/compare"
	"zbench/bench/base/slice"
)

// Outcome is the result of a case.
type Outcome struct {
	Verdict compare.Verdict
	// First is the first slow variant if the verdict is Slower, else −1. Probability is the probability of
	// First or, if the verdict is Same or Unclear, of no slow variant.
	First       int
	Probability float64
	// Evidence is the log likelihood ratio of a slow variant to no slow variant. Likeliest is the
	// likeliest first slow variant, −1 if none was weighed.
	Evidence  float64
	Likeliest int
	// Effects holds the readings of each variant of the search, without the variant's name.
	Effects []Reading
}

// Outcomes returns the outcomes of all cases so far.
func (s *Search) Outcomes() []Outcome {
	working := s.working()
	out := make([]Outcome, s.cases)
	for i := range out {
		out[i] = Outcome{Verdict: NotChecked, First: -1, Likeliest: -1, Effects: make([]Reading, s.variants)}
		for v := range out[i].Effects {
			out[i].Effects[v] = s.effect(v, i)
		}
	}
	if len(working) < 2 {
		return out
	}
	n, normals := estimate(s.readings(working), len(working))
	for i := range out {
		n.measure(&out[i], working, normals[i])
	}
	if s.Unordered {
		s.rank(working, out)
	} else {
		s.name(working, out)
	}
	return out
}

// effect returns a variant's reading with only the number and the median of its times.
func (s *Search) effect(variant, c int) (e Reading) {
	of := slice.Where(s.trials, func(t Trial) bool { return t.Variant == variant && usable(t.Seconds[c]) })
	times := slice.Map(of, func(t Trial) float64 { return t.Seconds[c] })
	if e.Children = len(times); e.Children > 0 {
		slices.Sort(times)
		e.Seconds = known((times[(len(times)-1)/2] + times[len(times)/2]) / 2)
	}
	return e
}

// measure fills in the changes against the first variant.
func (n noise) measure(o *Outcome, working []int, of *normal) {
	if of.n == 0 || n.df < 1 {
		return
	}
	f := of.solve()
	half := distuv.StudentsT{Sigma: 1, Nu: float64(n.df)}.Quantile(0.975) * math.Sqrt(n.variance())
	for i, v := range working {
		d := f.effects[i] - f.effects[0]
		if i == 0 || math.IsNaN(d) {
			continue
		}
		wide := half * math.Sqrt(f.covariance[i][i])
		e := &o.Effects[v]
		e.Change, e.Lo, e.Hi = known(math.Expm1(d)), known(math.Expm1(d-wide)), known(math.Expm1(d+wide))
	}
}

// name sets the verdicts of cases of ordered variants.
func (s *Search) name(working []int, out []Outcome) {
	_, normals, cases := s.judge(working)
	for i := range cases {
		j := &cases[i]
		switch {
		case s.gone[i] || normals[i].n == 0:
			continue
		case j.from == nil: // too few readings to weigh
			out[i].Verdict, out[i].Probability = Unclear, math.NaN()
			continue
		}
		odds := math.Exp(min(j.evidence, 700)) / float64(len(s.present()))
		out[i].Verdict, out[i].Evidence, out[i].Likeliest = Unclear, j.evidence, working[j.first]
		out[i].Probability = 1 / (1 + odds)
		switch {
		case j.slow && j.located:
			out[i].Verdict, out[i].First, out[i].Probability = Slower, working[j.first], j.from[j.first]
		case j.same:
			out[i].Verdict = Same
		}
	}
}

// rank sets the ranks and verdicts of cases of unordered variants.
func (s *Search) rank(working []int, out []Outcome) {
	for i, pairs := range s.pair(working) {
		if s.gone[i] {
			continue
		}
		ranks := make([]int, len(working))
		differ, open := false, false
		for _, p := range pairs {
			differ, open = differ || p.differ, open || !p.differ && !p.same
			switch {
			case p.differ && p.difference > 0:
				ranks[p.b]++
			case p.differ:
				ranks[p.a]++
			}
		}
		for k, v := range working {
			out[i].Effects[v].Rank = ranks[k] + 1
		}
		switch {
		case open:
			out[i].Verdict = Unclear
		case differ:
			out[i].Verdict = Ranked
		default:
			out[i].Verdict = Same
		}
	}
}

// First returns the first variant that is slow in any case, −1 if none is named.
func First(outcomes []Outcome) int {
	first := -1
	for _, o := range outcomes {
		if o.Verdict == Slower && (first < 0 || o.First < first) {
			first = o.First
		}
	}
	return first
}
