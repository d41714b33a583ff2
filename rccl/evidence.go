package rccl

import (
	"context"
	"errors"

	"zbench/bench/record"
	"zbench/internal/native"
)

// stuck is a batch that did not end, with what is known of every rank.
type stuck struct {
	*native.HangError
	evidence *record.Evidence
}

// Error says what happened and what the evidence comes to.
func (e *stuck) Error() string { return e.HangError.Error() + "; " + e.evidence.Text() }

// Evidence is what is known of every rank, by its number in the whole world.
func (e *stuck) Evidence() *record.Evidence { return e.evidence }

func (e *stuck) Unwrap() error { return e.HangError }

// ended turns the error of a batch into what the runner understands: a
// cancellation into its cause, a hang into evidence. during is what was run.
func (d *Driver) ended(ctx context.Context, during string, err error) error {
	var hang *native.HangError
	switch {
	case errors.Is(err, native.ErrCancelled):
		return context.Cause(ctx)
	case !errors.As(err, &hang):
		return err
	}
	e := &record.Evidence{During: during, Iterations: hang.Iterations}
	if errors.Is(err, native.ErrDeadline) {
		e.Deadline = &hang.Seconds
	}
	ranks := make([]record.RankProgress, len(hang.Ranks))
	for i, r := range hang.Ranks {
		ranks[i] = record.RankProgress{Enqueued: hang.Launched, Begun: r.Started, Ended: r.Ended, Finished: r.Finished, Error: r.Async}
	}
	e.SetRanksFrom(d.cfg.FirstRank, ranks)
	world := *hang
	world.Rank += d.cfg.FirstRank
	return &stuck{&world, e}
}
