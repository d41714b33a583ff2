package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zbench/bench/advice"
	"zbench/bench/cost"
	"zbench/bench/record"
	"zbench/internal/native"
	"zbench/rccl"
)

// swept is how far a sweep went.
type swept struct {
	header record.Header
	parts  []record.Part
	rec    *record.Record
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
		_ = writeAll(dir, out.rec, nil) // as much as the disk takes; err says what happened
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
	return q.give([]cost.Source{source(out.rec, out.parts)})
}

// finish leaves the record with all that is drawn from it, and prints it.
func finish(s State, o collectivesOptions, dir *folder, started time.Time, out *swept) error {
	if err := s.FS.RemoveTemporary(dir.path); err != nil {
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
	if keepsSamples(out.header) {
		if err := writeSamples(dir, out.rec.Results, out.parts); err != nil {
			return err
		}
	}
	if err := writeRun(dir, s, started); err != nil {
		return err
	}
	if err := printRecord(s, out.rec, d, o.format); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "Wrote %s (report.html, results.json, results.csv, bucket.json, plots) in %s\n",
		dir.path, s.Now().Sub(started).Round(10*time.Millisecond))
	if err := verdict(out.rec, dir.path); err != nil {
		return err
	}
	return refused(d)
}

// measure opens the driver, runs the sweep and makes the record of it. What
// was swept is there with an error too, once the sweep has begun.
func (u *setup) measure(ctx context.Context, s State, o collectivesOptions, dir *folder, old *record.Journal, when time.Time) (out *swept, err error) {
	d, err := u.open(s, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		// After a failed case closing fails too, and tells nothing new.
		if closing := d.Close(); err == nil && failed(out.rec) == nil {
			err = closing
		}
	}()
	cases, err := u.cases(d)
	if err != nil {
		return nil, err
	}
	rec := u.record(d, o)
	rec.Created = when
	rec.Source.Driver = driverVersion(s, u.backend)
	h, parts := u.header(rec, cases, o), []record.Part(nil)
	if old != nil {
		if h, parts, err = goOn(old, h, o.force); err != nil {
			return nil, err
		}
		follow(cases, h)
	}
	u.announce(s, o, cases, parts)
	if err := d.Allocate(cases); err != nil {
		return nil, err
	}
	j, err := newJournal(dir, h, parts)
	if err != nil {
		return nil, err
	}
	results, err := j.run(ctx, s, o, h, cases, d)
	return &swept{h, j.parts, whole(h, j.parts, results)}, err
}

func (u *setup) open(s State, o collectivesOptions) (*rccl.Driver, error) {
	cfg := rccl.Config{
		Native: native.Options{Backend: u.backend, Getenv: s.Getenv},
		Ranks:  u.world.Ranks() * u.share, RanksPerDevice: u.share,
		CacheBytes: u.cache, VerifyBudget: o.verifyBudget, Seed: o.seed, Graphs: o.graph > 0,
	}
	if u.machine != nil {
		cfg.Native.Machine = u.machine.Text()
		return rccl.Open(cfg)
	}
	cache, err := o.libraries.fill(s, &cfg.Native)
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
