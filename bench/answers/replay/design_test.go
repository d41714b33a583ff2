package replay

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// steps yields steps of 1 s times each setting's factor, which change with the number of the step.
func steps(change func(step int) float64, factors ...float64) (take Taker, taken *[]int) {
	at, all := 0, []int{}
	return func(setting, n int) ([]float64, error) {
		seconds := make([]float64, n)
		for i := range seconds {
			seconds[i] = factors[setting] * change(at)
			at++
		}
		all = append(all, setting)
		return seconds, nil
	}, &all
}

func TestARoundGoesThereAndBack(t *testing.T) {
	d := Design{Settings: 3, Block: 2, Margin: 0.005, MaxSteps: 1e6}
	take, taken := steps(func(int) float64 { return 1 }, 1, 1, 1)
	o, err := d.Run(take, func(Announced) { t.Fatal("decided without") })
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 2, 1, 0, 1, 2, 0, 0, 2, 1}, (*taken)[:12])
	require.Equal(t, d.FirstSteps(), o.Taken)
	require.Equal(t, firstRounds*d.RoundSteps(), o.Taken)
	require.Len(t, o.Steps[1], firstRounds*roundBlocks*d.Block, "the first step of a block is not timed")
}

// A drift that is the same for all steps moves no difference: an hour of warming up is not a slow setting.
func TestADriftCancels(t *testing.T) {
	d := Design{Settings: 4, Block: 3, Margin: 0.005, MaxSteps: 1e6}
	take, _ := steps(func(i int) float64 { return math.Exp(1e-4 * float64(i)) }, 1, 1.02, 1, 0.99)
	o, err := d.Run(take, func(Announced) { t.Fatal("decided without") })
	require.NoError(t, err)
	for k, want := range []float64{0, 0.02, 0, -0.01} {
		require.InDelta(t, want, o.Differences[k].Mean, 1e-12)
	}
	require.Equal(t, []Verdict{Same, Slower, Same, Faster}, []Verdict{
		o.Differences[0].Verdict, o.Differences[1].Verdict, o.Differences[2].Verdict, o.Differences[3].Verdict,
	})
}

// Steps that alternate in a way that the rounds do not follow spread: more are announced, and taken.
func TestWhatWasAnnouncedIsTaken(t *testing.T) {
	noise := func(i int) float64 { return 1 + 0.02*math.Sin(float64(i*i)) }
	d := Design{Settings: 2, Block: 3, Margin: 0.004, MaxSteps: 1e6}
	take, _ := steps(noise, 1, 1)
	var said []Announced
	o, err := d.Run(take, func(a Announced) { said = append(said, a) })
	require.NoError(t, err)
	require.Len(t, said, 1)
	require.Equal(t, said[0].Total, o.Taken)
	require.LessOrEqual(t, said[0].Precision, d.Margin/2)

	d.MaxSteps = d.FirstSteps() + 5*d.RoundSteps()
	take, _ = steps(noise, 1, 1)
	o, err = d.Run(take, func(a Announced) { said = append(said, a) })
	require.NoError(t, err)
	require.Equal(t, d.MaxSteps, o.Taken)
	require.Greater(t, said[1].Precision, d.Margin/2, "what the bound on steps allows")
	require.Equal(t, Undecided, o.Differences[1].Verdict)
}

func TestAnErrorEndsTheRounds(t *testing.T) {
	broken, calls := errors.New("broken"), 0
	_, err := Design{Settings: 2, Block: 1, MaxSteps: 1e6}.Run(func(_, n int) ([]float64, error) {
		if calls++; calls > 3 {
			return nil, broken
		}
		return make([]float64, n), nil
	}, nil)
	require.ErrorIs(t, err, broken)
	require.Equal(t, 4, calls)
}
