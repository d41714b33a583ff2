package recommend

import (
	"math/rand/v2"
	"slices"

	"zbench/bench/cost"
	"zbench/bench/stat"
)

// bootstrap repeats the answer with resampled curves. It is nil if the spread of a
// curve is unknown.
func (e *engine) bootstrap(s scores, best int, plateau Range) *Bootstrap {
	b := &Bootstrap{Replicates: e.q.Bootstrap, From: cost.FromSamples}
	var draws []*cost.Resampler
	for i := range e.curves {
		r := e.curves[i].Resampler()
		if r == nil {
			return nil
		}
		if r.From != cost.FromSamples {
			b.From = r.From
		}
		draws = append(draws, r)
	}
	if e.q.Bootstrap < 1 {
		return nil
	}
	var answers []int64
	var exposed []float64
	rng := rand.New(rand.NewPCG(e.q.Seed, 0))
	inside := 0
	able := e.contenders(s, best)
	for range e.q.Bootstrap {
		models := make([]*cost.Model, len(e.models))
		for i, m := range e.models {
			models[i] = m.With(draws[i].Draw(rng))
		}
		s := e.score(models, able)
		at, _ := s.best(able)
		setting := able[at].Elements
		answers = append(answers, setting)
		if plateau.Holds(setting) {
			inside++
		}
		x := s.exposed[slices.Index(able, e.candidates[best])]
		exposed = append(exposed, x[backward]+x[forward]+x[after])
	}
	slices.Sort(answers)
	n := len(answers)
	b.Lo, b.Hi = answers[n*25/1000], answers[n-1-n*25/1000]
	b.InPlateau = float64(inside) / float64(n)
	b.ExposedLo, b.ExposedHi = stat.Quantile(exposed, 0.025), stat.Quantile(exposed, 0.975)
	for _, c := range e.candidates {
		c.price(e.models)
	}
	return b
}

const (
	// contending is the largest regret in a scenario at which a resampled curve can
	// still make a candidate the best; maxContenders is the most that are resampled.
	contending    = 0.05
	maxContenders = 256
)

// contenders are the candidates that a resampled curve could choose or compare with. If
// there are too many, they are thinned evenly; the answer is kept.
func (e *engine) contenders(s scores, best int) []*candidate {
	scenarios := make([]int, len(s.steps))
	for i := range scenarios {
		scenarios[i] = i
	}
	var in []int
	for j, c := range e.candidates {
		if c.OverBudget {
			continue
		}
		near := func(i int) bool { return s.steps[i][j] <= s.leastSteps[i]*(1+contending) }
		if j == best || slices.ContainsFunc(scenarios, near) {
			in = append(in, j)
		}
	}
	every := (len(in) + maxContenders - 1) / maxContenders
	var able []*candidate
	for n, j := range in {
		if n%every == 0 || j == best {
			able = append(able, e.candidates[j])
		}
	}
	return able
}
