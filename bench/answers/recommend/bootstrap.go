package recommend

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// bootstrap repeats the answer with resampled curves. It removes settings from Within that do not stay
// within PlateauWidth. It returns nil if the spread of a curve is unknown.
func (e *engine) bootstrap(a *Answer, s scores, least, best int) *Bootstrap {
	b := &Bootstrap{Replicates: e.q.Bootstrap, From: FromSamples}
	draws := e.resamplers(b)
	if draws == nil || e.q.Bootstrap < 1 {
		return nil
	}
	d := &drawn{in: e.contenders(s, least, best)}
	able := slice.Map(d.in, func(j int) *candidate { return e.candidates[j] })
	var answers []int64
	var exposed, costs []float64
	inside, plateau := 0, e.plateau(s, least)
	rng := rand.New(rand.NewPCG(e.q.Seed, 0))
	for range e.q.Bootstrap {
		models := make([]*CostModel, len(e.models))
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
		x := s.exposed[d.place(least)]
		exposed = append(exposed, x[backward]+x[forward]+x[after])
		d.costs = append(d.costs, s.costs(at, s.least))
		costs = append(costs, d.costs[len(d.costs)-1][d.place(best)])
	}
	slices.Sort(answers)
	n := len(answers)
	b.Lo, b.Hi = answers[n*25/1000], answers[n-1-n*25/1000]
	b.InPlateau = float64(inside) / float64(n)
	b.ExposedLo, b.ExposedHi = stat.Quantile(exposed, 0.025), stat.Quantile(exposed, 0.975)
	b.CostHi, b.Holds = stat.Quantile(costs, believed), e.narrow(a, s, best, d)
	for _, c := range e.candidates {
		c.price(e.models)
	}
	return b
}

// resamplers returns one resampler per curve, or nil if the spread of any curve is unknown. It sets b.From
// to the weakest source of the curves' spread.
func (e *engine) resamplers(b *Bootstrap) []*Resampler {
	var draws []*Resampler
	for i := range e.curves {
		r := e.curves[i].Resampler()
		if r == nil {
			return nil
		}
		if r.From != FromSamples {
			b.From = r.From
		}
		draws = append(draws, r)
	}
	return draws
}

// A statement about settings must hold for at least the share `believed` of the resampled curves.
const believed = 0.95

// `drawn` holds the costs of candidates by resampled curve.
type drawn struct {
	// `in` holds the indices of the priced candidates, ascending. costs[n][k] is the cost of candidate
	// in[k] with resampled curve n.
	in    []int
	costs [][]float64
}

// place returns a candidate's index in d.in, or the index of the next priced candidate.
func (d *drawn) place(candidate int) int {
	k, _ := slices.BinarySearch(d.in, candidate)
	return min(k, len(d.in)-1)
}

// narrow removes settings from Within, the least certain first, until a share `believed` of the resampled
// curves has all remaining settings within PlateauWidth at once. It returns the share of curves that have
// the answer itself within PlateauWidth. If that share is less than `believed`, narrow removes nothing.
func (e *engine) narrow(a *Answer, s scores, best int, d *drawn) float64 {
	all := float64(len(d.costs))
	wrong := map[int][]int{best: e.wrong(a, s, best, d)}
	share := 1 - float64(len(wrong[best]))/all
	if share < believed {
		return share
	}
	var listed []int
	for j, c := range e.candidates {
		if j != best && holds(a.Within, c.Elements) {
			wrong[j] = e.wrong(a, s, j, d)
			listed = append(listed, j)
		}
	}
	slices.SortStableFunc(listed, func(i, j int) int { return cmp.Compare(len(wrong[i]), len(wrong[j])) })
	kept, failed := map[int]bool{}, map[int]bool{}
	for _, j := range slices.Insert(listed, 0, best) {
		together := maps.Clone(failed)
		for _, n := range wrong[j] {
			together[n] = true
		}
		if 1-float64(len(together))/all >= believed {
			kept[j], failed = true, together
		}
	}
	e.list(a, func(j int) bool { return kept[j] })
	return share
}

// `wrong` lists the curves in which a candidate costs more than PlateauWidth. For a candidate that was not
// priced it takes the costs of a priced neighbour. It shifts these costs by the difference between the two
// candidates' measured costs.
func (e *engine) wrong(a *Answer, s scores, j int, d *drawn) []int {
	k := d.place(j)
	moved := a.costOf(&e.candidates[j].Candidate, s.least) - a.costOf(&e.candidates[d.in[k]].Candidate, s.least)
	var all []int
	for n, costs := range d.costs {
		if costs[k]+moved > PlateauWidth {
			all = append(all, n)
		}
	}
	return all
}

const (
	// A candidate can still become the best with a resampled curve if its regret in a scenario is at most
	// `contending`. maxContenders is the largest number of candidates that are resampled.
	contending    = 0.05
	maxContenders = 256
)

// contenders returns the candidates that could become the best with a resampled curve, and the candidates
// in `keep`. If there are more than maxContenders, it leaves out some at even distances, but none of
// `keep`.
func (e *engine) contenders(s scores, keep ...int) []int {
	var in []int
	for j, c := range e.candidates {
		near := slices.Contains(keep, j)
		for i, steps := range s.steps {
			near = near || !c.OverBudget && steps[j] <= s.leastSteps[i]*(1+contending)
		}
		if near {
			in = append(in, j)
		}
	}
	every := (len(in) + maxContenders - 1) / maxContenders
	var able []int
	for n, j := range in {
		if n%every == 0 || slices.Contains(keep, j) {
			able = append(able, j)
		}
	}
	return able
}
