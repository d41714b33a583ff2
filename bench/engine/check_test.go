package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/test/foldertest"
)

// A sweep that is refused has launched nothing and leaves no folder; one that is not runs.
func TestCheckedBeforeTheFirstLaunch(t *testing.T) {
	for _, refusal := range []error{errors.New("no locked memory"), nil} {
		files, d, asked := foldertest.New(), &modelled{}, 0
		e := at(files, d)
		e.Check = func(u *engine.Setup, of engine.Ranks, cases []plan.Case, seconds float64) error {
			require.Equal(t, 16, u.Spec.World.Size())
			require.Same(t, d, of)
			require.Len(t, cases, 6)
			require.Zero(t, seconds, "simulated seconds do not pass")
			require.Zero(t, d.done)
			asked++
			return refusal
		}
		out, err := runWith(context.Background(), t, e, small())
		require.Equal(t, 1, asked)
		if refusal == nil {
			require.NoError(t, err)
			require.Positive(t, d.done)
			continue
		}
		require.ErrorIs(t, err, refusal)
		require.Nil(t, out)
		require.Zero(t, d.done)
		require.Empty(t, files.Files("out"))
	}
}
