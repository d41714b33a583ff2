package recommend

import (
	"math"

	"zbench/bench/cost"
)

// What counts as equal and as hardly worse, as shares of a step.
const (
	// Tie is how much worse than the least a score may be and still count as
	// equal; of those the setting that there is, if it is one, or the smallest is
	// taken.
	Tie = 0.001
	// PlateauWidth is how much worse a setting may be and still be kept.
	PlateauWidth = 0.01
)

// scores are what simulating all candidates in all scenarios gave.
type scores struct {
	// steps[i][j] is the step of candidate j in scenario i; exposed[j] what
	// communication adds in the nominal one.
	steps   [][]float64
	exposed [][3]float64
	score   []float64
	worst   []float64
	nominal []float64
	least   float64
	// leastSteps[i] is the best step of scenario i.
	leastSteps []float64
}

// score simulates the candidates with the models' costs.
func (e *engine) score(models []*cost.Model, all []*candidate) scores {
	s := scores{steps: make([][]float64, len(e.scenarios)), exposed: make([][3]float64, len(all))}
	for i := range s.steps {
		s.steps[i] = make([]float64, len(all))
	}
	for j, c := range all {
		c.price(models)
		for i, scenario := range e.scenarios {
			step, exposed := e.times(c, scenario)
			s.steps[i][j] = step
			if i == 0 {
				s.exposed[j] = exposed
			}
		}
	}
	s.regrets(all)
	return s
}

// regrets turns steps into scores. Candidates over the memory budget count
// nowhere: they cannot be had.
func (s *scores) regrets(all []*candidate) {
	n := len(all)
	s.score, s.worst, s.nominal = make([]float64, n), make([]float64, n), make([]float64, n)
	for i, steps := range s.steps {
		best := math.Inf(1)
		for j, t := range steps {
			if !all[j].OverBudget {
				best = min(best, t)
			}
		}
		s.leastSteps = append(s.leastSteps, best)
		for j, t := range steps {
			r := t/best - 1
			s.score[j] += r / float64(len(s.steps))
			s.worst[j] = max(s.worst[j], r)
			if i == 0 {
				s.nominal[j] = r
			}
		}
	}
	s.least = math.Inf(1)
	for j, c := range all {
		if !c.OverBudget {
			s.least = min(s.least, s.score[j])
		}
	}
}

// best is the setting that is kept if its score counts as the least, and else the
// smallest whose does.
func (s *scores) best(all []*candidate) (int, bool) {
	first, found := 0, false
	for j, c := range all {
		if c.OverBudget || s.score[j] > s.least+Tie {
			continue
		}
		if c.kept {
			return j, true
		}
		if !found {
			first, found = j, true
		}
	}
	return first, found
}

// plateau is the settings around the one of least score whose score is hardly worse,
// without a gap: what a resampled curve may answer without being called another answer.
func (e *engine) plateau(s scores, least int) Range {
	in := func(j int) bool { return !e.candidates[j].OverBudget && s.score[j] <= s.least+PlateauWidth }
	lo, hi := least, least
	for lo > 0 && in(lo-1) {
		lo--
	}
	for hi < len(e.candidates)-1 && in(hi+1) {
		hi++
	}
	return Range{Lo: e.candidates[lo].Elements, Hi: e.candidates[hi].Elements}
}
