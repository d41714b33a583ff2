package main

import (
	"fmt"
	"slices"

	"zbench/bench/advice"
	"zbench/bench/cost"
	"zbench/bench/plan"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/unit"
)

const (
	// maxRounds bounds how often a sweep is added to: octaves and second passes.
	maxRounds = 24
	// maxSecond is how often the sizes around an answer are added, should they move
	// the answer.
	maxSecond = 3
)

// round is cases that are added to a sweep.
type round struct {
	record.Further
	cases []plan.Case
	// most is how far an extension may go at most, in bytes; 0 is not known.
	most int64
}

// wants is what a sweep would have to go on with for the bucket size's sake; nil
// where nothing is missing. It depends on the journal and the question alone, so
// that a sweep that was killed asks for the same again. room is for a rank's buffers.
func (u *setup) wants(s State, o collectivesOptions, j *record.Journal, room plan.Room) (*round, error) {
	if o.fixedSizes || len(j.Further) >= maxRounds {
		return nil, nil
	}
	q, err := prepareAdvice(s, o.advice)
	if q == nil || err != nil {
		return nil, err
	}
	q.in.Bootstrap = 0 // it moves no answer
	rec := j.Record()
	d, err := q.give([]cost.Source{source(rec, j.Parts)})
	if err != nil || !answered(d) {
		return nil, err
	}
	for _, x := range []struct {
		why  string
		more func(recommend.Used) []int64
	}{{record.Extension, u.longer}, {record.SecondPass, exact}} {
		if x.why == record.SecondPass && count(j, x.why) >= maxSecond {
			continue
		}
		if cases := u.missing(rec, d, room, x.more); len(cases) > 0 {
			return newRound(x.why, len(j.Parts), cases, d), nil
		}
	}
	return nil, nil
}

// newRound is a round after so many parts.
func newRound(why string, after int, cases []plan.Case, d *advice.Document) *round {
	r := &round{Further: record.Further{Why: why, After: after}, cases: cases}
	for _, c := range cases {
		r.Cases = append(r.Cases, c.Planned())
	}
	for _, c := range d.Answer.Curves {
		r.most = max(r.most, c.WantMaxBytes)
	}
	return r
}

func count(j *record.Journal, why string) int {
	n := 0
	for _, f := range j.Further {
		if f.Why == why {
			n++
		}
	}
	return n
}

// longer is the next size upwards on a curve that ends too early.
func (u *setup) longer(c recommend.Used) []int64 {
	if c.WantMaxBytes <= c.MaxBytes {
		return nil
	}
	factor := int64(max(u.axes.Factor, 2))
	if c.MaxBytes > c.WantMaxBytes/factor {
		return []int64{c.WantMaxBytes}
	}
	return []int64{c.MaxBytes * factor}
}

// exact is the real sizes around the answer.
func exact(c recommend.Used) []int64 { return c.Refine }

// missing are the cases of those sizes on the answer's curves that the record does
// not have and the memory holds.
func (u *setup) missing(rec *record.Record, d *advice.Document, room plan.Room, sizes func(recommend.Used) []int64) []plan.Case {
	var cases []plan.Case
	have := map[string]bool{}
	for _, r := range rec.Results {
		have[r.Key] = true
	}
	for _, c := range d.Answer.Curves {
		of := curveOf(rec, c)
		if of == nil {
			continue // rescaled
		}
		for _, bytes := range sizes(c) {
			x, ok := u.axes.Like(*of, bytes)
			if !ok || x.Skip != "" || have[x.Key] || x.Places(room.Cache).Arena > room.Bytes || measuredAt(rec, of, x.Layout.Bytes) {
				continue
			}
			have[x.Key] = true
			u.mark(&x)
			cases = append(cases, x)
		}
	}
	return cases
}

// curveOf is a result of the curve; nil where the record has none.
func curveOf(rec *record.Record, c recommend.Used) *record.Result {
	i := slices.IndexFunc(rec.Results, func(r record.Result) bool {
		return r.Status == record.OK && r.Collective == c.Collective && r.Ranks == c.Ranks && r.Groups == c.Groups && r.Stride == c.Stride && r.Dtype == c.Dtype && r.InPlace == c.InPlace
	})
	if i < 0 || c.RescaledFrom > 0 {
		return nil
	}
	return &rec.Results[i]
}

// measuredAt tells whether the curve has that size, rounding included.
func measuredAt(rec *record.Record, of *record.Result, bytes int64) bool {
	return slices.ContainsFunc(rec.Results, func(r record.Result) bool {
		return r.Bytes == bytes && r.Collective == of.Collective && r.Ranks == of.Ranks && r.Groups == of.Groups && r.Stride == of.Stride && r.Dtype == of.Dtype && r.InPlace == of.InPlace
	})
}

// again are the cases that a journal's round was planned with.
func (u *setup) again(f record.Further) (*round, error) {
	again := &round{Further: f}
	for _, r := range f.Cases {
		c, ok := u.axes.Like(r, r.BytesRequested)
		if !ok {
			return nil, &codeError{exitRun, fmt.Errorf("%s: the case %s is of no curve of its sweep", journalFile, r.Key), "begin the sweep anew"}
		}
		u.mark(&c)
		again.cases = append(again.cases, c)
	}
	return again, nil
}

// tellFurther says on standard error what is added, before it runs.
func (u *setup) tellFurther(s State, o collectivesOptions, r *round, parts []record.Part) {
	low, high := r.cases[0].Layout.Bytes, r.cases[0].Layout.Bytes
	for _, c := range r.cases {
		low, high = min(low, c.Layout.Bytes), max(high, c.Layout.Bytes)
	}
	what := "For the bucket size the sweep goes on upwards, to " + unit.Bytes(high)
	if r.most > high {
		what += " (of at most " + unit.Bytes(r.most) + ")"
	}
	if r.Why == record.SecondPass {
		what = fmt.Sprintf("For the bucket size a second pass takes the real sizes around the answer, %s to %s", unit.Bytes(low), unit.Bytes(high))
	}
	s.note(o.quiet, "%s; --fixed-sizes leaves it out.\n", what)
	u.announce(s, o, r.cases, parts)
}
