package recommend

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// many is a model of n tensors in blocks of ten, some of them experts, of the
// sizes that Moonlight has.
func many(n int) []trainer.Param {
	sizes := []int64{2048, 2048 * 1408, 2048 * 2048, 64 * 2048, 512}
	params := make([]trainer.Param, n)
	for i := range params {
		params[i] = trainer.Param{
			Name: fmt.Sprintf("model.layers.%d.mlp.experts.%d.w%d", i/10, i%10, i), Elements: sizes[i*7919%len(sizes)], Expert: i%3 > 0, Block: i/10 + 1,
		}
	}
	return params
}

// large is a question about n tensors.
func large(b testing.TB, name string, n int) Question {
	x, err := trainer.ByName(name)
	require.NoError(b, err)
	q := Question{
		Trainer: name, Params: many(n), Backward: 3, Forward: 1.5, Bootstrap: 200, Seed: 1,
		Run: trainer.Run{DP: 64, GradDtype: x.GradDtype, ParamDtype: "bfloat16", Zero: x.Stages[0]},
	}
	for _, c := range []string{"reduce_scatter", "all_gather", "all_reduce"} {
		q.Curves = append(q.Curves, noisy(b, c, 64, func(s float64) float64 { return 3e-4 + s/300e9 }))
	}
	return q
}

// The time grows with the number of tensors and not with its square. The bar is that
// the whole command takes five seconds for 100,000; the question itself takes one or
// two on one core.
func BenchmarkAskByTensors(b *testing.B) {
	for _, name := range append(trainer.Names(), "muon") {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				q := large(b, framework(name), n)
				q.Run.LayerWise = name == "muon"
				b.ReportAllocs()
				for b.Loop() {
					a, err := Ask(q)
					require.NoError(b, err)
					require.Equal(b, Recommended, a.Verdict)
				}
			})
		}
	}
}
