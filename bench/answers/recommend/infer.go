package recommend

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

// The quantities of a job that its curves do not show.
const (
	ofCompute = iota
	ofContention
	ofNetwork
	ofRest
	ofBucket
	ofShared
	unknowns
)

// guess has one value per quantity, in units of the quantity's uncertainty.
type guess [unknowns]float64

// belief is the assumption about one quantity before any step is observed. scale is the size of one unit of
// a guess; lo and hi are the bounds in such units. `free` marks a quantity without a likely value.
type belief struct {
	scale, lo, hi float64
	free          bool
}

type beliefs [unknowns]belief

// job is a guess in the quantities' own units.
type job [unknowns]float64

// Units of the beliefs. The uncertainty of computation, and how much longer messages take, are as in the
// scenarios of [Grid].
const (
	measuredCompute, estimatedCompute = 0.2, 0.4
	contentionUnit                    = 0.2
	networkUnit, fasterUnit           = 0.35, 0.05
	restUnit                          = 0.1
	// farthest is the largest distance of a quantity from its assumed value, in units.
	farthest = 3
)

// unknownCompute is the logarithm of the largest ratio between an unknown computation time and the gradients'
// time on the network.
var unknownCompute = math.Log(32)

// `ordinary` returns the beliefs about a job that the model fits.
func ordinary(e *engine) beliefs {
	b := beliefs{
		ofCompute:    {scale: measuredCompute, lo: -farthest, hi: farthest},
		ofContention: {scale: contentionUnit, hi: farthest},
		ofNetwork:    {scale: networkUnit, lo: -farthest, hi: farthest},
		ofRest:       {scale: restUnit, hi: farthest},
	}
	switch {
	case !e.known:
		b[ofCompute] = belief{scale: unknownCompute, lo: -1, hi: 1, free: true}
	case e.q.ComputeGuessed:
		b[ofCompute].scale = estimatedCompute
	}
	return b
}

// `other` is a job that the model does not fit.
type other struct {
	code    string
	beliefs beliefs
	message func(j job) string
}

// `others` returns the kinds of jobs that the model does not fit, but that the fit can recognise. Each kind
// has one quantity that an ordinary job lacks.
func others(e *engine) []other {
	serial, slow, each, flying := ordinary(e), ordinary(e), ordinary(e), ordinary(e)
	serial[ofContention] = belief{scale: 1e9, lo: 1, hi: 1, free: true}
	slow[ofNetwork] = belief{scale: 2, lo: 0, hi: farthest, free: true}
	each[ofBucket] = belief{scale: e.wire(), hi: 1, free: true}
	flying[ofShared] = belief{scale: 1, lo: 0.1, hi: 1, free: true}
	return []other{
		{"no_overlap", serial, func(job) string {
			return "computation waits for every message: overlap is off, or something waits for the communication stream"
		}},
		{"in_flight", flying, func(j job) string {
			return fmt.Sprintf("two messages are on the network at once and overlap %s of their latencies: the library has two threads or streams for them, as gloo has", percent(j[ofShared]))
		}},
		{"slow_network", slow, func(j job) string {
			return fmt.Sprintf("messages take %.2g times as long as in the sweep: another job is on the network, or the sweep was of other ranks or settings", j[ofNetwork])
		}},
		{"per_bucket", each, func(j job) string {
			return fmt.Sprintf("every bucket takes %s more than its message: copies, hooks or launches on the host, which a sweep does not have", unit.Seconds(j[ofBucket]))
		}},
	}
}

// `explained` is the fit of an engine's observed steps.
type explained struct {
	e       *engine
	beliefs beliefs
	seen    []seen
	// `best` is the guess of the best fit. `far` is the distance of that guess.
	best guess
	far  float64
	// draws are guesses, drawn at random by their probability.
	draws []guess
}

// meaning converts a guess to base units.
func (z guess) meaning(x *explained) job {
	var j job
	for i, b := range x.beliefs {
		j[i] = z[i] * b.scale
	}
	if z[ofNetwork] < 0 {
		j[ofNetwork] = z[ofNetwork] * fasterUnit
	}
	j[ofCompute], j[ofNetwork] = math.Exp(j[ofCompute]), 1+j[ofNetwork]
	j[ofRest] = j[ofRest] * j[ofCompute] * float64(x.e.run.Microbatches()) * (x.e.backward + x.e.forward)
	return j
}

// scenario returns a job as a scenario. The computation is divided by `times`.
func (j job) scenario(times float64) Scenario {
	return Scenario{Network: j[ofNetwork], Compute: j[ofCompute] / times, Contention: j[ofContention], Rest: j[ofRest], Each: j[ofBucket], Shared: j[ofShared]}
}

// step returns the step of a priced candidate in a job, in seconds.
func (x *explained) step(c *candidate, j job) float64 {
	return x.e.timings(c, []Scenario{j.scenario(1)})[0].step
}

// distance returns how far a guess is from the observed steps and from the assumptions, as a sum of squares.
func (x *explained) distance(z guess) float64 {
	j, sum := z.meaning(x), 0.0
	for _, s := range x.seen {
		d := (math.Log(x.step(s.candidate, j)) - s.log) / s.sigma
		sum += d * d
	}
	for i, b := range x.beliefs {
		if !b.free {
			sum += z[i] * z[i]
		}
	}
	return sum
}

// `inside` moves a guess into its bounds.
func (x *explained) inside(z guess) guess {
	for i, b := range x.beliefs {
		z[i] = min(b.hi, max(b.lo, z[i]))
	}
	return z
}

const (
	// starts is the number of points from which the search starts: the assumptions, and the best of
	// `scattered` random points.
	starts, scattered = 4, 200
	// leastStep is the step size at which the search ends.
	leastStep = 1e-3
)

// search finds the best guess. It starts from the assumptions and from the best random points, and varies
// one quantity at a time, in steps that get smaller.
func (x *explained) search() {
	rng := rand.New(rand.NewPCG(x.e.q.Seed, 1))
	type point struct {
		guess
		far float64
	}
	begin := x.inside(guess{})
	from := []point{{begin, x.distance(begin)}}
	for range scattered {
		var z guess
		for i, b := range x.beliefs {
			z[i] = b.lo + rng.Float64()*(b.hi-b.lo)
		}
		from = append(from, point{z, x.distance(z)})
	}
	slices.SortStableFunc(from[1:], func(a, b point) int { return cmp.Compare(a.far, b.far) })
	x.far = math.Inf(1)
	for _, p := range from[:starts] {
		if z, far := x.descend(p.guess, p.far); far < x.far {
			x.best, x.far = z, far
		}
	}
}

// descend returns the best guess near z and its distance. far is the distance of z.
func (x *explained) descend(z guess, far float64) (guess, float64) {
	for step := 0.5; step > leastStep; {
		moved := false
		for i := range z {
			for _, d := range []float64{step, -step} {
				to := z
				to[i] += d
				to = x.inside(to)
				if to == z {
					continue
				}
				if f := x.distance(to); f < far {
					z, far, moved = to, f, true
				}
			}
		}
		if !moved {
			step /= 2
		}
	}
	return z, far
}

const (
	// walk is the number of steps of the random walk; every kept-th guess is kept.
	walk, kept = 6000, 24
	// scenariosKept is the number of draws that the answer is averaged over, in addition to the best fit.
	scenariosKept = 11
)

// sample draws guesses by their probability with a random walk (Metropolis) in steps of all sizes.
func (x *explained) sample() {
	rng := rand.New(rand.NewPCG(x.e.q.Seed, 2))
	z, far := x.best, x.far
	for n := range walk {
		to, scale := z, math.Pow(10, -2*rng.Float64())
		for i, b := range x.beliefs {
			if rng.IntN(2) == 0 {
				to[i] += scale * rng.NormFloat64() * min(1, b.hi-b.lo)
			}
		}
		if to == x.inside(to) {
			if f := x.distance(to); rng.Float64() < math.Exp((far-f)/2) {
				z, far = to, f
			}
		}
		if n%kept == kept-1 {
			x.draws = append(x.draws, z)
		}
	}
}

// scenarios returns scenarios that agree with the observed steps: the best fit first, then draws.
// Computation is relative to the best fit.
func (x *explained) scenarios() []Scenario {
	best := x.best.meaning(x)
	all := []Scenario{best.scenario(best[ofCompute])}
	for i := range scenariosKept {
		all = append(all, x.draws[(2*i+1)*len(x.draws)/(2*scenariosKept)].meaning(x).scenario(best[ofCompute]))
	}
	return all
}

// fill copies the fit into f.
func (x *explained) fill(f *Fit) {
	j := x.best.meaning(x)
	for i := range f.Settings {
		o, c := &f.Settings[i], x.seen[i].candidate
		o.Fitted = x.step(c, j)
		if x.e.known {
			before := x.step(c, job{ofCompute: 1, ofNetwork: 1})
			o.Predicted = &before
		}
	}
	slices.SortStableFunc(f.Settings, func(a, b Observed) int { return cmp.Compare(a.Elements, b.Elements) })
	f.Compute, f.Contention = x.estimate(ofCompute), x.estimate(ofContention)
	f.Network, f.Rest = x.estimate(ofNetwork), x.estimate(ofRest)
}

// A quantity counts as inferred if the width of its interval is at most the share `halved` of the assumed
// width.
const halved = 0.5

// estimate returns the best value of a quantity and its 95 % interval over the draws. A quantity other than
// computation is inferred only from several settings.
func (x *explained) estimate(i int) Estimate {
	var values, units []float64
	for _, z := range x.draws {
		values, units = append(values, z.meaning(x)[i]), append(units, z[i])
	}
	slices.Sort(values)
	width := stat.Quantile(units, 0.975) - stat.Quantile(units, 0.025)
	b, before := x.beliefs[i], width95
	switch {
	case b.free:
		before = b.hi - b.lo
	case b.lo == 0:
		before = width95 / 2
	}
	best := x.best.meaning(x)[i]
	return Estimate{
		Value: best, Lo: min(best, stat.QuantileSorted(values, 0.025)), Hi: max(best, stat.QuantileSorted(values, 0.975)),
		Inferred: width < halved*before && (i == ofCompute || len(x.seen) > 1),
	}
}

// `predicted` returns the step with a setting, and the interval in which measured medians should lie.
func (x *explained) predicted(c *candidate) Predicted {
	c.price(x.e.models)
	steps := slice.Map(x.draws, func(z guess) float64 { return x.step(c, z.meaning(x)) })
	slices.Sort(steps)
	step := x.step(c, x.best.meaning(x))
	wide := func(q float64) float64 {
		return math.Hypot(math.Log(stat.QuantileSorted(steps, q)/step), modelError*width95/2)
	}
	return Predicted{Elements: c.Elements, Step: step, Lo: step * math.Exp(-wide(0.025)), Hi: step * math.Exp(wide(0.975))}
}
