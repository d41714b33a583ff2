package recommend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

// Observation is a setting and the steps that were timed with it.
type Observation struct {
	// Elements is the setting; 0 is the trainer's behaviour if nothing is set.
	Elements int64
	// Seconds are the steps in the order of their measurement.
	Seconds []float64
}

// Fit compares the model with observed steps.
type Fit struct {
	// Fits is false if nothing explains the steps; there is then no answer.
	Fits bool `json:"fits"`
	// Chance is the probability that the steps of a job that fits the model differ from the model by at
	// least as much as the observed steps.
	Chance float64 `json:"chance" jsonschema:"maximum=1"`
	// Settings are the observed settings, ascending.
	Settings []Observed `json:"settings"`
	// Compute is the computation time divided by the given computation time or, if no time was given, by
	// the gradients' time on the network.
	Compute Estimate `json:"compute"`
	// Contention is how much longer computation takes while a message is on the network, as a
	// share.
	Contention Estimate `json:"contention"`
	// Network is the time of messages divided by their time in the sweep.
	Network Estimate `json:"network"`
	// Rest is the time of a step outside of both passes, in seconds.
	Rest Estimate `json:"rest"`
	// Before is the range of the best setting over the scenarios that are assumed without observed steps;
	// null without an answer.
	Before *Range `json:"before"`
	// After is the range of the best setting over the scenarios that the observed steps allow; null without
	// an answer.
	After *Range `json:"after"`
	// Curve is the predicted step of the observed run, by setting, ascending.
	Curve []Predicted `json:"curve"`
	// Why lists the causes that would explain the steps where the model alone does not. If the model fits
	// with one cause, the list has only that cause, and the answer includes it.
	Why []Cause `json:"why"`
}

// Observed is a setting with its steps, measured and predicted.
type Observed struct {
	// Elements is the setting, in elements.
	Elements int64 `json:"elements"`
	// Unset is true where the trainer was left at its default.
	Unset bool `json:"unset,omitempty"`
	// Buckets is the number of buckets that the setting makes.
	Buckets int `json:"buckets"`
	// Steps is the number of timed steps.
	Steps int `json:"steps" jsonschema:"minimum=1"`
	// Median step, in seconds.
	Median float64 `json:"median"`
	// Lower end of the 95 % interval of the median, in seconds; null for fewer than six steps.
	Lo *float64 `json:"lo"`
	// Upper end of the 95 % interval of the median, in seconds; null for fewer than six steps.
	Hi *float64 `json:"hi"`
	// Predicted is the step as predicted without any observed step, in seconds; null if the computation was
	// not given.
	Predicted *float64 `json:"predicted"`
	// Fitted is the step of the best fit, in seconds.
	Fitted float64 `json:"fitted"`
}

// Off returns how much longer the median is than the best fit, as a share.
func (o *Observed) Off() float64 { return o.Median/o.Fitted - 1 }

// Cause is an explanation of steps that the model does not fit.
type Cause struct {
	// Short fixed name of the cause.
	Code string `json:"code"`
	// The cause in words.
	Message string `json:"message"`
}

// Estimate is the value of one quantity that the observed steps give.
type Estimate struct {
	// Value of the best fit.
	Value float64 `json:"value"`
	// Lower end of the 95 % interval.
	Lo float64 `json:"lo"`
	// Upper end of the 95 % interval.
	Hi float64 `json:"hi"`
	// Inferred is false if the steps determine the value little better than the assumption did.
	Inferred bool `json:"inferred"`
}

// Predicted is the step with one setting.
type Predicted struct {
	// Elements is the setting, in elements.
	Elements int64 `json:"elements"`
	// Step of the best fit, in seconds.
	Step float64 `json:"step"`
	// Lower end of the interval in which 95 % of measured medians lie, in seconds.
	Lo float64 `json:"lo"`
	// Upper end of the interval in which 95 % of measured medians lie, in seconds.
	Hi float64 `json:"hi"`
}

const (
	// modelError is the error of the model for a job that the model fits: the standard deviation of the
	// logarithm of a step. loneStep is the same deviation for the difference of a single timed step from the
	// median of many steps.
	modelError = 0.015
	loneStep   = 0.015
	// leastChance is the chance below which the model counts as not fitting a job's steps.
	leastChance = 0.01
	// growth is the share by which the steps of every setting must get longer during the measurement to count
	// as growing.
	growth = 0.02
)

// `unfit` is the code of the refusal if the model does not fit the observed steps.
const unfit = "does_not_fit"

// `seen` is a priced, observed setting with the logarithm of its median step and the standard error of that
// logarithm.
type seen struct {
	*candidate
	log, sigma float64
}

// fit fits the model to the observed steps of the engine's run.
func (e *engine) fit() (*Fit, *explained) {
	f := &Fit{Curve: []Predicted{}, Why: []Cause{}}
	x := e.explained(f, ordinary(e))
	f.Chance = exceeds(x.far, len(x.seen))
	grown := e.grows()
	f.Fits = f.Chance >= leastChance && !grown
	if !f.Fits {
		var repaired *explained
		if f.Why, repaired = e.why(grown); repaired != nil {
			x, f.Fits, f.Chance = repaired, true, exceeds(repaired.far, len(x.seen))
		}
	}
	x.sample()
	x.fill(f)
	for _, c := range e.candidates {
		f.Curve = append(f.Curve, x.predicted(c))
	}
	for _, s := range x.seen {
		f.Curve = append(f.Curve, x.predicted(s.candidate))
	}
	order := func(a, b Predicted) int { return cmp.Compare(a.Elements, b.Elements) }
	slices.SortStableFunc(f.Curve, order)
	f.Curve = slices.CompactFunc(f.Curve, func(a, b Predicted) bool { return order(a, b) == 0 })
	return f, x
}

// observe fits the model to the observed steps. It returns the engine for the answer, with the computation
// and the scenarios that the steps allow.
func (e *engine) observe(a *Answer) (*engine, *Refusal) {
	own, refusal := e.asked(e.q, e.q.Run, true)
	if refusal != nil {
		return nil, refusal
	}
	f, x := own.fit()
	if a.Observed = f; !f.Fits {
		return nil, e.unfit(f)
	}
	q := e.q
	j := x.best.meaning(x)
	q.Backward, q.Forward, q.ComputeGuessed = own.backward*j[ofCompute], own.forward*j[ofCompute], false
	q.Scenarios = x.scenarios()
	other, refusal := e.asked(q, e.run, false)
	if refusal == nil {
		f.Before, f.After = e.bestBetween(), other.bestBetween()
	}
	return other, refusal
}

// bestBetween returns the range of the best settings of all scenarios.
func (e *engine) bestBetween() *Range {
	s := e.score(e.models, e.candidates)
	r := Range{Lo: math.MaxInt64}
	for i, steps := range s.steps {
		for j, c := range e.candidates {
			if !c.OverBudget && steps[j] == s.leastSteps[i] {
				r.Lo, r.Hi = min(r.Lo, c.Elements), max(r.Hi, c.Elements)
				break
			}
		}
	}
	return &r
}

// `explained` starts a fit of the observed settings and lists them in f.
func (e *engine) explained(f *Fit, b beliefs) *explained {
	x := &explained{e: e, beliefs: b}
	f.Settings = nil
	for _, o := range e.q.Observed {
		run := e.run
		if o.Elements == 0 {
			run = e.t.Unset(run)
		}
		c := e.plan(o.Elements, run)
		c.price(e.models)
		s := stat.Summarize(o.Seconds)
		sigma := loneStep / math.Sqrt(float64(s.N))
		if s.Lo != nil && *s.Lo > 0 {
			sigma = math.Log(*s.Hi / *s.Lo) / width95
		} else if s.CV != nil {
			sigma = max(sigma, medianError**s.CV/math.Sqrt(float64(s.N)))
		}
		x.seen = append(x.seen, seen{c, math.Log(s.Median), math.Hypot(sigma, modelError)})
		f.Settings = append(f.Settings, Observed{Elements: c.Elements, Unset: o.Elements == 0, Buckets: c.Buckets, Steps: s.N, Median: s.Median, Lo: s.Lo, Hi: s.Hi})
	}
	x.search()
	return x
}

// `grows` reports whether the steps of every setting get longer during the measurement. In at least 90 % of
// all pairs, a step of the second half must be longer than a step of the first half. It needs at least two
// settings.
func (e *engine) grows() bool {
	const few, mostly = 10, 0.9
	settings := 0
	for _, o := range e.q.Observed {
		n := len(o.Seconds) / 2
		first, second := o.Seconds[:n], o.Seconds[n:]
		if len(o.Seconds) < few {
			continue
		}
		longer := 0
		for _, x := range first {
			for _, y := range second {
				if y > x {
					longer++
				}
			}
		}
		if float64(longer) < mostly*float64(len(first)*len(second)) || stat.Quantile(second, 0.5) < stat.Quantile(first, 0.5)*(1+growth) {
			return false
		}
		settings++
	}
	return settings > 1
}

// repairs is the number of settings needed to tell the causes apart.
const repairs = 3

// `why` returns the causes that would explain the steps; each cause is tried alone. With enough settings,
// only the best cause is returned, with its fit.
func (e *engine) why(grown bool) (all []Cause, best *explained) {
	all = []Cause{}
	if grown {
		all = append(all, Cause{Code: "growing", Message: "every setting's steps get longer while they are timed: something beside the buckets grows, such as the loading of data"})
	}
	for _, other := range others(e) {
		x := e.explained(&Fit{}, other.beliefs)
		if exceeds(x.far, len(x.seen)) < leastChance {
			continue
		}
		cause := Cause{Code: other.code, Message: other.message(x.best.meaning(x))}
		if grown || len(x.seen) < repairs {
			all = append(all, cause)
		} else if best == nil || x.far < best.far {
			all, best = []Cause{cause}, x
		}
	}
	if len(all) == 0 {
		all = append(all, Cause{Code: "other", Message: "something beside the buckets differs between the settings, such as another job on the network or the loading of data: time the settings again, in another order"})
	}
	return all, best
}

// `unfit` returns the refusal of a job that the model does not fit. It names the setting with the largest
// error, and the best observed setting.
func (e *engine) unfit(f *Fit) *Refusal {
	worst := slices.MaxFunc(f.Settings, func(a, b Observed) int {
		return cmp.Compare(math.Abs(math.Log1p(a.Off())), math.Abs(math.Log1p(b.Off())))
	})
	fastest := slices.MinFunc(f.Settings, func(a, b Observed) int { return cmp.Compare(a.Median, b.Median) })
	return refuse(unfit, fmt.Sprintf("the model does not fit this job: with %s a step takes %s, and the best fit says %s (%s off)",
		e.amount(worst.Elements), unit.Seconds(worst.Median), unit.Seconds(worst.Fitted), percent(math.Abs(worst.Off()))),
		fmt.Sprintf("keep the fastest observed setting, %s, until that is found: %s", e.amount(fastest.Elements), f.Why[0].Message))
}

// exceeds returns the probability that the sum of squares of n standard normal variables is at least x.
func exceeds(x float64, n int) float64 { return distuv.ChiSquared{K: float64(n)}.Survival(x) }
