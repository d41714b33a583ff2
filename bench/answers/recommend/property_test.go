package recommend

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/test/longtest"
)

// megatron is Llama-3-8B with Megatron's distributed optimizer on 64 ranks.
func megatron(t testing.TB, seconds func(s float64) float64) Question {
	return Question{
		Curves:  []Curve{noisy(t, "reduce_scatter", 64, seconds), noisy(t, "all_gather", 64, seconds)},
		Trainer: "megatron", Params: llama(), Backward: 0.2, Forward: 0.1,
		Run: trainer.Run{DP: 64, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"},
	}
}

func text(t *testing.T, a Answer) string {
	t.Helper()
	b, err := json.Marshal(a)
	require.NoError(t, err)
	return string(b)
}

// If everything takes λ times as long, the bucket stays.
func TestTimeScaling(t *testing.T) {
	seconds := bent(5e-4, 150e9, 100e6)
	want := ask(t, megatron(t, seconds))
	for _, by := range []float64{1e-3, 0.37, 1000} {
		q := megatron(t, func(s float64) float64 { return by * seconds(s) })
		q.Backward *= by
		q.Forward *= by
		got := ask(t, q)
		require.Equal(t, want.Elements, got.Elements)
		require.InEpsilon(t, by*want.Best.Step, got.Best.Step, 1e-9)
		require.InDelta(t, want.Best.Score, got.Best.Score, 1e-9)
	}
}

// If all tensors are λ times as large and a message of λ·S takes what S took, the
// bucket is λ times as large: it ends at the same tensors.
func TestByteScaling(t *testing.T) {
	seconds := bent(5e-4, 150e9, 100e6)
	params := llama()
	build := func(by int64) Question {
		q := Question{
			Trainer: "megatron", Backward: 0.2, Forward: 0.1, Run: trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "bfloat16"},
			Curves: []Curve{curve(t, "all_reduce", 64, doubling(64*unit.KiB*by, 16*unit.GiB*by), func(s float64) float64 { return seconds(s / float64(by)) })},
		}
		for _, p := range params {
			q.Params = append(q.Params, trainer.Param{Elements: p.Elements * by})
		}
		return q
	}
	ends := func(q Question) []int {
		a := ask(t, q)
		x, err := trainer.ByName("megatron")
		require.NoError(t, err)
		var first []int
		for _, b := range x.Plan(q.Params, a.Elements, q.Run).Buckets {
			first = append(first, b.First)
		}
		return first
	}
	want := ends(build(1))
	require.Greater(t, len(want), 3)
	for _, by := range []int64{2, 16} {
		require.Equal(t, want, ends(build(by)))
	}
}

// The order of results and curves does not show in a single byte.
func TestOrderDoesNotMatter(t *testing.T) {
	q := megatron(t, bent(5e-4, 150e9, 100e6))
	q.Bootstrap = 20
	want := text(t, ask(t, q))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		rng.Shuffle(len(q.Curves), func(i, j int) { q.Curves[i], q.Curves[j] = q.Curves[j], q.Curves[i] })
		require.Equal(t, want, text(t, ask(t, q)))
	}
}

// Without latency nothing speaks against the smallest bucket, and with endless
// computation only the last message shows.
func TestLimits(t *testing.T) {
	a := ask(t, ddp(curve(t, "all_reduce", 16, wide(), func(s float64) float64 { return s / 150e9 })))
	require.True(t, a.Plateau.OpenLo, "%+v", a.Plateau)
	require.Contains(t, a.WhyNotSmaller, "no reason")

	q := ddp(curve(t, "all_reduce", 16, wide(), func(s float64) float64 { return 1e-4 + s/100e9 }))
	q.Backward, q.Forward = 100, 50
	a = ask(t, q)
	require.True(t, a.Plateau.OpenLo && a.Plateau.OpenHi)
	embedding := 1e-4 + 128256*4096*2/100e9
	require.InDelta(t, embedding, a.Best.ExposedBackward, 0.2*embedding)
	require.Equal(t, "hidden", a.Limits[0].Code)
}

// A slower message never shortens a pass.
func TestSlowerMessagesNeverHelp(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for name, zero := range map[string]int{"megatron": 1, "ddp": 0, "deepspeed": 1, "fsdp2": 3, "xla": 1} {
		x, err := trainer.ByName(name)
		require.NoError(t, err)
		params := llama()[:80]
		p := x.Plan(params, 60_000_000, trainer.Run{DP: 16, Zero: zero, GradDtype: "float", ParamDtype: "bfloat16"})
		for _, d := range []Direction{Backward, Forward} {
			messages := p.Backward
			if d == Forward {
				messages = p.Forward
			}
			pass := NewPass(messages, Shares(trainer.Work(params), d), d)
			for range 50 {
				times := make([]float64, len(messages))
				for i := range times {
					times[i] = rng.Float64() * 0.02
				}
				before := pass.End(Times{Compute: 0.1, Slow: 1}, times)
				require.GreaterOrEqual(t, before, 0.1*(1-1e-12), "no shorter than computation")
				total := 0.0
				for _, x := range times {
					total += x
				}
				require.LessOrEqual(t, before, 0.1+total+1e-12, "no longer than one after the other")
				if len(times) > 0 {
					times[rng.IntN(len(times))] += 0.01
				}
				now := pass.End(Times{Compute: 0.1, Slow: 1}, times)
				require.GreaterOrEqual(t, now, before-1e-12)
			}
		}
	}
}

// The table is ascending, the answer is in it with the least score up to a tie,
// and the plateau is around it.
func TestAnswersAreConsistent(t *testing.T) {
	longtest.OneGoroutine(t)
	rng := rand.New(rand.NewPCG(9, 9))
	for n := range 15 {
		q := megatron(t, bent(math.Exp(rng.Float64()*6)*1e-5, math.Exp(rng.Float64()*3)*2e10, math.Exp(rng.Float64()*5)*1e6))
		q.Backward = math.Exp(rng.Float64()*4) * 0.02
		q.Current = 1 + rng.Int64N(8e9)
		if n%3 == 0 {
			q.Backward, q.Forward = 0, 0
		}
		a := ask(t, q)
		require.True(t, slices.IsSortedFunc(a.Table, func(x, y Candidate) int { return int(min(1, max(-1, x.Elements-y.Elements))) }))
		i := slices.IndexFunc(a.Table, func(c Candidate) bool { return c.Elements == a.Elements })
		require.Equal(t, *a.Best, a.Table[i])
		least := slices.MinFunc(a.Table, func(x, y Candidate) int { return int(math.Copysign(1, x.Score-y.Score)) })
		require.LessOrEqual(t, a.Least.Score, least.Score+Tie+1e-12)
		require.LessOrEqual(t, a.Best.Score, least.Score+PlateauWidth+1e-12)
		require.LessOrEqual(t, a.Best.Step, a.Least.Step*(1+PlateauWidth))
		if !a.Keep {
			require.Equal(t, a.Least, a.Best)
		}
		require.LessOrEqual(t, a.Plateau.Lo, a.Elements)
		require.GreaterOrEqual(t, a.Plateau.Hi, a.Elements)
		require.Contains(t, a.Within, *a.Plateau)
		for _, c := range a.Table {
			cheap := c.Score <= least.Score+PlateauWidth && c.Step <= a.Least.Step*(1+PlateauWidth)
			require.Equal(t, cheap, holds(a.Within, c.Elements), "%d elements: every setting within it, and no other", c.Elements)
			if a.Plateau.Lo <= c.Elements && c.Elements <= a.Plateau.Hi {
				require.LessOrEqual(t, c.Score, least.Score+PlateauWidth+1e-12)
			}
			require.GreaterOrEqual(t, c.Score, -1e-12)
			require.GreaterOrEqual(t, c.Worst, c.Score-1e-12)
		}
		require.GreaterOrEqual(t, a.Current.Score, -0.01)
		require.Equal(t, q.Current, a.Current.Elements)
		text(t, a) // no infinity, no NaN
	}
}
