package recommend

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// thousand is a model of 1,000 tensors of many sizes.
func thousand() []trainer.Param {
	params := make([]trainer.Param, 1000)
	for i := range params {
		params[i] = trainer.Param{Name: strconv.Itoa(i), Elements: int64(1+i*i*37%1009) * 16_384}
	}
	return params
}

// noisy is a curve whose points have an interval of 1 % either way.
func noisy(t testing.TB, collective string, ranks int, seconds func(s float64) float64) Curve {
	return spread1(curve(t, collective, ranks, wide(), seconds))
}

// ofAThousand is a question about 1,000 tensors with curves of noisy points.
func ofAThousand(b *testing.B) Question {
	seconds := func(s float64) float64 { return 3e-4 + s/300e9 }
	return Question{
		Trainer: "megatron", Params: thousand(), Backward: 0.3, Forward: 0.15, Bootstrap: 200, Seed: 1,
		Run:    trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "bfloat16", Zero: 1},
		Curves: []Curve{noisy(b, "reduce_scatter", 64, seconds), noisy(b, "all_gather", 64, seconds)},
	}
}

// The bar is two seconds on one core.
func BenchmarkAskOfAThousandTensors(b *testing.B) {
	q := ofAThousand(b)
	for b.Loop() {
		a, err := Ask(q)
		require.NoError(b, err)
		require.NotNil(b, a.Bootstrap)
	}
}
