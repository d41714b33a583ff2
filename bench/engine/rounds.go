package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

const (
	// maxRounds is the largest number of rounds that are added to a sweep.
	maxRounds = 24
	// maxAnswerRounds is the largest number of rounds of sizes around an answer. It is limited because
	// each round can move the answer.
	maxAnswerRounds = 3
)

// round is a set of cases that are added to a sweep.
type round struct {
	record.AddedRound
	cases []plan.Case
	// most is the largest size that extensions can reach, in bytes; 0 if unknown.
	most int64
}

// rounds runs the cases, then the journal's added rounds, then the rounds that the bucket size
// still needs.
func (e *Engine) rounds(ctx context.Context, u *Setup, j *Journal, cases []plan.Case, d Ranks) (record.End, error) {
	taken, err := e.runCases(ctx, u, j, cases, d)
	for n := 0; err == nil && settled(taken, cases); n++ {
		r, wanted := u.round(j, n, d)
		if r == nil || wanted != nil {
			return taken.End, wanted
		}
		u.announceRound(e, r, j.Log.Parts)
		if err = d.Allocate(ctx, u.room.For(r.cases)); err != nil {
			return taken.End, connecting(err, "finished cases are saved; fix the cause, then: "+j.resume)
		}
		if n == len(j.Log.Rounds) {
			if err = j.Add(r.AddedRound); err != nil {
				return taken.End, err
			}
		}
		cases = r.cases
		taken, err = e.runCases(ctx, u, j, cases, d)
	}
	return taken.End, err
}

// runCases runs the passes of the cases that the journal lacks.
func (e *Engine) runCases(ctx context.Context, u *Setup, j *Journal, cases []plan.Case, d plan.Driver) (*plan.Taken, error) {
	w := e.Watch(len(cases), done(j.Log, cases))
	planned := map[string]record.Result{}
	for _, c := range cases {
		planned[c.Key] = c.Planned()
	}
	return plan.Resume(ctx, cases, d, u.Options, plan.Log{Parts: slices.Clone(j.Log.Parts), Append: func(part record.Part) error {
		w.Pass(planned[part.Key], part)
		return j.Append(part)
	}}, w.Done)
}

// done counts the finished cases in the journal.
func done(j *record.Journal, cases []plan.Case) int {
	ofRound := map[string]bool{}
	for _, c := range cases {
		ofRound[c.Key] = true
	}
	return slice.Count(j.Record().Results, func(r record.Result) bool {
		return ofRound[r.Key] && r.Status != record.Skipped && r.Status != record.Interrupted
	})
}

// round returns the n-th round: from the journal if it has that round, otherwise a new round; nil if no
// round is needed.
func (u *Setup) round(j *Journal, n int, d plan.Process) (*round, error) {
	if n < len(j.Log.Rounds) {
		return u.replayRound(j.Log.Rounds[n])
	}
	room, err := d.Budget()
	if err != nil {
		return nil, err
	}
	return u.nextRound(j.Log, room)
}

// anyRoom is unlimited memory, to find out whether a round is needed at all.
var anyRoom = plan.Room{Bytes: math.MaxInt64}

// nextRound returns the cases that the bucket size still needs, nil if it needs none. The result depends
// only on the journal and the request, so it is the same in a resumed sweep. room is the memory for a
// rank's buffers.
func (u *Setup) nextRound(j *record.Journal, room plan.Room) (*round, error) {
	if u.Spec.Sweep.FixedSizes || len(j.Rounds) >= maxRounds || u.question == nil {
		return nil, nil
	}
	rec := j.Record()
	d, err := u.question.AskBriefly([]recommend.Source{recommend.SourceOf(rec, j.Parts)})
	if err != nil || !d.Answered() {
		return nil, err
	}
	for _, x := range []struct {
		why  string
		more func(recommend.Used) []int64
	}{{record.Extension, u.largerSizes}, {record.AnswerSizes, func(c recommend.Used) []int64 { return c.Refine }}} {
		added := slice.Count(j.Rounds, func(f record.AddedRound) bool { return f.Reason == x.why })
		if x.why == record.AnswerSizes && added >= maxAnswerRounds {
			continue
		}
		if cases := u.missingCases(rec, d, room, x.more); len(cases) > 0 {
			return &round{
				AddedRound: record.AddedRound{Reason: x.why, After: len(j.Parts), Cases: slice.Map(cases, plan.Case.Planned)}, cases: cases,
				most: slice.Most(d.Answer.Curves, func(c recommend.Used) int64 { return c.WantMaxBytes }),
			}, nil
		}
	}
	return nil, nil
}

// largerSizes returns the next larger size of a curve that ends too early.
func (u *Setup) largerSizes(c recommend.Used) []int64 {
	if c.WantMaxBytes <= c.MaxBytes {
		return nil
	}
	factor := int64(max(u.axes.Factor, 2))
	if c.MaxBytes > c.WantMaxBytes/factor {
		return []int64{c.WantMaxBytes}
	}
	return []int64{c.MaxBytes * factor}
}

// missingCases returns the cases of these sizes on the answer's curves that the record lacks and that fit
// into the memory.
func (u *Setup) missingCases(rec *record.Record, d *advice.Document, room plan.Room, sizes func(recommend.Used) []int64) []plan.Case {
	var cases []plan.Case
	have := map[string]bool{}
	for _, r := range rec.Results {
		have[r.Key] = true
	}
	for _, c := range d.Answer.Curves {
		of := curveOf(rec, c)
		if of == nil {
			continue // the curve is rescaled, not measured
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

// curveOf returns a result of the curve; nil if the record has none.
func curveOf(rec *record.Record, c recommend.Used) *record.Result {
	i := slices.IndexFunc(rec.Results, func(r record.Result) bool {
		return r.Status == record.OK && r.Collective == c.Collective && r.Ranks == c.Ranks && r.Groups == c.Groups && r.Stride == c.Stride && r.Dtype == c.Dtype && r.InPlace == c.InPlace
	})
	if i < 0 || c.RescaledFrom > 0 {
		return nil
	}
	return &rec.Results[i]
}

// measuredAt reports whether the result's curve already has a case of this size.
func measuredAt(rec *record.Record, of *record.Result, bytes int64) bool {
	return slices.ContainsFunc(rec.Results, func(r record.Result) bool {
		return r.Bytes == bytes && r.CurveKey() == of.CurveKey()
	})
}

// replayRound rebuilds the cases of a journal's round.
func (u *Setup) replayRound(f record.AddedRound) (*round, error) {
	again := &round{AddedRound: f}
	for _, r := range f.Cases {
		c, ok := u.axes.Like(r, r.BytesRequested)
		if !ok {
			return nil, exit.With(exit.Run, fmt.Errorf("%s: the case %s does not belong to a curve of the sweep", JournalFile, r.Key), "start a new sweep")
		}
		u.mark(&c)
		again.cases = append(again.cases, c)
	}
	return again, nil
}
