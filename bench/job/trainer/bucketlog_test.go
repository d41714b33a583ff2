package trainer_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/job/trainer"
)

// printedBuckets is what Megatron prints of a model's buckets, each line behind a prefix.
func printedBuckets(params []trainer.Param, buckets []trainer.Bucket, apart bool, prefix string) string {
	var b strings.Builder
	for _, expert := range []bool{false, true} {
		n := 0
		for _, bucket := range buckets {
			if bucket.Expert != expert {
				continue
			}
			n++
			fmt.Fprintf(&b, "%sParams for bucket %d (%d elements, %d padded size, 0 param(s) with extra main_grads):\n", prefix, n, bucket.Elements-bucket.Padding, bucket.Elements)
			for i := bucket.Last; i >= bucket.First; i-- {
				if p := params[i]; (p.Expert && apart) == expert && p.Elements > 0 {
					fmt.Fprintf(&b, "%s\t%s (param.main_grad.dtype=torch.float32)\n", prefix, p.Name)
				}
			}
		}
	}
	return b.String()
}

func readLog(text string) (*trainer.Model, error) {
	return trainer.ReadModel("rank0.log", strings.NewReader(text), nil)
}

// Whatever the model and the bucket size: the log gives the list back, or it is refused. Nothing is guessed.
func TestBucketLogGivesTheListBack(t *testing.T) {
	megatron, err := trainer.ByName("megatron")
	require.NoError(t, err)
	solved, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(trainer.PresetNames()).Draw(rt, "preset")
		m, err := trainer.Preset(name)
		if err != nil {
			rt.Fatal(err)
		}
		run := trainer.Run{DP: 16, EP: rapid.SampledFrom([]int{1, 8}).Draw(rt, "ep"), GradDtype: "float", ParamDtype: "bfloat16", Zero: 1}
		if m.Local(run.EP) != nil {
			return
		}
		params := slices.DeleteFunc(megatron.Tensors(m.Params), func(p trainer.Param) bool { return p.Elements == 0 })
		setting := rapid.Int64Range(1, 1<<27).Draw(rt, "setting")
		if rapid.Bool().Draw(rt, "alone") {
			setting = 1
		}
		buckets := megatron.Plan(params, setting, run).Buckets
		all++
		got, err := readLog("iteration 0\n" + printedBuckets(params, buckets, run.EP > 1, "0: ") + "0: done\n" + printedBuckets(params, buckets[:1], run.EP > 1, "8: "))
		if err != nil {
			if setting == 1 {
				rt.Fatalf("%s with a bucket for each tensor: %v", name, err)
			}
			if !strings.Contains(err.Error(), "--ddp-bucket-size 1") {
				rt.Fatal(err)
			}
			return
		}
		solved++
		sizes := map[string]int64{}
		var dense, listed []string
		for _, p := range params {
			sizes[p.Name] = p.Elements
			if !p.Expert {
				dense = append(dense, p.Name)
			}
		}
		for _, p := range got.Params {
			if sizes[p.Name] != p.Elements {
				rt.Fatalf("%s with buckets of %d: %s has %d elements, not %d", name, setting, p.Name, p.Elements, sizes[p.Name])
			}
			if !p.Expert {
				listed = append(listed, p.Name)
			}
		}
		if len(got.Params) != len(params) || !slices.Equal(dense, listed) {
			rt.Fatalf("%s: %d of %d tensors, or another order", name, len(got.Params), len(params))
		}
	})
	require.Greater(t, solved, all/4)
}

func TestBucketLogSolvesSums(t *testing.T) {
	const log = `INFO:megatron.core.distributed.param_and_grad_buffer:Number of buckets for gradient all-reduce / reduce-scatter: 3
Params for bucket 1 (2200 elements):
	module.decoder.final_layernorm.weight
	module.decoder.layers.1.mlp.linear_fc1.weight
	module.decoder.layers.1.self_attention.linear_proj.bias
Params for bucket 2 (3100 elements, 3200 padded size):
	module.decoder.layers.0.mlp.linear_fc1.weight
	module.decoder.layers.0.self_attention.linear_proj.bias
	module.decoder.layers.0.input_layernorm.weight
	module.decoder.layers.0.other.weight
Params for bucket 3 (5000 elements, 5120 padded size):
	module.embedding.word_embeddings.weight
INFO:next
	not.a.tensor
`
	_, err := readLog(log)
	require.ErrorContains(t, err, "leave open how large are the norms and biases of the hidden size, module.decoder.layers.N.mlp.linear_fc1.weight; ")
	require.ErrorContains(t, err, "--ddp-bucket-size 1")
	m, err := readLog("Params for bucket 1 (100 elements):\n\tdecoder.layers.1.pre_mlp_layernorm.weight\nParams for bucket 2 (1100 elements):\n\tdecoder.layers.0.input_layernorm.weight\n\tembedding.weight\n")
	require.NoError(t, err)
	require.Equal(t, []string{"embedding.weight", "decoder.layers.0.input_layernorm.weight", "decoder.layers.1.pre_mlp_layernorm.weight"}, []string{m.Params[0].Name, m.Params[1].Name, m.Params[2].Name})
	require.Equal(t, int64(1000), m.Params[0].Elements)
	require.Equal(t, 1, m.Params[1].Block)
	for text, says := range map[string]string{
		"Params for bucket 2 (100 elements):\n\ta.norm.weight\n":                                                                                    "bucket 2 does not follow",
		"Params for bucket 1 (100 elements):\n":                                                                                                     "names of bucket 1 are missing",
		"Params for bucket 1 (99999999999999999999 elements):\n\ta\n":                                                                               "no number of elements",
		"Params for bucket 1 (100 elements):\n\ta.1.w\n\ta.2.w\nParams for bucket 2 (70 elements):\n\ta.3.w\n":                                      "different sizes in different blocks",
		"Params for bucket 1 (5 elements):\n\ta.1.w\nParams for bucket 2 (6 elements):\n\ta.2.w\nParams for bucket 3 (9 elements):\n\ta.3.w\n\tb\n": "different sizes in different blocks",
		"Params for bucket 1 (101 elements):\n\ta.1.w\n\ta.2.w\n":                                                                                   "different sizes in different blocks",
		"Params for bucket 1 (5 elements):\n\ta.1.w\nParams for bucket 1 (5 elements):\n\ta.2.w\n\nParams for bucket 2 (5 elements):\n\ta.1.w\n":    "listed at rank0.log line 2 already; give the lines of one rank",
	} {
		_, err := readLog(text)
		require.ErrorContains(t, err, says)
		require.ErrorIs(t, err, trainer.ErrParams)
	}
}

// The hook runs, and what it prints is read. The model is a stand-in: a hook of plain Python needs no PyTorch.
func TestHookOfParameters(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	const standIn = `
class P:
    def __init__(self, shape, grad=True, **more):
        self.shape, self.dtype, self.requires_grad = shape, "torch.bfloat16", grad
        self.__dict__.update(more)
class M:
    def named_parameters(self):
        return [("embed.weight", P((100, 8))), ("layers.0.mlp.experts.0.w", P((8, 4), allreduce=False)), ("layers.0.frozen", P((8,), False)), ("scale", P(()))]
model = M()
`
	out, err := exec.CommandContext(t.Context(), python, "-c", standIn+trainer.Hook).CombinedOutput()
	require.NoError(t, err, "%s", out)
	m, err := trainer.ReadModel("params.csv", strings.NewReader(string(out)), nil)
	require.NoError(t, err)
	require.Len(t, m.Params, 4)
	require.Equal(t, int64(800), m.Params[0].Elements)
	require.True(t, m.Params[1].Expert)
	require.Equal(t, int64(8), m.Params[2].Frozen)
	require.Equal(t, int64(1), m.Params[3].Elements)
	require.Equal(t, []string{"bfloat16"}, m.Dtypes)
	require.Len(t, strings.Split(strings.TrimSpace(trainer.Hook), "\n"), 5)
}
