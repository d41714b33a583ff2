package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// An optimizer instance is ranks that follow each other; the same shares of all
// instances are reduced by ranks that lie apart.
func TestInstancesAreNeighbours(t *testing.T) {
	q := Question{
		Trainer: "megatron", Params: llama(), Backward: 0.1, Forward: 0.05,
		Run: trainer.Run{DP: 16, Instances: 2, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"},
	}
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
		for _, ranks := range []int{8, 2} {
			near, apart := curve(t, name, ranks, wide(), affine), curve(t, name, ranks, wide(), affine)
			near.Groups, apart.Groups, apart.Stride = 16/ranks, 16/ranks, 16/ranks
			q.Curves = append(q.Curves, near, apart)
		}
		q.Curves = append(q.Curves, curve(t, name, 16, wide(), affine))
	}
	for range 2 {
		a := ask(t, q)
		require.Len(t, a.Curves, 3)
		for _, c := range a.Curves {
			require.Equal(t, map[string]int{"all_reduce": 8}[c.Collective], c.Stride, "%+v", c)
		}
		slices.Reverse(q.Curves)
	}
	for ranks, want := range map[int]string{8: "--groups 8", 2: "--strides 8: this is the stride of the ranks of all optimizer instances"} {
		x := q
		x.Curves = slices.DeleteFunc(slices.Clone(q.Curves), func(c Curve) bool { return c.Ranks == ranks })
		a, err := Ask(x)
		require.NoError(t, err)
		require.Equal(t, "wrong_ranks", a.Refusal.Code)
		require.Contains(t, a.Refusal.Hint, want)
		require.NotContains(t, a.Refusal.Hint, "experts")
	}
}

func TestAmount(t *testing.T) {
	bf16 := trainer.Run{DP: 64, GradDtype: "bfloat16"}
	shares := trainer.Run{DP: 64, Zero: 1, GradDtype: "bfloat16"}
	for want, got := range map[string]string{
		"350 M":    Amount(trainer.Elements, 350_000_000, bf16, 0),
		"25 MiB":   Amount(trainer.MiB, 25<<19, bf16, 0),
		"1.50 MiB": Amount(trainer.MiB, 3<<18, bf16, 0),
		"32 MiB":   Amount(trainer.Bytes, 1<<24, bf16, 0),
		// What is written behind the flag for reduce_scatter.
		"512 KiB":  Amount(trainer.Bytes, 1<<24, shares, 0),
		"1 block":  Amount(trainer.Blocks, 100, bf16, 100),
		"2 blocks": Amount(trainer.Blocks, 200, bf16, 100),
	} {
		require.Equal(t, want, got)
	}
}
