package advice

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/trainer"
)

// usage gives an error without an exit code that of wrong usage.
func usage(err error, hint string) error {
	if _, has := errors.AsType[*exit.Error](err); has {
		return err
	}
	return exit.UsageError(err, hint)
}

// replica is the number of ranks that hold a copy of the model together.
func (q *Question) replica() int { return max(1, q.want.TP) * max(1, q.want.PP) }

// divide cuts a model to one tensor-parallel rank's.
func (q *Question) divide(m *trainer.Model, t trainer.Trainer) error {
	experts, vocab := q.want.TP, t.VocabMultiple
	if c := q.in.Config; c != nil {
		if c.ETP != nil {
			experts = *c.ETP
		}
		if c.VocabMultiple != nil {
			vocab = *c.VocabMultiple
		}
	}
	if err := m.Tensor(q.want.TP, experts, vocab); err != nil {
		return exit.With(exit.Want, err, "give one rank's own list with --params")
	}
	return nil
}

// divided is the number of data-parallel ranks of a world, context-parallel ones among
// them: they reduce gradients together.
func (q *Question) divided(world int) (int, error) {
	parts, cp := q.replica(), max(1, q.want.CP)
	const hint = "give --dp, the ranks that reduce a gradient together"
	switch {
	case parts*cp == 1:
		return world, nil
	case world%(parts*cp) != 0:
		return 0, exit.With(exit.Want, fmt.Errorf("the curve's %d ranks do not divide by %s: the number of data-parallel ranks is not known", world, q.parts()), hint)
	case world == parts:
		return 0, exit.With(exit.Want, fmt.Errorf("the curve's %d ranks are one copy of the model (%s): the number of data-parallel ranks is not known", world, q.parts()), hint)
	}
	return world / parts, nil
}

// parts names what divides a world.
func (q *Question) parts() string {
	return fmt.Sprintf("tensor parallel %d × pipeline %d × context parallel %d", max(1, q.want.TP), max(1, q.want.PP), max(1, q.want.CP))
}

// noted is the model with where the number of data-parallel ranks is from.
func (q *Question) noted(m *trainer.Model, dp int) *trainer.Model {
	parts := q.replica()
	if m == nil || parts == 1 {
		return m
	}
	with := *m
	with.Notes = append(slices.Clone(m.Notes), fmt.Sprintf("%d ranks reduce a gradient together: the curve's %d over %s; --dp says otherwise", dp, dp*parts, q.parts()))
	return &with
}
