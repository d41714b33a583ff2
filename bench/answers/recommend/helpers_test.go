package recommend

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/test/recordtest"
)

// llama is Llama-3-8B: hidden 4096, 32 layers, 8 KV heads of 128, feed-forward
// 14336, vocabulary 128256, output layer not tied (config.json of
// meta-llama/Meta-Llama-3-8B).
func llama() []trainer.Param {
	const h, kv, ff, vocab = 4096, 1024, 14336, 128256
	params := []trainer.Param{{Name: "model.embed_tokens.weight", Elements: vocab * h}}
	for i := range 32 {
		for _, x := range []struct {
			name string
			n    int64
		}{
			{"input_layernorm", h},
			{"self_attn.q_proj", h * h},
			{"self_attn.k_proj", kv * h},
			{"self_attn.v_proj", kv * h},
			{"self_attn.o_proj", h * h},
			{"post_attention_layernorm", h},
			{"mlp.gate_proj", ff * h},
			{"mlp.up_proj", ff * h},
			{"mlp.down_proj", ff * h},
		} {
			params = append(params, trainer.Param{Name: "model.layers." + strconv.Itoa(i) + "." + x.name + ".weight", Elements: x.n, Block: i + 1})
		}
	}
	return append(params, trainer.Param{Name: "model.norm.weight", Elements: h}, trainer.Param{Name: "lm_head.weight", Elements: vocab * h})
}

// curve is a collective whose time is given, measured without spread.
func curve(t testing.TB, collective string, ranks int, sizes []int64, seconds func(s float64) float64) Curve {
	t.Helper()
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, s := range sizes {
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: strconv.FormatInt(s, 10), Status: record.OK}, Collective: collective, Dtype: "bfloat16", Op: "sum", Bytes: s, Ranks: ranks, Nodes: (ranks + 7) / 8,
			GPUsPerProcess: 1, Groups: 1, InPlace: true,
			Isolated: &record.Timing{MaxOfRanks: steady(seconds(float64(s)))},
		})
	}
	return only(t, rec)
}

// steady is twenty samples without spread.
func steady(seconds float64) *stat.Summary {
	series := make([]float64, 20)
	for i := range series {
		series[i] = seconds
	}
	return stat.Summarize(series)
}

// doubling is the sizes from..to, each twice the one before.
func doubling(from, to int64) []int64 {
	var sizes []int64
	for s := from; s <= to; s *= 2 {
		sizes = append(sizes, s)
	}
	return sizes
}

func wide() []int64 { return doubling(64*unit.KiB, 16*unit.GiB) }

// published reads a published curve.
func published(t testing.TB, name string, ranks int) Curve {
	t.Helper()
	return only(t, recordtest.Published(t, name, ranks))
}

func only(t testing.TB, rec *record.Record) Curve {
	t.Helper()
	curves, err := Curves([]Source{{Record: rec}})
	require.NoError(t, err)
	require.Len(t, curves, 1)
	return curves[0]
}

// ddp is Llama-3-8B on DDP.
func ddp(curves ...Curve) Question {
	return Question{
		Curves: curves, Trainer: "ddp", Params: llama(), Backward: 79e-3, Forward: 39.5e-3,
		Run: trainer.Run{DP: curves[0].Ranks, GradDtype: "bfloat16", ParamDtype: "bfloat16"},
	}
}

func ask(t testing.TB, q Question) Answer {
	t.Helper()
	a, err := Ask(q)
	require.NoError(t, err)
	require.Equal(t, Recommended, a.Verdict, "%+v", a.Refusal)
	return a
}
