package recommend

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

func affine(s float64) float64 { return 2e-4 + s/150e9 }

func allReduce(t testing.TB, ranks int, sizes []int64) Curve {
	return spread1(curve(t, "all_reduce", ranks, sizes, affine))
}

// spread1 gives the points of a curve an interval of 1 % either way.
func spread1(c Curve) Curve {
	for i := range c.Points {
		p := &c.Points[i]
		lo, hi, cv := p.Seconds*0.99, p.Seconds*1.01, 0.02
		p.Lo, p.Hi, p.CV = &lo, &hi, &cv
	}
	return c
}

func TestRefusals(t *testing.T) {
	for code, change := range map[string]func(q *Question){
		"no_model":      func(q *Question) { q.Params = nil },
		"bad_model":     func(q *Question) { q.Params[3].Elements = -1 },
		"bad_times":     func(q *Question) { q.Backward = math.NaN() },
		"no_curve":      func(q *Question) { q.Curves = nil },
		"missing_curve": func(q *Question) { q.Trainer, q.Run.Zero = "megatron", 1 },
		"wrong_ranks":   func(q *Question) { q.Run.DP = 32 },
		"few_sizes":     func(q *Question) { q.Curves[0].Points = q.Curves[0].Points[:4] },
		"no_blocks": func(q *Question) {
			q.Trainer, q.Run.Zero = "fsdp2", 3
			for i := range q.Params {
				q.Params[i].Block, q.Params[i].Name = 0, ""
			}
		},
		"memory": func(q *Question) { q.Trainer, q.Run.Zero, q.MemBudget = "deepspeed", 1, 1 },
	} {
		q := ddp(allReduce(t, 16, wide()))
		change(&q)
		a, err := Ask(q)
		require.NoError(t, err, code)
		require.Equal(t, Refused, a.Verdict, code)
		require.Equal(t, code, a.Refusal.Code)
		require.NotEmpty(t, a.Refusal.Message)
		require.NotEmpty(t, a.Refusal.Hint)
		require.Zero(t, a.Elements)
		require.Nil(t, a.Best)
		text(t, a)
	}
	for _, change := range []func(q *Question){
		func(q *Question) { q.Trainer = "caffe" },
		func(q *Question) { q.Run.GradDtype = "posit" },
		func(q *Question) { q.Run.Zero = 7 },
	} {
		q := ddp(allReduce(t, 16, wide()))
		change(&q)
		_, err := Ask(q)
		require.Error(t, err)
	}
}

// One decade of sizes is too little, however many they are.
func TestSizesMustSpanTwoDecades(t *testing.T) {
	q := ddp(allReduce(t, 16, doubling(unit.MiB, 64*unit.MiB)))
	a, err := Ask(q)
	require.NoError(t, err)
	require.Equal(t, "few_sizes", a.Refusal.Code)
}

func TestOneRankNeedsNoReduction(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.Run.DP, q.Curves = 1, nil
	a, err := Ask(q)
	require.NoError(t, err)
	require.Equal(t, NoCommunication, a.Verdict)
	require.Nil(t, a.Refusal)
	// Experts that no other rank holds.
	q.Run = trainer.Run{DP: 16, EP: 16, Zero: 1, GradDtype: "float", ParamDtype: "float"}
	q.Trainer, q.Params = "megatron", []trainer.Param{{Name: "e", Elements: 100, Expert: true}}
	a, err = Ask(q)
	require.NoError(t, err)
	require.Equal(t, NoCommunication, a.Verdict)
}

// A model smaller than what half the bandwidth takes is one bucket, and no
// setting matters much.
func TestTinyModel(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.Params = []trainer.Param{{Name: "a", Elements: 400_000}, {Name: "b", Elements: 400_000}, {Name: "c", Elements: 400_000}}
	q.Backward, q.Forward = 2e-4, 1e-4
	a := ask(t, q)
	require.Equal(t, 1, a.Best.Buckets)
	require.True(t, a.Plateau.OpenHi)
	q.Params = q.Params[:1]
	a = ask(t, q)
	require.Equal(t, 1, a.Best.Buckets)
	require.Len(t, a.Table, 1)
}

func TestTruncatedSweepIsSaid(t *testing.T) {
	full := ask(t, ddp(allReduce(t, 16, wide())))
	q := ddp(allReduce(t, 16, doubling(64*unit.KiB, 128*unit.MiB)))
	a := ask(t, q)
	require.Equal(t, Low, a.Confidence.Level)
	require.Equal(t, Low, reasons(a)["extrapolated"])
	require.Positive(t, a.Curves[0].WantMaxBytes)
	require.Contains(t, codes(a.Warnings), "sweep_too_short")
	// The tail of such a curve is affine, so the answer is as good.
	require.InDelta(t, full.Best.Step, a.Best.Step, 1e-3*full.Best.Step)
}

func codes(all []record.Warning) []string {
	var c []string
	for _, w := range all {
		c = append(c, w.Code)
	}
	return c
}

// Flat and falling curves: what is free in size is best in one message.
func TestFlatAndFallingCurves(t *testing.T) {
	for name, f := range map[string]func(s float64) float64{
		"flat":    func(float64) float64 { return 1e-2 },
		"falling": func(s float64) float64 { return 1e-2 * math.Pow(s/65536, -0.1) },
	} {
		q := ddp(curve(t, "all_reduce", 16, wide(), f))
		a := ask(t, q)
		require.LessOrEqual(t, a.Best.Buckets, 8, name)
		require.Greater(t, a.Default.Score, a.Best.Score, name)
		text(t, a)
	}
}

// Curves of other ranks only on demand, and never with confidence.
func TestRescaling(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.Run.DP = 64
	a, err := Ask(q)
	require.NoError(t, err)
	require.Contains(t, a.Refusal.Hint, "rescale")
	q.Rescale = true
	a = ask(t, q)
	require.Equal(t, Low, reasons(a)["rescaled"])
	require.Equal(t, 16, a.Curves[0].RescaledFrom)
	require.Equal(t, 64, a.Curves[0].Ranks)
}

// A memory budget bounds the answer and is named where it hurts.
func TestMemoryBudget(t *testing.T) {
	q := ddp(curve(t, "all_reduce", 16, wide(), func(s float64) float64 { return 3e-3 + s/150e9 }))
	q.Trainer, q.Run.Zero = "deepspeed", 1
	free := ask(t, q)
	q.MemBudget = free.Best.Memory / 4
	a := ask(t, q)
	require.LessOrEqual(t, a.Best.Memory, q.MemBudget)
	require.Less(t, a.Elements, free.Elements)
	found := false
	for _, l := range a.Limits {
		found = found || l.Code == "memory"
	}
	require.True(t, found, "%+v", a.Limits)
	require.Contains(t, codes(a.Warnings), "left_out", "the gather at the end has no curve")
}

// FSDP2 is answered in blocks, in memory that grows with them.
func TestBlocks(t *testing.T) {
	q := Question{
		Trainer: "fsdp2", Params: llama(), Backward: 0.2, Forward: 0.1,
		Run:    trainer.Run{DP: 64, Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"},
		Curves: []Curve{curve(t, "reduce_scatter", 64, wide(), affine), curve(t, "all_gather", 64, wide(), affine)},
	}
	a := ask(t, q)
	require.Len(t, a.Table, 32)
	require.Zero(t, a.Elements%a.Table[0].Elements)
	require.Greater(t, a.Table[31].Memory, a.Table[0].Memory)
	require.Nil(t, a.Single)
	// Names such as model.layers.0 say where blocks begin.
	for i := range q.Params {
		q.Params[i].Block = 0
	}
	require.Equal(t, a, ask(t, q))
}

// Overlap that is off is what is judged, and what is advised first.
func TestOverlapThatIsOff(t *testing.T) {
	q := megatron(t, affine)
	q.Run.NoOverlap, q.Run.NoGatherOverlap, q.Current = true, true, 40_000_000
	a := ask(t, q)
	require.Len(t, a.Changes, 3)
	require.Equal(t, BucketChange, a.Changes[0].Name)
	require.Zero(t, a.Changes[0].Gain, "nothing is cut without overlap")
	require.Equal(t, "--overlap-grad-reduce", a.Changes[1].Name)
	require.Positive(t, a.Changes[1].Gain)
	require.Equal(t, "--overlap-param-gather", a.Changes[2].Name)
	require.Equal(t, a.Best.Step, a.Changes[2].Step)
	require.Equal(t, 1, a.Current.Buckets)
	require.Greater(t, a.Current.Step, a.Best.Step)
	require.Greater(t, a.Best.Buckets, 1)
}

// Of equally good settings the current one is kept.
func TestCurrentSettingIsKeptIfEqual(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.Backward, q.Forward = 6, 3
	a := ask(t, q)
	require.Equal(t, int64(25<<19), a.Elements, "the default")
	q.Current = 77 << 19
	require.Equal(t, q.Current, ask(t, q).Elements)
	q.Backward, q.Forward = 0.03, 0.015
	require.NotEqual(t, q.Current, ask(t, q).Elements)
}

// Accumulation spreads one reduction over more computation; stage 2 of DeepSpeed
// reduces each microbatch.
func TestAccumulation(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	one := ask(t, q)
	q.Run.Accum = 4
	four := ask(t, q)
	compute := q.Backward + q.Forward
	require.InDelta(t, one.Best.Step+3*compute, four.Best.Step, 0.05*compute)
	q.Trainer, q.Run.Zero = "deepspeed", 2
	require.Greater(t, ask(t, q).Best.ExposedBackward, 2*four.Best.ExposedBackward)
}

// The answer for made-up tensors is a round number, that for real ones ends where
// the buckets do.
func TestRounding(t *testing.T) {
	q := megatron(t, bent(1e-3, 150e9, 100e6))
	exact := ask(t, q)
	x, err := trainer.ByName("megatron")
	require.NoError(t, err)
	require.Len(t, x.Plan(q.Params, exact.Elements, q.Run).Buckets, exact.Best.Buckets)
	for i := range q.Params {
		q.Params[i].Elements += int64(i)
	}
	q.ParamsGuessed = true
	round := ask(t, q).Elements
	require.Zero(t, round%1_000_000, "%d", round)
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		7: "7", 999: "999", 1000: "1 k", 350_000_000: "350 M", 1_024_000_000: "1.02 G", 8_030_261_248: "8.03 G", 999_999_999: "1 G", 32_000_000_000_000: "32 T",
	} {
		require.Equal(t, want, Count(n))
	}
}
