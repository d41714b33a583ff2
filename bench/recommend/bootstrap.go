package recommend

import (
	"math/rand/v2"
	"slices"

	"zbench/bench/cost"
	"zbench/bench/stat"
)

// bootstrap asks again with curves as other measurements might have given them.
// It is nil where the spread of a curve is not known.
func (e *engine) bootstrap(best int, plateau Range) *Bootstrap {
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
	for range e.q.Bootstrap {
		models := make([]*cost.Model, len(e.models))
		for i, m := range e.models {
			models[i] = m.With(draws[i].Draw(rng))
		}
		s := e.score(models, e.candidates)
		at, _ := s.best(e.candidates)
		setting := e.candidates[at].Elements
		answers = append(answers, setting)
		if plateau.Lo <= setting && setting <= plateau.Hi {
			inside++
		}
		x := s.exposed[best]
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
