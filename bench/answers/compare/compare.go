// Package compare decides whether the runs of one side, NEW, take longer than those of the other, BASE. Each
// case is slower, faster, the same, or unclear.
//
//  1. The caller reads records (of zbench or of imported logs) into Runs. A run is the
//     unit: its median of a case is one value, whatever the number of launches.
//  2. [Compare] refuses sides that cannot be compared, joins the cases by key, and lists
//     other differences. It tests each case by Student's t on the difference of the means
//     of log medians. The between-run variance is pooled over the cases of a collective.
//     One more test looks for a shift common to all cases. Holm's procedure covers all
//     tests.
//  3. `zbench compare` prints and writes the [Document]; [Document.Gate] judges it for
//     a CI job.
//
// docs/METHOD.md has the statistics. docs/EXPERIMENTS.md has their error rates.
package compare

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Run is one run of a side.
type Run struct {
	// Name is the run's folder or file in messages, as given.
	Name string
	// Record holds the run's results.
	Record *record.Record
}

// Criteria define a difference.
type Criteria struct {
	// Alpha is the probability of any false verdict in the family of all tests.
	Alpha float64
	// MinEffect is the smallest relative change of a time that counts.
	MinEffect float64
	// BetweenRunCV is the relative standard deviation of a run's median between runs, if known; with 0 it is
	// estimated from the runs.
	BetweenRunCV float64
	// Timing is the kind of time to compare, one of Timings. An empty Timing stands for the first kind that both
	// sides have.
	Timing string
	// Across also compares runs of different eras (see [gate.Era]).
	Across bool
	// Names are the names of the sides in charts. An empty name is replaced by BASE or NEW, or, if no case is
	// compared, by the name of the run.
	Names [2]string
}

// Defaults returns the options of the command without flags.
func Defaults() Criteria { return Criteria{Alpha: 0.01, MinEffect: 0.02} }

// Compare compares two sides. If they must not be compared, it returns a [RefusedError] and, if there is something
// to draw, a document with the curves of both sides and no cases. Cases that only one side has are in the document
// as not checked.
func Compare(base, fresh []Run, o Criteria) (*Document, error) {
	if err := refuse(base, fresh, o.Across); err != nil {
		return curvesAlone(base, fresh, o, err), err
	}
	old, now := members(base), members(fresh)
	if err := repeated(old, now); err != nil {
		return nil, err
	}
	d := &Document{
		Schema: Schema, Simulated: base[0].Record.Simulated, Benchmark: benchmark(base[0].Record),
		Alpha: o.Alpha, MinEffect: o.MinEffect, Base: side(old), New: side(now), Changes: changes(base, fresh), Notes: slices.Concat(editedNotes(base, fresh), eraNotes(base, fresh), severalNotes(base, fresh)),
	}
	if o.BetweenRunCV > 0 {
		d.BetweenRunCV = &o.BetweenRunCV
	}
	d.Cases = join(old, now, o)
	var family []*observed
	runs := [2]int{len(base), len(fresh)}
	for i := range d.Cases {
		if c := d.Cases[i].observed; c != nil {
			family = append(family, c)
		}
	}
	tests, shift := judge(family, runs, o)
	for i := range d.Cases {
		d.Cases[i].judge(o, tests)
	}
	if shift != nil {
		d.Common = &Common{Change: math.Expm1(shift.difference), Test: *testOf(shift), Verdict: shift.verdict(o)}
	}
	d.Overall = overall(family, runs, o)
	d.conclude()
	d.names = o.Names
	if len(family) == 0 {
		d.overlay(base, fresh, o)
	}
	if d.Benchmark == spec.Collectives {
		d.Shapes = shapes(d.Cases, o, d.tested())
	}
	return d, nil
}

// curvesAlone returns the document of sides that must not be compared, with the reason `why`. It returns nil if
// there is nothing to draw.
func curvesAlone(base, fresh []Run, o Criteria, why error) *Document {
	if len(base) == 0 || len(fresh) == 0 {
		return nil
	}
	d := &Document{
		Schema: Schema, Simulated: base[0].Record.Simulated && fresh[0].Record.Simulated, Benchmark: benchmark(base[0].Record), Alpha: o.Alpha, MinEffect: o.MinEffect,
		Base: side(members(base)), New: side(members(fresh)), Changes: changes(base, fresh), Notes: []string{why.Error()},
	}
	d.conclude()
	if d.overlay(base, fresh, o); len(d.overlaid) == 0 {
		return nil
	}
	return d
}

// judge sets a case's verdict from its test. tests is the number of all tests.
func (c *Case) judge(o Criteria, tests int) {
	of := c.observed
	if of == nil {
		return
	}
	c.Base.set(of.sides[0], c.factor)
	c.New.set(of.sides[1], c.factor)
	d := of.difference()
	c.Change = new(math.Expm1(d))
	t := of.test
	if t == nil {
		c.Verdict, c.NeedsRuns = Unclear, MinRuns
		c.Allowance = new(math.Expm1(of.allowance))
		c.SlowerUntested = c.beyond() >= o.MinEffect
		c.Reason = fmt.Sprintf("%d and %d runs of BASE and NEW; a verdict takes %d a side, and at this size runs of one thing may differ by %s", len(of.sides[0]), len(of.sides[1]), MinRuns, Percent(*c.Allowance))
		return
	}
	c.Test = testOf(t)
	c.RankP = rank(of)
	c.Verdict = t.verdict(o)
	if c.Verdict == Unclear {
		c.NeedsRuns = needed(t, o, tests)
		c.Reason = "the runs vary too much for a verdict"
	}
}

// verdict returns Slower or Faster if the difference is significant and at least the minimum effect. It returns Same
// if the interval of the difference lies within the minimum effect.
func (t *tested) verdict(o Criteria) Verdict {
	least := math.Log1p(o.MinEffect)
	switch significant := t.adjusted <= o.Alpha; {
	case significant && t.difference >= least:
		return Slower
	case significant && t.difference <= -least:
		return Faster
	case t.lo > -least && t.hi < least:
		return Same
	}
	return Unclear
}

// power is the standard normal quantile of 0.9, the probability with which the needed runs find the difference.
const power = 1.2816

// `needed` returns the number of runs per side that would find the difference, or the minimum effect if that is
// larger, with probability 0.9.
func needed(t *tested, o Criteria, tests int) int {
	size := max(math.Abs(t.difference), math.Log1p(o.MinEffect))
	z := quantile(1-o.Alpha*(1-commonWeight)/float64(max(1, tests))/2, math.Inf(1)) + power
	n := math.Ceil(2 * t.noise.variance * z * z / (size * size))
	return int(min(most, max(MinRuns, n)))
}

// `most` is the largest number of needed runs that is stated.
const most = 1e6

// rank returns the p-value of the Mann–Whitney U test, which assumes no distribution; nil below RankRuns runs per
// side. The p-value is advisory: with many cases it cannot be small enough for Holm's procedure.
func rank(c *observed) *float64 {
	if min(len(c.sides[0]), len(c.sides[1])) < RankRuns {
		return nil
	}
	thresholds := benchmath.DefaultThresholds
	sample := func(v []float64) *benchmath.Sample { return benchmath.NewSample(slices.Clone(v), &thresholds) }
	p := benchmath.AssumeNothing.Compare(sample(c.sides[0]), sample(c.sides[1])).P
	if math.IsNaN(p) || p < 0 {
		return nil
	}
	return &p
}

// conclude counts the verdicts and sets the overall verdict: the worst of all cases and of the common shift.
func (d *Document) conclude() {
	for i := range d.Cases {
		d.Counts.add(&d.Cases[i])
		d.NeedsRuns = max(d.NeedsRuns, d.Cases[i].NeedsRuns)
	}
	if d.NeedsRuns > 0 && d.BetweenRunCV == nil && slices.ContainsFunc(d.Changes, func(c Change) bool { return c.What == hostsFact }) {
		d.NeedsRuns = max(d.NeedsRuns, HostRuns)
	}
	shifted := func(v Verdict) bool { return d.Common != nil && d.Common.Verdict == v }
	n := d.Counts
	switch {
	case n.Slower > 0 || n.Broken > 0 || shifted(Slower):
		d.Verdict = Slower
	case n.Faster > 0 || shifted(Faster):
		d.Verdict = Faster
	case n.Same > 0 && n.Unclear == 0:
		d.Verdict = Same
	case n.Same+n.Unclear > 0:
		d.Verdict = Unclear
	default:
		d.Verdict = NotChecked
	}
}
