package rccl

import (
	"context"
	"errors"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// The type unended is the error of a call that has not returned, or of launches that have not
// ended. The cause is a deadline, a communicator's error, or a lost process.
type unended struct {
	text     string
	cause    error // nil at the deadline of a call
	timeout  bool
	evidence *record.Evidence
}

// Error describes the failure with its evidence.
func (e *unended) Error() string { return e.text + "; " + e.evidence.Text() }

// Evidence returns how far every rank got, by world rank.
func (e *unended) Evidence() *record.Evidence { return e.evidence }

// Timeout reports whether the deadline passed, so that the cause may be in another process.
func (e *unended) Timeout() bool { return e.timeout }

func (e *unended) Unwrap() error { return e.cause }

// The type stopped is the error of a cancelled batch. It has the cause, and how far every rank had
// got.
type stopped struct {
	cause    error
	evidence *record.Evidence
}

func (e *stopped) Error() string { return e.cause.Error() }

// Evidence returns how far every rank had got.
func (e *stopped) Evidence() *record.Evidence { return e.evidence }

func (e *stopped) Unwrap() error { return e.cause }

// ended() converts the error of a batch for the runner: a cancellation becomes its cause, and a
// hang gets evidence. The argument `during` is the phase of the launches.
func (d *Driver) ended(ctx context.Context, during string, err error) error {
	var hang *native.HangError
	if !errors.As(err, &hang) {
		return err
	}
	e := &record.Evidence{During: during, Iterations: hang.Iterations}
	if errors.Is(err, native.ErrDeadline) {
		e.Deadline = &hang.Seconds
	}
	ranks := slice.Map(hang.Ranks, func(r native.Progress) record.RankProgress {
		return record.RankProgress{Enqueued: hang.Launched, Started: r.Started, Ended: r.Ended, Finished: r.Finished, Error: r.Async}
	})
	e.SetRanksFrom(d.cfg.FirstRank, ranks)
	if errors.Is(err, native.ErrCancelled) {
		return &stopped{context.Cause(ctx), e}
	}
	world := *hang
	world.Rank += d.cfg.FirstRank
	return &unended{text: world.Error(), cause: &world, timeout: world.Timeout(), evidence: e}
}
