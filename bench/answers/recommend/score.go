package recommend

import (
	"math"
)

// Limits of equal and of acceptable settings, as shares of a step.
const (
	// Tie is the difference from the least score up to which scores count as equal. If the current setting is
	// one of several equal settings, it is chosen. Otherwise the smallest setting is chosen.
	Tie = 0.001
	// PlateauWidth is the cost up to which the current setting is kept.
	PlateauWidth = 0.01
)

// scores are the results of simulating all candidates in all scenarios.
type scores struct {
	// steps[i][j] is the step of candidate j in scenario i. exposed[j] is the communication that is not
	// hidden, by pass, in the nominal scenario. score and worst are the mean and the largest regret of each
	// candidate. `least` is the lowest score within the memory budget.
	steps   [][]float64
	exposed [][3]float64
	score   []float64
	worst   []float64
	least   float64
	// leastSteps[i] is the best step of scenario i.
	leastSteps []float64
}

// score simulates all candidates with the models' costs.
func (e *engine) score(models []*CostModel, all []*candidate) scores {
	s := scores{steps: make([][]float64, len(e.scenarios)), exposed: make([][3]float64, len(all))}
	for i := range s.steps {
		s.steps[i] = make([]float64, len(all))
	}
	for j, c := range all {
		c.price(models)
		for i, t := range e.timings(c, e.scenarios) {
			s.steps[i][j] = t.step
			if i == 0 {
				s.exposed[j] = t.exposed
			}
		}
	}
	s.regrets(all)
	return s
}

// regrets turns steps into scores. Candidates over the memory budget are excluded.
func (s *scores) regrets(all []*candidate) {
	n := len(all)
	s.score, s.worst = make([]float64, n), make([]float64, n)
	for _, steps := range s.steps {
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
		}
	}
	s.least = math.Inf(1)
	for j, c := range all {
		if !c.OverBudget {
			s.least = min(s.least, s.score[j])
		}
	}
}

// `best` returns the current setting if its score counts as the least, otherwise the smallest setting with such
// a score.
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

// costs returns each candidate's cost. The cost is the increase of the step as measured over candidate
// `over`, or the increase of the mean regret over `regret` if that is larger.
func (s *scores) costs(over int, regret float64) []float64 {
	all := make([]float64, len(s.score))
	for j := range all {
		all[j] = max(s.steps[0][j]/s.steps[0][over]-1, s.score[j]-regret)
	}
	return all
}

// plateau returns the contiguous range of settings around the setting of least score whose scores are
// within PlateauWidth of the least. Answers of resampled curves inside this range count as the same answer.
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
