package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// Two groups of ranks, two curves, one knob.
func TestExpertsHaveACurveOfTheirOwn(t *testing.T) {
	params := llama()
	for i := range params {
		params[i].Expert = i%9 == 7
	}
	q := Question{
		Trainer: "megatron", Params: params, Backward: 0.1, Forward: 0.05,
		Run:    trainer.Run{DP: 64, EP: 8, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"},
		Curves: []Curve{curve(t, "reduce_scatter", 64, wide(), affine), curve(t, "all_gather", 64, wide(), affine)},
	}
	a, err := Ask(q)
	require.NoError(t, err)
	require.Equal(t, "wrong_ranks", a.Refusal.Code)
	require.Contains(t, a.Refusal.Message, "reduce_scatter of 8 ranks")
	q.Curves = append(q.Curves, curve(t, "reduce_scatter", 8, wide(), affine), curve(t, "all_gather", 8, wide(), affine))
	a = ask(t, q)
	require.Len(t, a.Curves, 4)
	slow := func(s float64) float64 { return 20 * affine(s) }
	q.Curves[2], q.Curves[3] = curve(t, "reduce_scatter", 8, wide(), slow), curve(t, "all_gather", 8, wide(), slow)
	require.Greater(t, ask(t, q).Best.Step, a.Best.Step)
}

// Of several curves of as many ranks as hold the same experts, that of ranks that lie
// apart is taken, wherever it stands and in whatever placement.
func TestExpertsUseStridedRanks(t *testing.T) {
	params := llama()
	for i := range params {
		params[i].Expert = i%9 == 7
	}
	whole := []Curve{curve(t, "reduce_scatter", 64, wide(), affine), curve(t, "all_gather", 64, wide(), affine)}
	var parts []Curve
	for _, name := range []string{"reduce_scatter", "all_gather"} {
		alone, near, apart := curve(t, name, 8, wide(), affine), curve(t, name, 8, wide(), affine), curve(t, name, 8, wide(), affine)
		alone.Neighbours, near.Neighbours, apart.Neighbours = true, true, true
		near.Groups, apart.Groups, apart.Stride, apart.InPlace = 8, 8, 8, !near.InPlace
		parts = append(parts, alone, near, apart)
	}
	for _, curves := range [][]Curve{slices.Concat(whole, parts), slices.Concat(parts, whole)} {
		a := ask(t, Question{
			Trainer: "megatron", Params: params, Backward: 0.1, Forward: 0.05, Curves: curves,
			Run: trainer.Run{DP: 64, EP: 8, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"},
		})
		for _, c := range a.Curves {
			require.Equal(t, c.Ranks == 8, c.Stride == 8, "%+v", c)
		}
		require.NotContains(t, reasons(a), "neighbours")
		curves = slices.DeleteFunc(slices.Clone(curves), func(c Curve) bool { return c.Stride > 0 })
		a = ask(t, Question{
			Trainer: "megatron", Params: params, Backward: 0.1, Forward: 0.05, Curves: curves,
			Run: trainer.Run{DP: 64, EP: 8, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"},
		})
		for _, c := range a.Curves {
			require.Equal(t, c.Ranks == 8, c.Groups == 8, "%+v", c)
		}
		require.Contains(t, reasons(a), "neighbours")
	}
}
