package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// keeps reports whether an error before the first case leaves a record. An interruption leaves no record.
// An error that the user can fix at once leaves none, either.
func keeps(err error) bool {
	if errors.Is(err, exit.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return false
	}
	known, ok := errors.AsType[*exit.Error](err)
	return !ok || known.Code == exit.Run
}

// unopened returns the outcome of a sweep whose driver could not be opened; nil if nothing is kept. The
// outcome lacks the driver's facts; resuming fills them in.
func (e *Engine) unopened(u *Setup, dir *folder.Folder, old *record.Journal, err error) (*Outcome, error) {
	if old != nil || u.Spec.Sweep == nil || !keeps(err) {
		return nil, err
	}
	cases := u.Cases()
	entries := &record.Journal{Header: u.header(u.record(e, Facts{Simulated: u.Machine != nil}, nil), cases)}
	var second any
	if e.Witness != nil && u.Machine == nil {
		second = asking(e.Witness)
	}
	out, err := e.unstarted(u, second, dir, entries, err)
	if out != nil {
		_ = save(dir, out) // write as much as fits on the disk; return err, because it came first
	}
	return out, err
}

// asking is a witness without a driver. It queries the RAS service.
type asking func() *record.Witness

func (a asking) Witness() *record.Witness { return a() }

var _ plan.Witnessing = asking(nil)

// unstarted returns the outcome of a sweep that failed before its first case. The outcome has all cases.
// The first case has the failure and its evidence. d may be a plan.Witnessing. The journal has no part,
// so resuming measures every case.
func (e *Engine) unstarted(u *Setup, d any, dir *folder.Folder, entries *record.Journal, err error) (*Outcome, error) {
	if len(entries.Parts) > 0 || !keeps(err) {
		return nil, err
	}
	j, failed := NewJournal(dir, entries)
	if failed != nil {
		return nil, err
	}
	_ = j.Close() // nothing is written to it
	evidence, reason := plan.Explain(d, err)
	rec, first := j.Log.Record(), ""
	for i, r := range rec.Results {
		switch {
		case r.Status != record.Interrupted:
		case first == "":
			first = r.Key
			rec.Results[i] = record.Assemble(r, []record.Part{{Key: r.Key, Status: record.Failed, Reason: reason, Evidence: evidence}})
		default:
			rec.Results[i] = record.End{Failed: first}.Result(r, nil)
		}
	}
	hint := "look at the evidence in " + dir.File(ResultsFile)
	if known, ok := errors.AsType[*exit.Error](err); ok {
		hint, err = cmp.Or(known.Hint, hint), known.Err
	}
	if evidence != nil && evidence.Witness != nil {
		err = fmt.Errorf("%w; %s", err, evidence.Witness.Text())
	}
	return &Outcome{Setup: u, Journal: j.Log, Record: rec}, exit.With(exit.Run, err, hint+"; then: "+rec.ResumeCommand(dir.Path))
}
