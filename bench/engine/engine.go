package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"zbench/bench/advice"
	"zbench/bench/cost"
	"zbench/bench/exit"
	"zbench/bench/plan"
	"zbench/bench/record"
)

// Driver is a process's ranks, opened for a sweep.
type Driver interface {
	plan.Process
	Facts() (Facts, error)
	Close() error
}

// Facts are what an open driver tells of itself.
type Facts struct {
	Simulated bool
	Libraries []record.Library
	// Devices are the GPUs; none where they are simulated.
	Devices []record.Device
	// KernelDriver is the GPUs' kernel driver with its version, empty where it does
	// not tell.
	KernelDriver string
	// Memory is the least of the GPUs', in bytes.
	Memory int64
	// Extrapolated tells whether the model behind a simulated case has parts that
	// are not measured; nil where nothing is simulated.
	Extrapolated func(plan.Case) bool
}

// Watcher is told of a sweep's progress.
type Watcher interface {
	// Pass is one finished pass of a case, Done a finished case.
	Pass(record.Part)
	Done(record.Result)
}

// Engine runs sweeps.
type Engine struct {
	Host
	Tool record.Tool
	// Created is the time that the record carries.
	Created time.Time
	// Force resumes although what the sweep was begun on has changed.
	Force bool
	// Open opens the driver of a sweep.
	Open func(context.Context, *Setup) (Driver, error)
	// Watch begins a round of so many cases, of which some are done already; nil
	// watches nothing.
	Watch func(total, done int) Watcher
}

// Outcome is how far a sweep went.
type Outcome struct {
	Setup   *Setup
	Journal *record.Journal
	Record  *record.Record
	// Advice is the bucket size; nil where none was asked for, or the sweep failed.
	Advice *advice.Document
}

// Run measures a sweep into the folder and leaves the record, the journal, the
// samples and the recommendation there. The outcome is there with an error too,
// once the sweep has begun; before, the folder is given back.
func (e *Engine) Run(ctx context.Context, u *Setup, dir *Folder) (*Outcome, error) {
	return e.run(ctx, u, dir, nil, e.Created)
}

func (e *Engine) run(ctx context.Context, u *Setup, dir *Folder, old *record.Journal, created time.Time) (*Outcome, error) {
	out, err := e.measure(ctx, u, dir, old, created)
	if out == nil { // the sweep has not begun
		dir.Abandon()
		return nil, err
	}
	if err != nil {
		if !errors.Is(err, ErrGone) { // else the path may be of another run's folder by now
			_ = save(dir, out) // as much as the disk takes; err says what happened
		}
		return out, err
	}
	return out, e.finish(dir, out)
}

// finish answers the question and saves all that was found.
func (e *Engine) finish(dir *Folder, out *Outcome) error {
	if err := dir.Tidy(); err != nil {
		return err
	}
	var unanswered error
	if q := out.Setup.question; q != nil {
		out.Advice, unanswered = q.Ask([]cost.Source{cost.Of(out.Record, out.Journal.Parts)})
	}
	// A record that cannot be judged is still a record.
	return errors.Join(unanswered, save(dir, out))
}

// save leaves the record first: nothing that fails later can lose it.
func save(dir *Folder, out *Outcome) error {
	if err := dir.Write(ResultsFile, func(w io.Writer) error { return record.Encode(w, out.Record) }); err != nil {
		return err
	}
	if out.Advice != nil {
		if err := dir.Write(AdviceFile, out.Advice.WriteJSON); err != nil {
			return err
		}
	}
	if out.Setup == nil || !out.Setup.keepsSamples() {
		return nil
	}
	return WriteSamples(dir, out.Record.Results, out.Journal.Parts)
}

// measure opens the driver, runs the sweep and makes the record of it.
func (e *Engine) measure(ctx context.Context, u *Setup, dir *Folder, old *record.Journal, created time.Time) (out *Outcome, err error) {
	d, err := e.Open(ctx, u)
	if err != nil {
		return nil, err
	}
	defer func() {
		// After a failed case closing fails too, and tells nothing new.
		if closing := d.Close(); err == nil && failed(out.Record, "") == nil {
			err = closing
		}
	}()
	entries, cases, err := e.begin(u, d, old, created)
	if err != nil {
		return nil, err
	}
	u.announce(e, cases, entries.Parts)
	if u.question != nil && !u.Spec.Sweep.FixedSizes {
		e.note("More sizes follow where the bucket size needs them, each round announced; --fixed-sizes leaves them out.\n")
	}
	if err := d.Allocate(ctx, cases); err != nil {
		return nil, connecting(err, "no case has been run: mend what the error names, and repeat the command")
	}
	j, err := NewJournal(dir, entries)
	if err != nil {
		return nil, err
	}
	results, err := e.rounds(ctx, u, j, cases, d)
	if closing := j.Close(); err == nil {
		err = closing
	}
	return &Outcome{Setup: u, Journal: j.Log, Record: whole(j.Log, results)}, err
}

// begin lists the cases, and makes the journal that they go into.
func (e *Engine) begin(u *Setup, d Driver, old *record.Journal, created time.Time) (*record.Journal, []plan.Case, error) {
	facts, err := d.Facts()
	if err != nil {
		return nil, nil, err
	}
	u.extrapolated = facts.Extrapolated
	if u.Machine != nil && facts.Memory < u.Machine.HBM {
		u.announceMemory(e, facts.Memory)
	}
	cases, err := u.cases(d)
	if err != nil {
		return nil, nil, err
	}
	entries := &record.Journal{Header: u.header(u.record(e, facts, created), cases)}
	if old == nil {
		return entries, cases, nil
	}
	if entries, err = continued(old, entries.Header, e.Force); err != nil {
		return nil, nil, err
	}
	follow(cases, entries.Header)
	return entries, cases, u.resumable(entries, cases)
}

// record is everything that is known before the first result.
func (u *Setup) record(e *Engine, f Facts, created time.Time) *record.Record {
	want := u.Spec.Clone()
	rec := &record.Record{
		Schema: record.Schema, Tool: e.Tool, Created: created, Simulated: f.Simulated, Fabric: u.fabric, Spec: &want,
		Source:   record.Source{Kind: record.Measured, Backend: want.Backend, Clock: "monotonic", Driver: f.KernelDriver, Libraries: f.Libraries},
		World:    record.World{World: want.World, Ranks: want.World.Size(), Devices: f.Devices},
		Warnings: []record.Warning{},
	}
	if f.Simulated {
		rec.Source.Kind, rec.Source.Clock = record.Simulated, "virtual"
	}
	if u.Machine != nil {
		rec.World.GPU = u.Machine.GPU
	}
	for _, d := range f.Devices {
		switch rec.World.GPU {
		case "", d.Name:
			rec.World.GPU = d.Name
		default:
			rec.World.GPU = "several kinds"
		}
	}
	return rec
}

// header is the first line of the journal.
func (u *Setup) header(rec *record.Record, cases []plan.Case) record.Header {
	h := record.Header{Schema: record.JournalSchema, Record: *rec}
	for _, c := range cases {
		h.Record.Results = append(h.Record.Results, c.Planned())
	}
	if u.Machine != nil {
		sum := sha256.Sum256(u.Machine.Text())
		h.Machine = hex.EncodeToString(sum[:])
	}
	return h
}

// whole is the record of a sweep's results. Cases of the header that were not in
// the plan are from before a change: they are as the journal has them.
func whole(entries *record.Journal, results []record.Result) *record.Record {
	rec := entries.Record()
	at := map[string]int{}
	for i, r := range rec.Results {
		at[r.Key] = i
	}
	for _, r := range results {
		rec.Results[at[r.Key]] = r
	}
	return rec
}

// connecting gives an error of the first launches, which connect, its next step.
func connecting(err error, hint string) error {
	known := (*exit.Error)(nil)
	switch {
	case errors.As(err, &known), errors.Is(err, exit.ErrUnavailable):
		return err
	case errors.Is(err, context.Canceled):
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted before the first launch: %w", err), "repeat the command")
	}
	return exit.With(exit.Run, err, hint)
}

// settled tells that all results are in: after a failure, or when it was asked to
// stop, a sweep is not added to.
func settled(results []record.Result) bool {
	return !slices.ContainsFunc(results, func(r record.Result) bool {
		return r.Status == record.Interrupted || r.Status == record.Failed
	})
}
