package trainer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/job/trainer"
)

// The published counts; the sources stand in the table of presets.
func TestPresetsHaveThePublishedSize(t *testing.T) {
	for name, want := range map[string]struct {
		total, experts, embedding int64
	}{
		"llama3-8b":  {8_030_261_248, 0, 525_336_576},
		"llama3-70b": {70_553_706_496, 0, 1_050_673_152},
		// 16 experts × (4096 + 2048) × 2048 in 40 layers. 8.3 B without the
		// embedding, 17.68 GB of bf16 with it: both published.
		"zaya1-base": {8_840_484_688, 8_053_063_680, 537_133_056},
		// 15.29 B without embedding and output layer.
		"moonlight-16b": {15_960_108_544, 26 * 64 * 3 * 2048 * 1408, 335_544_320},
	} {
		m, err := trainer.Preset(name)
		require.NoError(t, err)
		require.Equal(t, want.total, m.Total(), name)
		require.Equal(t, want.experts, m.ExpertTotal(), name)
		require.Equal(t, want.embedding, m.Params[0].Elements, name)
		require.Equal(t, want.embedding, m.Largest(), name)
		require.Contains(t, m.Source, "https://")
		require.Contains(t, m.Source, "2026-")
		require.True(t, m.Listed)
		seen := map[string]bool{}
		for _, p := range m.Params {
			require.False(t, seen[p.Name], p.Name)
			seen[p.Name] = true
		}
	}
	_, err := trainer.Preset("llama4")
	var unknown *spell.Unknown
	require.ErrorAs(t, err, &unknown)
	require.ErrorContains(t, err, "valid are llama3-8b, ")
}

func TestPublishedRoundings(t *testing.T) {
	zaya, err := trainer.Preset("zaya1-base")
	require.NoError(t, err)
	require.InDelta(t, 8.3e9, zaya.Total()-zaya.Params[0].Elements, 0.05e9, "without the embedding")
	require.InDelta(t, 17.68e9, 2*zaya.Total(), 0.02e9, "the checkpoint in bf16")
	moon, err := trainer.Preset("moonlight-16b")
	require.NoError(t, err)
	require.InDelta(t, 15.29e9, moon.Total()-2*moon.Params[0].Elements, 0.01e9, "without embedding and output layer")
}

// work sums what computes for a token: for the published active count.
func work(m *trainer.Model) float64 {
	sum := 0.0
	for _, p := range m.Params {
		switch {
		case p.Work != nil:
			sum += *p.Work
		case strings.Contains(p.Name, "embed"):
		default:
			sum += float64(p.Elements)
		}
	}
	return sum
}

func TestActiveParametersArePublished(t *testing.T) {
	moon, err := trainer.Preset("moonlight-16b")
	require.NoError(t, err)
	require.InDelta(t, 2.24e9, work(moon)-2048*163840, 0.01e9, "without the output layer")
	zaya, err := trainer.Preset("zaya1-base")
	require.NoError(t, err)
	require.InDelta(t, 760e6, work(zaya)-2048*262272, 10e6, "without the output layer")
}

func TestForwardOrder(t *testing.T) {
	m, err := trainer.Preset("zaya1-base")
	require.NoError(t, err)
	block := 0
	for _, p := range m.Params[1 : len(m.Params)-2] {
		require.GreaterOrEqual(t, p.Block, block)
		block = p.Block
	}
	require.Equal(t, 40, slice.Most(m.Params, func(p trainer.Param) int { return p.Block }))
	require.Equal(t, int64(0), m.Params[len(m.Params)-1].Elements, "the shared output layer has no gradient of its own")
}

func TestSetActive(t *testing.T) {
	m, err := trainer.ReadModel("p.csv", strings.NewReader("a,100\nmlp.experts.0.w,300\nmlp.experts.1.w,300\n"), nil)
	require.NoError(t, err)
	require.Zero(t, m.ActiveParams, "how many experts a token uses is not known")
	m.SetActive(400)
	require.Equal(t, 150.0, *m.Params[1].Work)
	m.SetActive(900)
	require.Equal(t, 150.0, *m.Params[1].Work, "what is known stays")
	require.Nil(t, m.Params[0].Work)
}

func TestSynthetic(t *testing.T) {
	for _, c := range []struct {
		total   int64
		layers  int
		largest int64
		params  int
	}{{1e9, 24, 0, 96}, {8_030_261_248, 0, 525_336_576, 130}, {7, 3, 0, 6}, {1, 1, 0, 1}} {
		m, err := trainer.SyntheticModel(c.total, c.layers, c.largest)
		require.NoError(t, err)
		require.Equal(t, c.total, m.Total())
		require.Len(t, m.Params, c.params)
		require.False(t, m.Listed)
		require.False(t, slices.ContainsFunc(m.Params, func(p trainerParam) bool { return p.Elements < 1 }))
	}
	for _, c := range [][3]int64{{0, 1, 0}, {100, -1, 0}, {100, 1, 60}, {1e9, 1, 1e6}, {-5, 1, 0}, {100, 1 << 30, 0}} {
		_, err := trainer.SyntheticModel(c[0], int(c[1]), c[2])
		require.ErrorIs(t, err, trainer.ErrParams, c)
	}
}

func TestCompute(t *testing.T) {
	c, err := trainer.Load{Tokens: 16384, ActiveParams: 760e6, Flops: 250e12}.Estimate()
	require.NoError(t, err)
	require.InDelta(t, 4*760e6*16384/250e12, c.Backward, 1e-12)
	require.InDelta(t, c.Backward/2, c.Forward, 1e-12)
	require.False(t, c.Measured)
	r, err := trainer.Load{Tokens: 16384, ActiveParams: 760e6, Flops: 250e12, Recompute: true}.Estimate()
	require.NoError(t, err)
	require.InDelta(t, 1.5*c.Backward, r.Backward, 1e-12)
	require.Equal(t, c.Forward, r.Forward)
	s, err := trainer.ComputeOfStep(0.3)
	require.NoError(t, err)
	require.InDelta(t, 0.2, s.Backward, 1e-15)
	require.InDelta(t, 0.1, s.Forward, 1e-15)
	m, err := trainer.ComputeTimed(0.2, 0)
	require.NoError(t, err)
	require.Equal(t, 0.1, m.Forward)
	require.True(t, m.Measured && m.Known())
	for _, bad := range []func() error{
		func() error { _, err := trainer.ComputeTimed(0, 1); return err },
		func() error { _, err := trainer.ComputeTimed(1, -1); return err },
		func() error { _, err := trainer.ComputeOfStep(-1); return err },
		func() error { _, err := trainer.Load{Tokens: 1, ActiveParams: 1}.Estimate(); return err },
		func() error { _, err := trainer.Load{Tokens: -1, ActiveParams: 1, Flops: 1}.Estimate(); return err },
	} {
		require.ErrorIs(t, bad(), trainer.ErrCompute)
	}
}

// An embedding that the last of several stages shares is reduced between both: that
// is not counted, and said where it can be known.
func TestSharedEmbeddingBetweenStages(t *testing.T) {
	for name, want := range map[string]bool{"zaya1-base": true, "llama3-8b": false} {
		for stages, said := range map[int]bool{1: false, 4: want} {
			m, err := trainer.Preset(name)
			require.NoError(t, err)
			require.NoError(t, m.Stage(stages, 0))
			require.Equal(t, said, strings.Contains(strings.Join(m.Notes, "\n"), "the last stage shares the embedding: its gradient is reduced between both"), "%s in %d: %v", name, stages, m.Notes)
		}
	}
	m, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	require.ErrorContains(t, m.Stage(33, 0), "32 blocks do not make 33 pipeline stages")
	require.NoError(t, m.Stage(32, 0))
	m = &trainer.Model{}
	m.AsGiven(1, 1)
	require.Empty(t, m.Notes)
	m.AsGiven(2, 1)
	require.Contains(t, m.Notes[0], "the list is taken as it is, for the first of 2 pipeline stages'; where the last shares its embedding")
}
