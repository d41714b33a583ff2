package muon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/job/trainer"
)

// kernels muon and recommend take the same presets under the same names, and a
// preset's matrices are those of the parameter list.
func TestPresetsAreTheModels(t *testing.T) {
	for _, alias := range []string{"zaya1", "moonlight", " ZAYA1-base"} {
		m, err := trainer.PresetName(alias)
		require.NoError(t, err)
		want, err := PresetShapes(m)
		require.NoError(t, err)
		got, err := PresetShapes(alias)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := PresetShapes("gpt")
	var unknown *spell.Unknown
	require.ErrorAs(t, err, &unknown)
}

// The shapes by hand: ZAYA1 has 40 layers of 16 experts with a fused gate and up
// projection; Moonlight 26 layers of 64 experts and one dense layer.
func TestPresetShapes(t *testing.T) {
	for name, want := range map[string][]Shape{
		"zaya1-base": {
			{"experts.linear_fc1", 4096, 2048, 640},
			{"experts.linear_fc2", 2048, 2048, 640},
			{"self_attn.linear_q", 1024, 2048, 40},
			{"router.router_mlp.4", 17, 256, 40},
		},
		"moonlight-16b": {
			{"mlp.experts.gate_proj, up_proj", 1408, 2048, 26 * 64 * 2},
			{"mlp.experts.down_proj", 2048, 1408, 26 * 64},
			{"mlp.gate_proj, up_proj", 11264, 2048, 2},
			{"mlp.gate", 64, 2048, 26},
			{"self_attn.kv_a_proj_with_mqa", 576, 2048, 27},
		},
		"llama3-8b": {
			{"mlp.gate_proj, up_proj", 14336, 4096, 64},
			{"mlp.down_proj", 4096, 14336, 32},
			{"self_attn.q_proj, o_proj", 4096, 4096, 64},
			{"self_attn.k_proj, v_proj", 1024, 4096, 64},
		},
	} {
		got, err := PresetShapes(name)
		require.NoError(t, err)
		for _, s := range want {
			require.Contains(t, got, s, name)
		}
		m, err := trainer.Preset(name)
		require.NoError(t, err)
		n := elementsOf(got)
		require.Less(t, n, m.Total())
		require.Greater(t, float64(n), 0.85*float64(m.Total()), "what is left out is embedding, output layer and vectors")
	}
}

// elementsOf is the number of a model's weights.
func elementsOf(all []Shape) int64 { return slice.Sum(all, Shape.elements) }
