package trainer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// worked is the sum of the work that the simulation spreads over the tensors.
func worked(m *trainer.Model) float64 {
	sum := 0.0
	for _, w := range trainer.Work(m.Params) {
		sum += w
	}
	return sum
}

// The time of a pass is computed from ActiveParams and spread over the tensors by
// their work. Both are the same sum, whole, on one rank of many expert-parallel
// groups, and on the first pipeline stage.
func TestActiveParametersAreTheWork(t *testing.T) {
	for _, name := range trainer.PresetNames() {
		for _, cut := range []struct{ groups, stages int }{{1, 1}, {4, 1}, {1, 5}, {8, 3}} {
			m, err := trainer.Preset(name)
			require.NoError(t, err)
			require.NoError(t, m.Local(cut.groups))
			require.NoError(t, m.Stage(cut.stages, 0))
			require.InDelta(t, worked(m), m.ActiveParams, 0.5, "%s %+v", name, cut)
		}
	}
	for _, total := range []int64{1e9, 8_030_261_248} {
		m, err := trainer.SyntheticModel(total, 64, 100e6)
		require.NoError(t, err)
		require.InDelta(t, worked(m), m.ActiveParams, 0.5)
		require.NoError(t, m.Stage(4, 0))
		require.InDelta(t, worked(m), m.ActiveParams, 0.5)
	}
	m, err := trainer.ReadModel("p.csv", strings.NewReader("model.embed_tokens.weight,5000\na,100\nlm_head,5000\n"), nil)
	require.NoError(t, err)
	require.Equal(t, int64(5100), m.ActiveParams, "the table is looked up")
}

// A list whose experts' share follows from the active parameters sums to them.
func TestSetActiveIsTheWork(t *testing.T) {
	m, err := trainer.ReadModel("p.csv", strings.NewReader("model.embed_tokens.weight,1000\na,100\nmlp.experts.0.w,300\nmlp.experts.1.w,300\n"), nil)
	require.NoError(t, err)
	m.SetActive(400)
	require.InDelta(t, 400, worked(m), 1e-9)
}

// A model of 250 TFLOP/s and 16,384 tokens: the example of ZAYA1-base whose
// backward takes 340 ms, its output layer of 262,272 x 2,048 included.
func TestZayaBackwardHasTheOutputLayer(t *testing.T) {
	m, err := trainer.Preset("zaya1-base")
	require.NoError(t, err)
	c, err := trainer.Load{Tokens: 16_384, ActiveParams: m.ActiveParams, Flops: 250e12}.Estimate()
	require.NoError(t, err)
	require.InDelta(t, 0.340, c.Backward, 0.005, fmt.Sprint(m.ActiveParams))
	require.InDelta(t, 760e6+262_272*2048, m.ActiveParams, 10e6)
}
