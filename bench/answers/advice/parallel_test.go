package advice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// ownList is what one rank of Megatron prints of a model under its own names, written
// down from the modules: the first of so many stages, over so many tensor-parallel ranks.
func ownList(hidden, ffn, kv, vocab, layers, tp int64) *trainer.Model {
	m := &trainer.Model{Name: "own.csv", Source: "one rank", Listed: true}
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

// printed is a list as its owner prints it: named_parameters() in lines.
func printed(t *testing.T, m *trainer.Model) *trainer.Model {
	t.Helper()
	var b strings.Builder
	for _, p := range m.Params {
		b.WriteString(p.Name + "," + strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Shape), " ", "x"), "[]") + "\n")
	}
	read, err := trainer.ReadModel("own.csv", strings.NewReader(b.String()), nil)
	require.NoError(t, err)
	return read
}

// widely is curves of the data-parallel ranks in a world of tensor-parallel ranks and
// stages.
func widely(world, ranks int) []recommend.Source {
	rec := &record.Record{Schema: record.Schema, Created: time.Unix(0, 0), Source: record.Source{Kind: record.Measured}}
	rec.World.Ranks = world
	for _, name := range []string{"reduce_scatter", "all_gather", "all_reduce"} {
		for size := int64(64 << 10); size <= 16<<30; size *= 2 {
			seconds := 1e-3 + float64(size)/200e9
			rec.Results = append(rec.Results, record.Result{
				Case: record.Case{Key: record.Key(name, "float", "sum", size, ranks, 1, true), Status: record.OK}, Collective: name, Dtype: "float", Op: "sum", InPlace: true, Stride: world / ranks / 4,
				Bytes: size, BytesRequested: size, Ranks: ranks, Nodes: world / 8, GPUsPerProcess: 1, Groups: world / ranks,
				Isolated: &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize([]float64{seconds, seconds, 1.01 * seconds, seconds, seconds, 0.99 * seconds})},
			})
		}
	}
	return []recommend.Source{{Record: rec}}
}

// With tensor-parallel ranks and stages in Megatron's arguments the whole answer about a
// preset is that about the list which one rank of the first stage prints: the number of
// data-parallel ranks, the size, the range, all times, the confidence and the lines.
func TestATensorParallelPresetIsOneRanksList(t *testing.T) {
	for preset, own := range map[string]*trainer.Model{
		"llama3-8b":  ownList(4096, 14336, 1024, 129024, 8, 8),
		"llama3-70b": ownList(8192, 28672, 1024, 129024, 20, 8),
	} {
		for _, more := range []string{"", " --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 40000000", " --fp8-param-gather", " --optimizer muon", " --ddp-num-buckets 6"} {
			list, err := trainer.Settings("--bf16 --use-distributed-optimizer --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4" + more)
			require.NoError(t, err)
			ask := func(a spec.Advice) *Document {
				a.Backward, a.Config = 0.02, &spec.Config{File: "t.sh", Settings: list}
				q, err := Prepare(&a)
				require.NoError(t, err)
				d, err := q.Ask(widely(512, 16))
				require.NoError(t, err)
				require.Equal(t, recommend.Recommended, d.Answer.Verdict)
				require.Equal(t, 16, d.Answer.Run.DP, "512 ranks over 8 and 4")
				require.Contains(t, strings.Join(d.Model.Notes, "\n"), "the first of 4 pipeline stages")
				return d
			}
			one, other := ask(spec.Advice{Model: printed(t, own)}), ask(spec.Advice{Preset: preset})
			for i := range one.Answer.Limits { // Megatron's name of a tensor, and Hugging Face's
				l := &one.Answer.Limits[i]
				l.Message = strings.Replace(l.Message, "embedding.word_embeddings", "model.embed_tokens", 1)
			}
			require.Equal(t, one.Answer, other.Answer, preset+more)
			require.Equal(t, one.Sentence, other.Sentence, preset+more)
			require.Equal(t, one.Snippets, other.Snippets, preset+more)
			require.Equal(t, one.Model.Elements, other.Model.Elements)
		}
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
