package stat

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// clockwork is work whose rounds take so many seconds each, the first run so many
// more.
type clockwork struct {
	each, first float64
	runs        []int
	spent       float64
}

func (c *clockwork) run(rounds int) (float64, error) {
	c.runs = append(c.runs, rounds)
	s := c.each * float64(rounds)
	if len(c.runs) == 1 {
		return s + c.first, nil
	}
	c.spent += s
	return s, nil
}

// The batch is long enough and not much longer, the work warm, and what the first
// run takes beside the work decides nothing.
func TestRounds(t *testing.T) {
	for _, each := range []float64{1e-7, 1e-6, 3e-6, 1e-4, 1.9e-3, 2e-3, 0.5} {
		for _, first := range []float64{0, 1e-3, 10} {
			w := clockwork{each: each, first: first}
			n, err := Rounds(2e-3, 0.05, w.run)
			require.NoError(t, err)
			require.Equal(t, n, w.runs[len(w.runs)-1], "the last batch is as those that follow")
			if n == MostRounds {
				require.Less(t, each*MostRounds, 2e-3)
				continue
			}
			require.GreaterOrEqual(t, each*float64(n), 2e-3)
			require.LessOrEqual(t, each*float64(n), max(1.3*2e-3, each*2), "each %g, first %g: %d rounds", each, first, n)
			require.GreaterOrEqual(t, w.spent, 0.05)
		}
	}
}

// Work that takes no time, as a model's may, ends at the bound.
func TestRoundsOfNoTime(t *testing.T) {
	w := clockwork{}
	n, err := Rounds(2e-3, 0.05, w.run)
	require.NoError(t, err)
	require.Equal(t, MostRounds, n)
	require.Less(t, len(w.runs), 10)
}

func TestRoundsPassesErrorsOn(t *testing.T) {
	for at := range 3 {
		broken, calls := errors.New("broken"), 0
		_, err := Rounds(2e-3, 0.05, func(int) (float64, error) {
			if calls++; calls > at {
				return 0, broken
			}
			return 1e-3, nil
		})
		require.ErrorIs(t, err, broken)
	}
}
