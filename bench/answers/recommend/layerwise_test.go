package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

// withMuon is ZAYA1-base under Megatron's layer-wise optimizer.
func withMuon(t *testing.T, ranks int, collectives ...string) Question {
	t.Helper()
	m, err := trainer.Preset("zaya1-base")
	require.NoError(t, err)
	var curves []Curve
	for _, c := range collectives {
		curves = append(curves, curve(t, c, ranks, doubling(64*unit.KiB, 64*unit.GiB), func(s float64) float64 { return 1e-6*float64(ranks) + s/300e9 }))
	}
	return Question{
		Curves: curves, Trainer: "megatron", Params: m.Params, Backward: 0.34, Forward: 0.17, Current: 40e6,
		Run: trainer.Run{DP: ranks, Zero: 1, LayerWise: true, GradDtype: "float", ParamDtype: "bfloat16"},
	}
}

func warning(a Answer, code string) string {
	for _, w := range a.Warnings {
		if w.Code == code {
			return w.Message + " | " + w.Hint
		}
	}
	return ""
}

// At 1,024 ranks no setting from 40 M to 2 G changes the step: the answer keeps what
// is set, says why, from how many ranks on, and what helps.
func TestMuonAtScale(t *testing.T) {
	a := ask(t, withMuon(t, 1024, "reduce_scatter", "all_gather", "all_reduce"))
	require.Equal(t, int64(40e6), a.Elements)
	for _, c := range a.Table {
		if c.Elements >= 40e6 && c.Elements <= 2e9 {
			require.InDelta(t, a.Best.Step, c.Step, 1e-3*a.Best.Step, "%d", c.Elements)
		}
	}
	said := warning(a, "layer_wise")
	require.Contains(t, said, "max(ddp_bucket_size, 0.9 × 1024 ranks × 8.39 M elements of the largest matrix): a setting below 7.73 G changes nothing for them")
	require.Regexp(t, `from \d+ ranks on all 8\.2\d G elements of them are one bucket`, said)
	require.Contains(t, said, "the bucket size does not help here")
	helps := func(code string) Help {
		i := slices.IndexFunc(a.WouldHelp, func(h Help) bool { return h.Code == code })
		require.GreaterOrEqual(t, i, 0, code)
		return a.WouldHelp[i]
	}
	legacy := helps("legacy_layout")
	require.NotNil(t, legacy.Gain, "all_reduce was swept")
	require.Positive(t, *legacy.Gain)
	helps("expert_parallel")
	helps("fewer_ranks")
	require.False(t, slices.ContainsFunc(a.WouldHelp, func(h Help) bool { return h.Code == "instances" }), "Megatron refuses them")
	require.Empty(t, warning(a, "shapes_guessed"))

	q := withMuon(t, 1024, "reduce_scatter", "all_gather")
	for i := range q.Params {
		q.Params[i].Shape = nil
	}
	a = ask(t, q)
	require.Contains(t, helps("legacy_layout").Message, "sweep all_reduce of 1024 ranks")
	require.Nil(t, helps("legacy_layout").Gain)
	require.Contains(t, warning(a, "shapes_guessed"), "write shapes into --params")
}

// The same model with Adam, and Muon on 16 ranks: there the setting counts.
func TestMuonWhereTheSettingCounts(t *testing.T) {
	q := withMuon(t, 1024, "reduce_scatter", "all_gather")
	q.Run.LayerWise = false
	a := ask(t, q)
	require.Greater(t, a.Current.Score, 0.05, "40 M at 1,024 ranks pays latency")
	require.Empty(t, warning(a, "layer_wise"))
	q = withMuon(t, 16, "reduce_scatter", "all_gather")
	a = ask(t, q)
	said := warning(a, "layer_wise")
	require.Contains(t, said, "0.9 × 16 ranks")
	require.Contains(t, said, "settings above 121 M change their buckets")
	require.NotContains(t, said, "does not help")
	require.Greater(t, a.Single.Step, 1.02*a.Best.Step)
}
