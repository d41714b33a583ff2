package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"zbench/bench/advice"
	"zbench/bench/cost"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/internal/native"
	"zbench/rccl"
)

// swept is how far a sweep went.
type swept struct {
	journal *record.Journal
	rec     *record.Record
}

// sweep measures into the folder, from the start or, with old, from where that
// ended.
func (u *setup) sweep(ctx context.Context, s State, o collectivesOptions, dir *folder, old *record.Journal, when time.Time) error {
	started := s.Now()
	out, err := u.measure(ctx, s, o, dir, old, when)
	if out == nil { // the sweep has not begun
		dir.abandon()
		return err
	}
	if err != nil {
		if !errors.Is(err, errGone) { // else the path may be of another run's folder by now
			_ = writeAll(dir, out.rec, nil) // as much as the disk takes; err says what happened
		}
		return err
	}
	return finish(s, o, dir, started, out)
}

// recommended asks for the bucket size; nil where nobody did.
func recommended(s State, o adviceOptions, out *swept) (*advice.Document, error) {
	q, err := prepareAdvice(s, o)
	if q == nil || err != nil {
		return nil, err
	}
	return q.give([]cost.Source{source(out.rec, out.journal.Parts)})
}

// finish leaves the record with all that is drawn from it, and prints it.
func finish(s State, o collectivesOptions, dir *folder, started time.Time, out *swept) error {
	if err := s.FS.RemoveTemporary(dir.path); errors.Is(err, fs.ErrNotExist) {
		return dir.gone()
	} else if err != nil {
		return err
	}
	d, err := recommended(s, o.advice, out)
	if err != nil {
		// A record that cannot be judged is still a record.
		return errors.Join(err, writeAll(dir, out.rec, nil))
	}
	if err := writeAll(dir, out.rec, d); err != nil {
		return err
	}
	if keepsSamples(out.journal.Header) {
		if err := writeSamples(dir, out.rec.Results, out.journal.Parts); err != nil {
			return err
		}
	}
	if err := writeRun(dir, s, started); err != nil {
		return err
	}
	if err := printRecord(s, out.rec, d, o.format, o.quiet); err != nil {
		return err
	}
	s.note(o.quiet, "Wrote %s (report.html, results.json, results.csv, bucket.json, plots) in %s\n",
		dir.path, s.Now().Sub(started).Round(10*time.Millisecond))
	if err := verdict(out.rec, dir.path); err != nil {
		return err
	}
	return refused(d)
}

// measure opens the driver, runs the sweep and makes the record of it. What
// was swept is there with an error too, once the sweep has begun.
func (u *setup) measure(ctx context.Context, s State, o collectivesOptions, dir *folder, old *record.Journal, when time.Time) (out *swept, err error) {
	d, err := u.open(ctx, s, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		// After a failed case closing fails too, and tells nothing new.
		if closing := d.Close(); err == nil && failed(out.rec, "") == nil {
			err = closing
		}
	}()
	u.extrapolated = d.Extrapolated
	if err := u.tellMemory(s, o, d); err != nil {
		return nil, err
	}
	cases, err := u.cases(d)
	if err != nil {
		return nil, err
	}
	rec := u.record(d, o)
	rec.Created = when
	rec.Source.Driver = driverVersion(s, u.backend)
	entries := &record.Journal{Header: u.header(rec, cases, o)}
	if old != nil {
		if entries, err = goOn(old, entries.Header, o.force); err != nil {
			return nil, err
		}
		follow(cases, entries.Header)
		if err := u.resumable(entries, cases); err != nil {
			return nil, err
		}
	}
	u.announce(s, o, cases, entries.Parts)
	if o.advice.asked() && !o.fixedSizes {
		s.note(o.quiet, "More sizes follow where the bucket size needs them, each round announced; --fixed-sizes leaves them out.\n")
	}
	if err := d.Allocate(ctx, cases); err != nil {
		return nil, connecting(err, "no case has been run: mend what the error names, and give the same command again")
	}
	j, err := newJournal(dir, entries)
	if err != nil {
		return nil, err
	}
	results, err := u.rounds(ctx, s, o, j, cases, d)
	if closing := j.file.Close(); err == nil {
		err = closing
	}
	return &swept{j.log, whole(j.log, results)}, err
}

// connecting gives an error of the first launches, which connect, its next step.
func connecting(err error, hint string) error {
	var told *codeError
	switch {
	case errors.As(err, &told), errors.Is(err, native.ErrUnavailable):
		return err
	case errors.Is(err, context.Canceled):
		return &codeError{exitInterrupted, fmt.Errorf("interrupted before the first launch: %w", err), "give the same command again"}
	}
	return &codeError{exitRun, err, hint}
}

// rounds runs the cases, then those that a journal says were added, then those
// that the bucket size still needs.
func (u *setup) rounds(ctx context.Context, s State, o collectivesOptions, j *journal, cases []plan.Case, d plan.Process) ([]record.Result, error) {
	results, err := j.run(ctx, s, o, cases, d)
	for n := 0; err == nil && trusted(results); n++ {
		r, wanted := u.round(s, o, j, n, d)
		if r == nil || wanted != nil {
			return results, wanted
		}
		u.tellFurther(s, o, r, j.log.Parts)
		if err = d.Allocate(ctx, r.cases); err != nil {
			return results, connecting(err, "what was measured is saved; mend what the error names, then: zbench collectives --resume "+j.dir.path)
		}
		if n == len(j.log.Further) {
			if err = j.add(r.Further); err != nil {
				return results, err
			}
		}
		var added []record.Result
		added, err = j.run(ctx, s, o, r.cases, d)
		results = append(results, added...)
	}
	return results, err
}

// round is the cases of the n-th round: the journal's, else what is wanted now.
func (u *setup) round(s State, o collectivesOptions, j *journal, n int, d plan.Process) (*round, error) {
	if n < len(j.log.Further) {
		return u.again(j.log.Further[n])
	}
	room, err := d.Budget()
	if err != nil {
		return nil, err
	}
	return u.wants(s, o, j.log, room)
}

// trusted tells that all results are in: after a failure, or when it was asked to
// stop, a sweep is not added to.
func trusted(results []record.Result) bool {
	return !slices.ContainsFunc(results, func(r record.Result) bool {
		return r.Status == record.Interrupted || r.Status == record.Failed
	})
}

func (u *setup) open(ctx context.Context, s State, o collectivesOptions) (*rccl.Driver, error) {
	cfg := rccl.Config{
		Native: native.Options{Backend: u.backend, Getenv: s.Getenv},
		Ranks:  u.world.Ranks() * u.share, RanksPerDevice: u.share,
		CacheBytes: u.cache, VerifyBudget: o.verifyBudget, Seed: o.seed, Graphs: o.graph > 0,
	}
	if u.machine != nil {
		cfg.Native.Machine = u.machine.Text()
		return rccl.Open(cfg)
	}
	cache, err := o.libraries.fill(ctx, s, &cfg.Native)
	if err != nil {
		return nil, err
	}
	d, err := rccl.Open(cfg)
	if err != nil {
		return nil, err
	}
	o.libraries.tell(s, cache)
	if u.cache > 0 {
		d.RotateOver(lastLevelCache(d.Devices()))
	}
	return d, nil
}
