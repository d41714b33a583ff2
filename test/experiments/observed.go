package experiments

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
)

// ObservedRow counts the jobs of one kind. Noticed counts the jobs for which zbench says that the
// model alone does not fit. Explained counts those noticed jobs for which a cause explains the
// steps so well that there is an answer.
type ObservedRow struct {
	Kind                     string
	Jobs, Noticed, Explained int
	// Causes counts the causes that were named for noticed jobs.
	Causes map[string]int
	// Before and After are the largest errors for the observed settings, without and with the
	// observed steps.
	Before, After []float64
}

// Kinds of jobs: one that the model fits, and four that it does not fit.
const (
	fitting    = "fits"
	serialised = "no overlap"
	perBucket  = "a constant for every bucket"
	growing    = "loading of data that takes ever longer"
	crowded    = "another job on the network while some settings are timed"
)

var observedKinds = []string{fitting, serialised, perBucket, growing, crowded}

// The bars: a job that does not fit is usually noticed, a job that fits is seldom refused.
var (
	unfitFound   = Bar{Rate: 0.95}
	fitRefused   = Bar{Rate: 0.05, AtMost: true}
	observedBars = map[bool]Bar{true: fitRefused, false: unfitFound}
)

const (
	// timedSteps is the number of steps timed with each setting, with noise of stepNoise.
	timedSteps, stepNoise = 20, 0.01
	// visible is the least difference that the planted effect makes between the steps of two
	// settings, as a share.
	visible = 0.15
)

// timedJob is a job whose steps are timed.
type timedJob struct {
	truth    *truth
	rest     float64
	settings []int64
	plans    []trainer.Plan
	question recommend.Question
}

// newTimedJob draws a cluster, a truth that the recommender considers possible, and the settings
// that a user times: the default, the answer, a quarter and four times the answer, and one bucket.
func newTimedJob(seed uint64) (timedJob, bool) {
	c := NewCluster(seed)
	rng := rand.New(rand.NewPCG(seed, 0x0b5e))
	j := timedJob{truth: newTruth(&c, Hidden, seed), question: c.Question}
	j.question.Bootstrap = 0
	j.truth.contention = uniform(rng, 0, 0.3)
	j.rest = uniform(rng, 0, 0.1) * (c.backward + c.forward)
	t, err := trainer.ByName(j.question.Trainer)
	must(err)
	q := j.question
	q.Scenarios = []recommend.Scenario{{Network: 1, Compute: 1}}
	a, err := recommend.Ask(q)
	must(err)
	if a.Verdict != recommend.Recommended || a.Single == nil {
		return j, false
	}
	for _, s := range []int64{a.Default.Elements, a.Least.Elements, a.Least.Elements / 4, a.Least.Elements * 4, a.Single.Elements} {
		plan := t.Plan(c.params, s, j.question.Run)
		if !slices.ContainsFunc(j.plans, func(p trainer.Plan) bool { return len(p.Buckets) == len(plan.Buckets) }) {
			j.settings, j.plans = append(j.settings, s), append(j.plans, plan)
		}
	}
	rng.Shuffle(len(j.settings), func(x, y int) {
		j.settings[x], j.settings[y] = j.settings[y], j.settings[x]
		j.plans[x], j.plans[y] = j.plans[y], j.plans[x]
	})
	return j, len(j.settings) >= 3
}

// planted returns the steps of each setting, at the beginning and at the end, for a job of a kind.
// seen is false if the planted effect cannot be seen in them.
func (j *timedJob) planted(kind string, rng *rand.Rand) (first, last []float64, seen bool) {
	var plain []float64
	for _, p := range j.plans {
		plain = append(plain, j.truth.step(p)+j.rest)
	}
	n := len(plain)
	first, last = slices.Clone(plain), slices.Clone(plain)
	size := uniform(rng, 0.1, 0.4) * slices.Min(plain)
	most := 0
	for _, p := range j.plans {
		most = max(most, len(p.Backward))
	}
	crowd := rng.Perm(n)[:1+rng.IntN(n-1)]
	factor := uniform(rng, 1.5, 3)
	for i, p := range j.plans {
		switch kind {
		case serialised:
			first[i] = j.truth.serial(p) + j.rest
		case perBucket:
			j.truth.each = 2 * size / float64(most)
			first[i] = j.truth.step(p) + j.rest
			j.truth.each = 0
		case growing:
			first[i] += size * float64(i) / float64(n)
			last[i] = plain[i] + size*float64(i+1)/float64(n)
			continue
		case crowded:
			slow := j.truth.slow
			if slices.Contains(crowd, i) {
				j.truth.slow *= factor
			}
			first[i] = j.truth.step(p) + j.rest
			j.truth.slow = slow
		}
		last[i] = first[i]
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range plain {
		d := math.Log((first[i] + last[i]) / 2 / plain[i])
		lo, hi = min(lo, d), max(hi, d)
	}
	return first, last, kind == fitting || hi-lo >= visible
}

// observe times the settings one after the other, and asks for an answer.
func (j *timedJob) observe(first, last []float64, rng *rand.Rand) *recommend.Fit {
	q := j.question
	for i, s := range j.settings {
		o := recommend.Observation{Elements: s}
		for k := range timedSteps {
			at := (float64(k) + 0.5) / timedSteps
			o.Seconds = append(o.Seconds, (first[i]+at*(last[i]-first[i]))*math.Exp(rng.NormFloat64()*stepNoise))
		}
		q.Observed = append(q.Observed, o)
	}
	a, err := recommend.Ask(q)
	must(err)
	return a.Observed
}

// RunObserved draws a number of jobs that fit, and the same number of jobs of all other kinds
// together.
func RunObserved(jobs int) []ObservedRow {
	var rows []ObservedRow
	for _, kind := range observedKinds {
		rows = append(rows, ObservedRow{Kind: kind, Causes: map[string]int{}})
	}
	others := len(rows) - 1
	for seed := uint64(0); rows[others].Jobs < jobs/2/others || rows[0].Jobs < jobs/2; seed++ {
		j, able := newTimedJob(seed)
		if !able {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 0x51a7))
		for i := range rows {
			r := &rows[i]
			if i > 0 && (int(seed)%others != i-1 && r.Jobs >= rows[0].Jobs/others || r.Jobs >= jobs/2/others) || r.Jobs >= jobs/2 {
				continue
			}
			first, last, seen := j.planted(r.Kind, rng)
			if !seen {
				continue
			}
			r.count(j.observe(first, last, rng))
		}
	}
	return rows
}

func (r *ObservedRow) count(f *recommend.Fit) {
	r.Jobs++
	before, after := 0.0, 0.0
	for _, o := range f.Settings {
		before, after = max(before, math.Abs(o.Median / *o.Predicted - 1)), max(after, math.Abs(o.Off()))
	}
	r.Before, r.After = append(r.Before, before), append(r.After, after)
	if f.Fits && len(f.Why) == 0 {
		return
	}
	r.Noticed++
	if f.Fits {
		r.Explained++
	}
	for _, c := range f.Why {
		r.Causes[c.Code]++
	}
}

// ObservedFailures lists the bars that do not hold. In a small run it lists only those that chance
// cannot explain.
func ObservedFailures(rows []ObservedRow, small bool) []string {
	var out []string
	for _, r := range rows {
		b := observedBars[r.Kind == fitting]
		if !b.Holds(r.Noticed, r.Jobs) && (!small || !b.Plausible(r.Noticed, r.Jobs)) {
			out = append(out, fmt.Sprintf("%s: %d of %d noticed, bar %s", r.Kind, r.Noticed, r.Jobs, b))
		}
	}
	return out
}

// ObservedMarkdown returns the table of docs/EXPERIMENTS.md.
func ObservedMarkdown(rows []ObservedRow) string {
	var b strings.Builder
	b.WriteString("| job | jobs | noticed | bar | explained, with an answer | largest error of a setting before and after the fit, median | causes named |\n|---|---|---|---|---|---|---|\n")
	middle := func(all []float64) float64 {
		s := slices.Sorted(slices.Values(all))
		return s[len(s)/2]
	}
	for _, r := range rows {
		var causes []string
		for _, code := range slices.Sorted(maps.Keys(r.Causes)) {
			causes = append(causes, fmt.Sprintf("%s %d", code, r.Causes[code]))
		}
		fmt.Fprintf(&b, "| %s | %d | %.1f %% | %s | %.1f %% | %.1f %%, %.1f %% | %s |\n", r.Kind, r.Jobs, 100*float64(r.Noticed)/float64(max(1, r.Jobs)),
			observedBars[r.Kind == fitting], 100*float64(r.Explained)/float64(max(1, r.Jobs)), 100*middle(r.Before), 100*middle(r.After), strings.Join(causes, ", "))
	}
	return b.String()
}
