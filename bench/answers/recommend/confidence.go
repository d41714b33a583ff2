package recommend

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Limits behind the confidence's reasons.
const (
	quietCV, noisyCV = 0.05, 0.20
	agree            = 0.05
	// unrelatedRuns is the difference between runs above which the runs count as runs of different
	// environments. Repeats differ by a few per cent, at worst by a fifth.
	unrelatedRuns        = 0.5
	nearSizes            = 5
	mostlyInside, inside = 0.80, 0.95
	// mediumScore and lowScore limit the mean regret. Above these limits the scenarios need different
	// buckets, and the confidence is at most medium or low.
	mediumScore, lowScore = 0.01, 0.03
	// `negligible` is the share of the messages' time below which extrapolated sizes are ignored.
	negligible = 0.01
)

// limiter limits the level if `when` is true, for a reason with a code and words.
type limiter func(when bool, code, level, format string, args ...any)

// confidence returns the lowest confidence that any reason against the answer leaves. The regret over the
// scenarios is read at `least`, the setting of least mean regret.
func (e *engine) confidence(a *Answer, least, best int) Confidence {
	c := Confidence{Level: High, Reasons: []Reason{}}
	limit := func(when bool, code, level, format string, args ...any) {
		if !when {
			return
		}
		c.Reasons = append(c.Reasons, Reason{code, level, fmt.Sprintf(format, args...)})
		if level == Low || c.Level == High {
			c.Level = level
		}
	}
	ruled := a.Verdict == Ruled
	limit(a.Observed != nil && len(a.Observed.Why) > 0, "repaired", Medium, "the observed steps are explained by what curves do not show")
	limit(e.q.Unclear != "", "unclear", Low, "the sweep is UNCLEAR: %s", e.q.Unclear)
	limit(a.Latency > 0, "unproved", Low, "unproved here: latency is up to %s of a step; above %s real steps agree if messages go one at a time", percent(a.Latency), percent(provenLatency))
	limit(a.Simulated, "simulated", Low, "a model, not hardware, decided the times of a curve")
	limit(e.q.ParamsGuessed, "params_guessed", Medium, "the tensors were generated from totals: real buckets close at other sizes")
	limit(!e.known && !ruled, "compute_unknown", Low, "the time of backward is unknown: the costs were averaged over backward times of 0.5 to 8 times the communication time")
	limit(e.known && e.q.ComputeGuessed, "compute_estimated", Medium, "the time of backward is computed from tokens and FLOP/s, not measured")
	for i := range e.curves {
		e.capCurve(i, best, limit)
		e.capDip(i, best, limit)
	}
	if ruled { // a rule has no single setting
		limit(true, "rule", Medium, "the rule assumes a rate of computation; a measured time would be more certain")
		return c
	}
	e.capUnfounded(a, limit)
	if b := a.Bootstrap; b != nil {
		e.capBootstrap(b, limit)
	} else {
		limit(true, "no_bootstrap", Medium, "the spread of the curves was not resampled")
	}
	score := e.candidates[least].Score
	if a.Best.Unfounded == BeyondSweep { // BeyondSweep alone already limits the level to low
		score = 0
	}
	limit(score > lowScore, "sensitive", Low, "with a slower network or other computation another bucket would save %s on average", percent(score))
	limit(score > mediumScore && score <= lowScore, "sensitive", Medium, "with a slower network or other computation another bucket would save %s on average", percent(score))
	return c
}

// capBootstrap limits the confidence if the answer costs more than PlateauWidth in too many resampled
// curves, or if the answers of too many curves lie outside the plateau.
func (e *engine) capBootstrap(b *Bootstrap, limit limiter) {
	if b.Holds < believed {
		limit(true, "unstable", Low, "in %s of resampled curves this setting costs over %s of a step", percent(1-b.Holds), percent(PlateauWidth))
		return
	}
	limit(b.InPlateau < mostlyInside, "unstable", Low, "only %s of resampled curves have their answer in the plateau", percent(b.InPlateau))
	limit(b.InPlateau >= mostlyInside && b.InPlateau < inside, "unstable", Medium, "%s of resampled curves have their answer outside the plateau", percent(1-b.InPlateau))
}

// capCurve limits the confidence for reasons that curve i shows.
func (e *engine) capCurve(i, best int, limit limiter) {
	c := e.curves[i]
	name := e.needs[i].String()
	limit(e.from[i] > 0, "rescaled", Low, "%s: rescaled from %d ranks as if it were a ring", name, e.from[i])
	limit(c.Imported && c.Timing == BurstMean, "imported", Medium, "%s: means over ranks and launches; the log does not contain their spread", name)
	limit(c.Extrapolated && !c.Simulated, "fitted_elsewhere", Low, "%s: times were extrapolated", name)
	limit(e.strided(i), "neighbours", Low, "%s: measured on neighbours, but the ranks that reduce a gradient together are not neighbours", name)
	above, all, sizes := e.coverage(i, best)
	limit(above > negligible*all, "extrapolated", Low, "%s: %s of the messages' time is beyond the largest swept size, %s",
		name, percent(above/all), unit.Bytes(c.Points[len(c.Points)-1].Bytes))
	scatter, _ := c.Scatter()
	limit(scatter.Sigma > quietCV, "scattered", Low, "%s: times of neighbouring sizes scatter by %s about a smooth curve", name, percent(scatter.Sigma))
	near, cv, few, apart := 0, 0.0, false, Point{}
	for _, p := range c.Points {
		if !slices.ContainsFunc(sizes, func(s int64) bool { return p.Bytes >= s/10 && p.Bytes/10 <= s }) {
			continue
		}
		near++
		few = few || p.N < minSamples
		if p.Disagree > apart.Disagree {
			apart = p
		}
		if p.CV != nil {
			cv = max(cv, *p.CV)
		}
	}
	limit(near < nearSizes, "few_sizes", Low, "%s: only %d sizes within a factor of ten of the messages", name, near)
	limit(few, "few_samples", Medium, "%s: sizes around the answer have fewer than %d samples", name, minSamples)
	limit(cv > noisyCV, "noisy", Low, "%s: samples around the answer vary by %s", name, percent(cv))
	limit(cv > quietCV && cv <= noisyCV, "noisy", Medium, "%s: samples around the answer vary by %s", name, percent(cv))
	limit(c.Runs < 2, "one_run", Medium, "%s: measured in one run; a second one would show whether it repeats", name)
	limit(apart.Disagree > unrelatedRuns, "not_repeats", Low, "%s: these are not repeats: at %s %s and %s differ by %s; give the files of one environment",
		name, unit.Bytes(apart.Bytes), called(apart.Fastest), called(apart.Slowest), percent(apart.Disagree))
	limit(apart.Disagree > agree && apart.Disagree <= unrelatedRuns, "runs_disagree", Medium, "%s: %d runs differ by %s around the answer",
		name, c.Runs, percent(apart.Disagree))
}

// `called` returns the name of a run for a message.
func called(name string) string {
	if name == "" {
		return "one run"
	}
	return strconv.Quote(name)
}

// capDip limits the confidence if curve i ends in a dip, because all larger messages are then extrapolated
// from the dip. It computes the costs again as if the dip ended with the sweep and reports how much another
// setting would then save.
func (e *engine) capDip(i, best int, limit limiter) {
	recovered, loss, dip := e.models[i].Recovered()
	if !dip {
		return
	}
	models := slices.Clone(e.models)
	models[i] = recovered
	s := e.score(models, e.candidates)
	for _, c := range e.candidates {
		c.price(e.models)
	}
	rival, gain := best, 0.0
	for j, c := range e.candidates {
		if g := max(s.score[best]-s.score[j], s.steps[0][best]/s.steps[0][j]-1); !c.OverBudget && g > gain {
			rival, gain = j, g
		}
	}
	c := e.curves[i]
	limit(gain > PlateauWidth, "ends_in_dip", Low, "%s: the sweep ends at %s in a dip, with %s less bandwidth than at smaller sizes, and every larger setting is extrapolated from it; if the dip ends there, %s would save %s: extend the sweep (-e)",
		e.needs[i], unit.Bytes(c.Points[len(c.Points)-1].Bytes), percent(loss), e.amount(e.candidates[rival].Elements), percent(gain))
}

// coverage returns two times in seconds. `above` is the time of the answer's messages beyond the swept
// sizes of curve i. `all` is the time of all its messages on that curve. The result `sizes` lists the
// message sizes that make up most of the time `all`.
func (e *engine) coverage(i, best int) (above, all float64, sizes []int64) {
	messages := e.messagesOf(i, best)
	for _, bytes := range messages {
		place := e.models[i].Place(bytes)
		t := e.models[i].At(place)
		all += t
		if place.Beyond() {
			above += t
		}
	}
	for _, bytes := range messages {
		if e.models[i].Seconds(bytes) > negligible*all {
			sizes = append(sizes, bytes)
		}
	}
	if len(sizes) == 0 {
		sizes = messages
	}
	return above, math.Max(all, math.SmallestNonzeroFloat64), sizes
}

// warnings returns the warnings about the curves and about omitted calls.
func (e *engine) warnings(a *Answer) []record.Warning {
	w := []record.Warning{}
	warn := func(code, hint, format string, args ...any) {
		w = append(w, record.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	for i, c := range e.curves {
		n := e.needs[i]
		for _, d := range c.Warnings {
			warn(d.Code, d.Hint, "%s: %s", n, d.Message)
		}
		if c.InPlace != e.t.InPlace {
			warn("placement", e.q.Again.Place(n.collective, word(e.t.InPlace, "in", "out")),
				"%s: the curve is %s, and %s reduces %s", n, placed(c.InPlace), e.t.Title, placed(e.t.InPlace))
		}
		if want := e.dtype(n); c.Dtype != "" && c.Dtype != want && n.collective != "all_gather" {
			warn("dtype", e.q.Again.Sweep([]string{n.collective}, []string{"-d", want}),
				"%s: the curve is of %s, and gradients are reduced in %s: messages of as many bytes are taken to cost the same", n, c.Dtype, want)
		}
		for _, h := range a.Curves[i].Holes {
			warn("hole", "the answer uses the sizes as measured; the library's tuner may offer another algorithm for them", "%s: %s", n, h)
		}
		if u := a.Curves[i]; u.WantMaxBytes > 0 {
			warn("sweep_too_short", "raise -e, as far as memory allows",
				"%s: the sweep ends at %s, and messages go up to %s", n, unit.Bytes(u.MaxBytes), unit.Bytes(u.WantMaxBytes))
		}
	}
	for _, n := range e.lacks {
		warn("left_out", "sweep it to have the step's real length", "the step also ends with %s, for which there is no curve; no bucket size changes it", n)
	}
	return append(w, e.layerWise(a.Best)...)
}

func placed(inPlace bool) string { return word(inPlace, "in place", "out of place") }

func word(which bool, yes, no string) string {
	if which {
		return yes
	}
	return no
}
