package bisect

import (
	"context"
	"errors"
)

// BrokenError is why a variant cannot be measured: it is left out, and the search goes on.
type BrokenError struct {
	// Reason in a sentence without a full stop; Evidence are the last lines that the child
	// printed.
	Reason   string
	Evidence []string
}

func (e *BrokenError) Error() string { return e.Reason }

// Measure runs one child: it starts the variant and measures the cases once. Round counts
// from 0. A [BrokenError] leaves the variant out; any other error ends the search.
type Measure func(ctx context.Context, round, variant int, cases []int) (Trial, error)

// Run searches until everything is decided or the rounds are used up. The end of ctx, or an
// error of measure, ends the search after the child that runs; what was measured is in s.
func Run(ctx context.Context, s *Search, measure Measure) error {
	for {
		round, ok := s.Next()
		if !ok {
			return nil
		}
		for _, v := range round.Variants {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			t, err := measure(ctx, s.rounds, v, round.Cases)
			if broken := (*BrokenError)(nil); errors.As(err, &broken) {
				s.LeaveOut(v)
				continue
			} else if err != nil {
				return err
			}
			t.Round, t.Variant, t.Asked = s.rounds, v, round.Cases
			s.Add(t)
		}
		s.EndRound()
	}
}
