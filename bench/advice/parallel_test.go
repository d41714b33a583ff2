package advice

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/model"
	"zbench/bench/spec"
	"zbench/bench/trainer"
)

// ownList is what one rank of Megatron prints of a model under its own names, written
// down from the modules: the first of so many stages, over so many tensor-parallel ranks.
func ownList(hidden, ffn, kv, vocab, layers, tp int64) *model.Model {
	m := &model.Model{Name: "own.csv", Source: "one rank", Listed: true}
	add := func(name string, block int, sides ...int64) {
		n := int64(1)
		for _, s := range sides {
			n *= s
		}
		m.Params = append(m.Params, trainer.Param{Name: name, Elements: n, Shape: sides, Block: block})
	}
	add("embedding.word_embeddings.weight", 0, vocab/tp, hidden)
	for i := range int(layers) {
		at := fmt.Sprintf("decoder.layers.%d.", i)
		add(at+"self_attention.linear_proj.weight", i+1, hidden, hidden/tp)
		add(at+"self_attention.linear_qkv.layer_norm_weight", i+1, hidden)
		add(at+"self_attention.linear_qkv.weight", i+1, (hidden+2*kv)/tp, hidden)
		add(at+"mlp.linear_fc1.layer_norm_weight", i+1, hidden)
		add(at+"mlp.linear_fc1.weight", i+1, 2*ffn/tp, hidden)
		add(at+"mlp.linear_fc2.weight", i+1, hidden, ffn/tp)
	}
	return m
}

// With --tp 8 --pp 4 a preset's answer is that of one rank's own list.
func TestATensorParallelPresetIsOneRanksList(t *testing.T) {
	for preset, own := range map[string]*model.Model{
		"llama3-8b":  ownList(4096, 14336, 1024, 129024, 8, 8),
		"llama3-70b": ownList(8192, 28672, 1024, 129024, 20, 8),
	} {
		ask := func(change func(a *spec.Advice)) []trainer.Bucket {
			a := &spec.Advice{Framework: "megatron", DP: 64, TP: 8, PP: 4, Backward: 0.08}
			change(a)
			q, err := Prepare(a)
			require.NoError(t, err)
			megatron, err := trainer.ByName("megatron")
			require.NoError(t, err)
			run := q.in.Run
			require.NoError(t, megatron.Check(run))
			p := megatron.Plan(q.in.Model.Params, 94_000_000, run)
			require.NotEmpty(t, p.Backward)
			return p.Buckets
		}
		require.Equal(t, ask(func(a *spec.Advice) { a.Model = own }), ask(func(a *spec.Advice) { a.Preset = preset }), preset)
	}
}

// What is claimed of a preset is what Megatron makes: 242 buckets of Llama 3 70B at 94 M.
func TestPresetsAreFused(t *testing.T) {
	q, err := Prepare(&spec.Advice{Framework: "megatron", Preset: "llama3-70b", DP: 64})
	require.NoError(t, err)
	megatron, err := trainer.ByName("megatron")
	require.NoError(t, err)
	require.Len(t, megatron.Plan(q.in.Model.Params, 94_000_000, q.in.Run).Buckets, 242)
}

// The number of data-parallel ranks follows from the world; experts may be divided by
// another number of ranks.
func TestDataParallelRanksFollow(t *testing.T) {
	for _, x := range []struct {
		config         string
		world          int
		dp, experts    int
		strides        []int
		elementsExpert int64
	}{
		{"", 64, 64, 64, []int{1}, 0},
		{"--tensor-model-parallel-size 4", 64, 16, 16, []int{4}, 0},
		{"--tensor-model-parallel-size 4 --context-parallel-size 2", 64, 16, 16, []int{4}, 0},
		{"--tensor-model-parallel-size 4 --pipeline-model-parallel-size 3", 96, 8, 8, nil, 0},
		{"--tensor-model-parallel-size 4 --expert-model-parallel-size 8", 64, 16, 2, []int{4, 32}, 8 * 26 * 3 * 2048 * 1408 / 4},
		{"--tensor-model-parallel-size 4 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1", 64, 16, 8, []int{4, 8}, 8 * 26 * 3 * 2048 * 1408},
		{"--tensor-model-parallel-size 4 --expert-model-parallel-size 32 --expert-tensor-parallel-size 1", 64, 16, 2, []int{4, 32}, 2 * 26 * 3 * 2048 * 1408},
	} {
		list, err := trainer.Settings("--ddp-bucket-size 5000000 --use-distributed-optimizer " + x.config)
		require.NoError(t, err)
		q, err := Prepare(&spec.Advice{Preset: "moonlight-16b", Config: &spec.Config{File: "t.sh", Settings: list}})
		require.NoError(t, err, x.config)
		dp, err := q.divided(x.world)
		require.NoError(t, err, x.config)
		require.Equal(t, x.dp, dp, x.config)
		require.Equal(t, x.experts, q.ExpertRanks(x.world), x.config)
		require.Equal(t, x.strides, q.Strides(x.world), x.config)
		if x.elementsExpert > 0 {
			require.Equal(t, x.elementsExpert, q.in.Model.ExpertTotal(), x.config)
		}
		run := q.in.Run
		run.DP = dp
		megatron, err := trainer.ByName("megatron")
		require.NoError(t, err)
		require.NoError(t, megatron.Check(run), x.config)
	}
}

// A total is cut alike: its matrices are all that it has.
func TestATotalIsCut(t *testing.T) {
	for ranks, want := range map[int]int64{1: 8e9, 8: 1e9} {
		q, err := Prepare(&spec.Advice{Framework: "ddp", Total: 8e9, Layers: 32, Largest: 512e6, TP: ranks})
		require.NoError(t, err)
		require.InDelta(t, want, q.in.Model.Total(), 200)
	}
}
