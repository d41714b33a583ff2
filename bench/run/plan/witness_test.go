package plan_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// witnessed is a driver whose launches hang, and that has a second witness.
type witnessed struct {
	*script
	asked int
}

func (w *witnessed) Witness() *record.Witness {
	w.asked++
	return &record.Witness{Source: "RAS", State: record.WitnessDegraded, Ranks: []record.WitnessRank{{State: record.RankMissing, Rank: new(3)}}}
}

// A second witness is asked once a deadline has passed, and its answer stands beside the
// evidence. Other failures do not ask it.
func TestASecondWitnessIsAskedAtADeadline(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   func() error
		asked int
	}{
		{"a deadline", func() error {
			b := hung(8, 3, 2)
			return stuckError{errors.New("not finished"), b.evidence(0, 8)}
		}, 1},
		{"a lost process", func() error {
			b := hung(8, 3, 2)
			b.deadline = nil
			return stuckError{errors.New("lost"), b.evidence(0, 8)}
		}, 0},
		{"an error", func() error { return errors.New("no memory") }, 0},
	} {
		d := &witnessed{script: &script{ranks: 8, burst: func(int) ([]float64, error) { return nil, c.err() }}}
		results := run(t, d, axes(t, "all_reduce").Cases()[:1], options(2, 2))
		require.Equal(t, record.Failed, results[0].Status, c.name)
		require.Equal(t, c.asked, d.asked, c.name)
		if c.asked > 0 {
			require.Equal(t, 3, *results[0].Evidence.Witness.Ranks[0].Rank)
			require.Contains(t, results[0].Reason, "; RAS reports rank 3 missing")
		}
	}
}
