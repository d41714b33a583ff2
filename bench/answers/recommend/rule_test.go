package recommend

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
	"zbench/test/longtest"
)

// ruled are questions that have no time of backward, on published and made-up curves.
func ruled(t *testing.T) map[string]Question {
	t.Helper()
	sharded := func(name string, alpha float64) Question {
		time := func(s float64) float64 { return alpha + s/330e9 }
		return Question{
			Curves:  []Curve{curve(t, "reduce_scatter", 64, wide(), time), curve(t, "all_gather", 64, wide(), time), curve(t, "all_reduce", 64, wide(), func(s float64) float64 { return 2 * time(s) })},
			Trainer: name, Params: llama(), Run: trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "bfloat16", Zero: 1},
		}
	}
	fsdp := sharded("fsdp2", 2e-4)
	fsdp.Run.GradDtype, fsdp.Run.Zero = "bfloat16", 3
	accumulated := ddp(published(t, roce, 16))
	accumulated.Run.Accum = 4
	yours := ddp(published(t, roce, 16))
	yours.Current = 800 << 19
	all := map[string]Question{
		"ddp": ddp(published(t, roce, 16)), "ddp, 4 microbatches": accumulated, "ddp, yours": yours, "megatron": sharded("megatron", 2e-4), "megatron, late": sharded("megatron", 3e-3), "fsdp2": fsdp,
	}
	for name, q := range all {
		q.Backward, q.Forward, q.Rule = 0, 0, &Pace{Backward: 4 * 7.5e9 / 293e12, Forward: 2 * 7.5e9 / 293e12}
		all[name] = q
	}
	return all
}

// says is which side of the rule an amount is on.
func (r *Rule) says(amount float64) (set bool) {
	return r.Elements > 0 && (r.From == 0 || amount > float64(r.From)) && (r.To == 0 || amount < float64(r.To))
}

// On a grid ten times as fine, answered one amount at a time, the rule sets where a change gains 1 % and keeps where none
// does, in 95 % of the amounts at least; and what it says that either costs holds.
func TestLongRuleOnAFinerGrid(t *testing.T) {
	longtest.OnlyOrDetected(t)
	for name, q := range ruled(t) {
		if name != "ddp" && name != "fsdp2" && !longtest.Enabled() {
			continue // seconds each
		}
		t.Run(name, func(t *testing.T) {
			a, err := Ask(q)
			require.NoError(t, err)
			require.Equal(t, Ruled, a.Verdict)
			require.Zero(t, a.Elements, "an amount is not known")
			require.Empty(t, a.Table)
			r, p := a.Rule, q.Rule
			q.Rule, q.Plans, q.ComputeGuessed = nil, &Plans{}, true
			right, all := 0, 0
			for x := float64(fewestTokens); x <= mostTokens; x *= math.Pow(gridStep, 0.1) {
				q.Backward, q.Forward = x*p.Backward, x*p.Forward
				at := ask(t, q)
				all++
				if at.Keep != r.says(x) {
					right++
				}
				if near := math.Abs(math.Log(x/float64(max(1, r.To)))) < 0.05 || math.Abs(math.Log(x/float64(max(1, r.From)))) < 0.05; at.Keep && !r.says(x) && !near {
					require.LessOrEqual(t, at.Gain, r.KeptCosts+1e-9, "%s, %g tokens", name, x)
				}
			}
			t.Logf("%d of %d amounts; from %d to %d set %d", right, all, r.From, r.To, r.Elements)
			require.GreaterOrEqual(t, float64(right), 0.95*float64(all), "%+v", r)
		})
	}
}

// A rule beside the answer of a known time is the one that stands alone without it.
func TestRuleBesideAnAnswer(t *testing.T) {
	q := ruled(t)["ddp"]
	alone, err := Ask(q)
	require.NoError(t, err)
	q.Backward, q.Forward, q.ComputeGuessed = 1.68, 0.84, true
	beside := ask(t, q)
	require.Equal(t, alone.Rule.Points, beside.Rule.Points)
	require.True(t, beside.Keep)
	q.Rule = &Pace{}
	q.Backward, q.Forward = 0, 0
	timed, err := Ask(q)
	require.NoError(t, err)
	require.Equal(t, Microseconds, timed.Rule.Counts)
	require.InEpsilon(t, float64(alone.Rule.To)*4*7.5e9/293e12, float64(timed.Rule.To)*1e-6, 0.03, "the same backward")
}

// The stretch is the one that is right for most points.
func TestSplit(t *testing.T) {
	for text, want := range map[string][2]int{
		"kkkk": {0, 0}, "ssss": {0, 4}, "sskk": {0, 2}, "ksskk": {1, 3}, "kkss": {2, 4}, "sksskk": {0, 4}, "skkss": {3, 5},
	} {
		var points []RulePoint
		for _, c := range text {
			points = append(points, RulePoint{Keep: c == 'k'})
		}
		first, last := split(points)
		require.Equal(t, want, [2]int{first, last}, text)
	}
}

// Where small messages would take a larger share of a step than any recorded step has, and might be better than the model
// says, the answer says that it is unproved, be it a setting or a rule. It is proved by the job's own steps.
func TestUnproved(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.Backward, q.Forward = 0.6, 0.3
	require.Zero(t, ask(t, q).Latency)
	late := func(alpha float64) Curve {
		return curve(t, "all_reduce", 16, wide(), func(s float64) float64 { return alpha + s/180e9 })
	}
	q.Curves = []Curve{late(20e-3)}
	a := ask(t, q)
	require.Greater(t, a.Latency, provenLatency)
	require.Equal(t, "unproved", a.Confidence.Why().Code)
	require.Equal(t, Low, a.Confidence.Level)
	q.Observed = []Observation{{0, []float64{a.Default.Step, a.Default.Step}}, {a.Elements, []float64{a.Best.Step, a.Best.Step}}}
	seen, err := Ask(q)
	require.NoError(t, err)
	require.NotContains(t, reasons(seen), "unproved")
	q = ruled(t)["ddp"]
	q.Curves = []Curve{late(20e-3)}
	a, err = Ask(q)
	require.NoError(t, err)
	require.Equal(t, "unproved", a.Confidence.Why().Code)
}
