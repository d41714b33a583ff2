package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Ranks are a process's ranks, opened for a sweep.
type Ranks interface {
	plan.Process
	Facts() (Facts, error)
	Close() error
}

// Facts is what an open driver reports about itself.
type Facts struct {
	// Simulated is true if the driver's times come from a model.
	Simulated bool             `json:"simulated,omitempty"`
	Libraries []record.Library `json:"libraries,omitempty"`
	// Devices are the GPUs; none if they are simulated.
	Devices []record.Device `json:"devices,omitempty"`
	// NICs are the kinds of RDMA NICs beside the GPUs; none if they are simulated.
	NICs []record.NICKind `json:"nics,omitempty"`
	// Hosts are the names of the hosts; none if one process holds all ranks or if they are
	// simulated.
	Hosts []string `json:"-"`
	// KernelDriver is the GPUs' kernel driver with its version, empty if unknown.
	KernelDriver string `json:"kernel_driver,omitempty"`
	// Memory is the smallest GPU memory, in bytes.
	Memory int64 `json:"memory"`
	// Extrapolated reports whether the model of a simulated case has parts without measurements;
	// nil if nothing is simulated.
	Extrapolated func(plan.Case) bool `json:"-"`
}

// Watcher receives a run's progress.
type Watcher interface {
	// Pass receives a finished pass of a planned case. Done receives a finished case.
	Pass(record.Result, record.Part)
	Done(record.Result)
	// First receives every finished pass of a job of kernels. Last receives only the job's last pass.
	// Both get the part of the job's first row.
	First(record.Part)
	Last(record.Part)
}

// Engine runs requests into folders.
type Engine struct {
	folder.Host
	// Environment holds the variables that set up the libraries, in a record's form.
	Environment map[string]string
	Tool        record.Tool
	// Created is the time that the record states.
	Created time.Time
	// Deadline is the time at which the processes will be ended from outside, such as a batch job's
	// end; zero if unknown. The estimate is compared with it.
	Deadline time.Time
	// Launched is true if several processes drive the world, each with its share of the GPUs.
	Launched bool
	// Force resumes even if hardware or libraries have changed.
	Force bool
	// Check is called once the cases are known and before anything is launched; its error refuses
	// the sweep. seconds is the estimate, 0 if times are simulated.
	Check func(u *Setup, d Ranks, cases []plan.Case, seconds float64) error
	// Open opens the driver for a sweep of collectives.
	Open func(context.Context, *Setup) (Ranks, error)
	// OpenKernels opens the devices for hbm and kernels.
	OpenKernels func(context.Context, *Setup) (*Kernels, error)
	// Source turns a record into the input for a bucket size, with the fault that must be fixed
	// first.
	Source func(*record.Record, []record.Part) recommend.Source
	// Witness asks the library's service after Open missed a deadline; nil if there is no service.
	Witness func() *record.Witness
	// Watch is called before a round. total is the number of cases in the round, and done is the number
	// of cases that are already finished.
	Watch func(total, done int) Watcher
}

// Outcome is the state of a run when it ends.
type Outcome struct {
	Setup   *Setup
	Journal *record.Journal
	Record  *record.Record
	// Advice is the requested bucket size, or the bucket size for assumed settings; nil if the sweep
	// failed, and for kernels.
	Advice *advice.Document
}

// opened holds the open ranks of a sweep or the open devices of kernels, and measures a request with
// them.
type opened interface {
	// measure returns the outcome so far; nil if the run did not start.
	measure(ctx context.Context, e *Engine, u *Setup, dir *folder.Folder, old *record.Journal) (*Outcome, error)
	Close() error
}

func (e *Engine) open(ctx context.Context, u *Setup) (opened, error) {
	if u.Spec.Kernels == nil {
		d, err := e.Open(ctx, u)
		return sweep{d}, err
	}
	k, err := e.OpenKernels(ctx, u)
	if only := u.Spec.Kernels.Only; err == nil && len(only) > 0 {
		if err = k.keep(only); err != nil {
			err = errors.Join(err, k.Close())
		}
	}
	return k, err
}

// Run measures a request and writes the record and the journal into the folder. For a sweep it also
// writes the samples and the recommendation. An error comes with the outcome so far, even if a sweep
// failed before its first case. If the request is refused, the folder is abandoned and the outcome is
// nil.
func (e *Engine) Run(ctx context.Context, u *Setup, dir *folder.Folder) (*Outcome, error) {
	return e.run(ctx, u, dir, nil)
}

func (e *Engine) run(ctx context.Context, u *Setup, dir *folder.Folder, old *record.Journal) (*Outcome, error) {
	d, err := e.open(ctx, u)
	if err != nil {
		out, err := e.unopened(u, dir, old, err)
		if out == nil {
			dir.Abandon()
		}
		return out, err
	}
	out, err := d.measure(ctx, e, u, dir, old)
	// Write to disk first: communicators that hang may prevent closing.
	switch {
	case out == nil: // the run did not start
		dir.Abandon()
	case err == nil:
		err = e.finish(dir, out)
	case !errors.Is(err, folder.ErrGone): // otherwise the path may belong to another run now
		_ = save(dir, out) // write as much as fits on the disk; return err, because it came first
	}
	// After a failed case, Close also fails. Its error says nothing new.
	if closing := d.Close(); err == nil && failed(out.Record, "") == nil {
		err = closing
	}
	return out, err
}

// finish recommends the bucket size and saves the outcome.
func (e *Engine) finish(dir *folder.Folder, out *Outcome) error {
	if err := dir.Tidy(); err != nil {
		return err
	}
	var unanswered error
	if !out.Record.OfKernels() {
		unanswered = e.advise(out)
	}
	// A record without a recommendation is still saved.
	return errors.Join(unanswered, save(dir, out))
}

// advise adds the requested bucket size, or the bucket size for assumed settings.
func (e *Engine) advise(out *Outcome) (err error) {
	sources := []recommend.Source{e.Source(out.Record, out.Journal.Parts)}
	if q := out.Setup.question; q != nil {
		out.Advice, err = q.Ask(sources)
	} else {
		out.Advice, err = advice.AskAssumed(sources)
	}
	return err
}

// save writes the record first, so that no later failure can lose it.
func save(dir *folder.Folder, out *Outcome) error {
	if err := WriteRecord(dir, out.Record); err != nil {
		return err
	}
	if out.Advice.Kept() {
		if err := dir.Write(AdviceFile, out.Advice.WriteJSON); err != nil {
			return err
		}
	}
	if out.Setup == nil || !out.Setup.keepsSamples() {
		return nil
	}
	return WriteSamples(dir, out.Record, out.Journal.Parts)
}

// sweep holds the ranks that measure a sweep of collectives.
type sweep struct{ Ranks }

func (d sweep) measure(ctx context.Context, e *Engine, u *Setup, dir *folder.Folder, old *record.Journal) (*Outcome, error) {
	entries, cases, err := e.begin(u, d.Ranks, old)
	if err != nil {
		return nil, err
	}
	if err := u.check(e, d.Ranks, cases, entries.Parts); err != nil {
		return nil, err
	}
	u.announce(e, cases, entries.Parts)
	if u.question != nil && !u.Spec.Sweep.FixedSizes {
		e.Say("More sizes follow if the bucket size needs them; each round is announced. --fixed-sizes skips them.\n")
	}
	if err := d.Allocate(ctx, u.room.For(cases)); err != nil {
		return e.unstarted(u, d.Ranks, dir, entries, connecting(err, "no case has run: fix the cause"))
	}
	return u.into(dir, entries, func(j *Journal) (record.End, error) { return e.rounds(ctx, u, j, cases, d.Ranks) })
}

// Method `into` writes the entries as the folder's journal, calls the function rounds to add results,
// and returns the outcome.
func (u *Setup) into(dir *folder.Folder, entries *record.Journal, rounds func(*Journal) (record.End, error)) (*Outcome, error) {
	j, err := NewJournal(dir, entries)
	if err != nil {
		return nil, err
	}
	how, err := rounds(j)
	err = cmp.Or(err, j.Close())
	return &Outcome{Setup: u, Journal: j.Log, Record: j.Log.Ended(how)}, err
}

// begin lists the cases and creates the journal for them.
func (e *Engine) begin(u *Setup, d Ranks, old *record.Journal) (*record.Journal, []plan.Case, error) {
	facts, err := d.Facts()
	if err != nil {
		return nil, nil, err
	}
	u.extrapolated = facts.Extrapolated
	cases, err := u.cases(d)
	if err != nil {
		return nil, nil, err
	}
	u.announceMemory(e, cases, facts.Memory)
	entries := &record.Journal{Header: u.header(u.record(e, facts, old), cases)}
	if old == nil || len(old.Parts) == 0 && old.Header.Record.Source.Libraries == nil { // the driver was never opened
		return entries, cases, nil
	}
	if entries, err = continued(old, entries.Header, e.Force); err != nil {
		return nil, nil, err
	}
	follow(cases, entries.Header)
	return entries, cases, u.resumable(entries, cases)
}

// clocks has the name of the clock for each kind of times.
var clocks = map[string]string{record.Measured: "monotonic", record.Simulated: "virtual", record.Emulated: "none"}

// record returns the record of a request before its first result. The argument times is the kind of the
// record's source.
func (e *Engine) record(want *spec.Spec, f Facts, times string) *record.Record {
	rec := &record.Record{
		Schema: record.Schema, Tool: e.Tool, Created: e.Created, Simulated: times != record.Measured, Spec: want, Warnings: []record.Warning{},
		Source: record.Source{Kind: times, Backend: want.Backend, Clock: clocks[times], Libraries: f.Libraries},
		World:  record.World{World: want.World, Ranks: want.World.Size(), Hosts: f.Hosts, Devices: f.Devices},
	}
	if !rec.Simulated {
		rec.Source.Driver, rec.Source.Environment = f.KernelDriver, e.Environment
	}
	return rec
}

// record returns the record of a sweep before its first result.
func (u *Setup) record(e *Engine, f Facts, old *record.Journal) *record.Record {
	want, times := u.Spec.Clone(), record.Measured
	if f.Simulated {
		times = record.Simulated
	}
	rec := e.record(&want, f, times)
	rec.Fabric, rec.World.NICs = u.fabric, f.NICs
	if old != nil {
		rec.Created = old.Header.Record.Created
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

// header returns the first line of the journal.
func (u *Setup) header(rec *record.Record, cases []plan.Case) record.Header {
	h := record.Header{Schema: record.JournalSchema, Record: *rec}
	h.Record.Results = slice.Map(cases, plan.Case.Planned)
	if u.Machine != nil {
		sum := sha256.Sum256(u.Machine.Text())
		h.Machine = hex.EncodeToString(sum[:])
	}
	return h
}

// connecting adds the next step to an error of the first launches, which connect the ranks.
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

// settled reports whether every case has a final result. A sweep that failed or was
// interrupted gets no more rounds.
func settled(t *plan.Taken, cases []plan.Case) bool {
	return !slices.ContainsFunc(cases, func(c plan.Case) bool {
		parts := t.Parts[c.Key]
		return !record.Finished(c.Planned().Status, parts) || len(parts) > 0 && parts[len(parts)-1].Status == record.Failed
	})
}
