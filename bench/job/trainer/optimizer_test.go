package trainer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/job/trainer"
)

const overlapped = "--bf16 --overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer --ddp-bucket-size 40000000 "

// What Megatron's arguments and Primus' YAML say of the optimizer decides the
// buffers.
func TestOptimizersOfConfigs(t *testing.T) {
	primus := func(extra string) string {
		return "modules:\n  pre_trainer:\n    config: pre_trainer.yaml\n    overrides:\n      overlap_grad_reduce: true\n" + extra
	}
	for name, x := range map[string]struct {
		text              string
		zero              int
		layerWise, legacy bool
		note              string
	}{
		"adam":               {overlapped + "--optimizer adam", 1, false, false, ""},
		"muon":               {overlapped + "--optimizer muon", 1, true, false, ""},
		"equals":             {overlapped + "--optimizer=Muon", 1, true, false, ""},
		"lion":               {overlapped + "--optimizer lion", 1, true, false, ""},
		"legacy":             {overlapped + "--optimizer muon --no-use-layer-wise-param-layout", 1, true, true, ""},
		"deprecated":         {"--overlap-grad-reduce --optimizer dist_muon --ddp-bucket-size 5", 1, true, false, ""},
		"every rank":         {"--overlap-grad-reduce --optimizer muon --ddp-bucket-size 5", 0, false, false, "every rank steps every matrix"},
		"variable":           {"OPT=muon\n" + overlapped + "--optimizer $OPT", 1, true, false, ""},
		"unset variable":     {overlapped + "--optimizer ${OPT}", 1, false, false, "optimizer is $OPT"},
		"not Megatron's":     {overlapped + "--optimizer adafactor", 1, false, false, ""},
		"primus":             {primus("      optimizer: muon\n"), 1, true, false, "pins (d3528a21) refuses"},
		"primus all reduce":  {primus("      optimizer: muon\n      use_distributed_optimizer: false\n"), 0, false, false, "every rank"},
		"primus dist":        {primus("      optimizer: dist_muon\n      use_distributed_optimizer: false\n"), 1, true, true, "as in the Megatron-LM that Primus pins"},
		"primus layout off":  {primus("      optimizer: muon\n      use_layer_wise_param_layout: false\n"), 1, true, true, "pins"},
		"primus adam":        {primus("      optimizer: adam\n"), 1, false, false, ""},
		"bridge":             {"ddp.use_distributed_optimizer=true ddp.bucket_size=5 optimizer.optimizer=muon", 1, true, false, "if the recipe has comm_overlap"},
		"interleaved stages": {overlapped + "--num-layers-per-virtual-pipeline-stage 2", 1, false, false, "first chunk of the first stage"},
	} {
		run, c := configured(t, x.text)
		require.Equal(t, x.zero, run.Zero, name)
		require.Equal(t, x.layerWise, run.LayerWise, name)
		require.Equal(t, x.legacy, run.LegacyLayout, name)
		if x.note == "" {
			require.Empty(t, c.Notes, name)
		} else {
			require.Contains(t, c.Notes[0], x.note, name)
		}
	}
	// Another tool's optimizer does not make a file Megatron's.
	c, err := trainer.ReadConfig("optimizer=muon\nDDP(model, bucket_cap_mb=25)", "")
	require.NoError(t, err)
	require.Equal(t, "ddp", c.Trainer)
	require.False(t, c.LayerWise)
}

// With the gather in the optimizer's step Megatron cuts no buckets at all.
func TestGatherInTheOptimizerStepIsRefused(t *testing.T) {
	for _, text := range []string{
		overlapped + "--overlap-param-gather-with-optimizer-step",
		"ddp_bucket_size: 5\noverlap_param_gather_with_optimizer_step: true\n",
		"ddp.bucket_size=5 optimizer.overlap_param_gather_with_optimizer_step=true",
	} {
		_, err := trainer.ReadConfig(text, "")
		require.ErrorIs(t, err, trainer.ErrConfig, text)
		require.ErrorContains(t, err, "overlap_param_gather_with_optimizer_step: it turns bucketing off, so that no bucket size has an effect", text)
	}
	_, err := trainer.ReadConfig("ddp_bucket_size: 5\noverlap_param_gather_with_optimizer_step: false\n", "")
	require.NoError(t, err, "as in Primus' base configuration")
}

// The lines that are printed for a layer-wise run mean one.
func TestLayerWiseSnippetsAreWhatWasSimulated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, err := trainer.ByName("megatron")
		require.NoError(t, err)
		run := trainer.Run{
			DP: rapid.IntRange(2, 64).Draw(t, "dp"), Zero: rapid.IntRange(0, 1).Draw(t, "zero"), GradDtype: "float", ParamDtype: "bfloat16",
			LayerWise: true, LegacyLayout: rapid.Bool().Draw(t, "legacy"),
		}
		params := namedBlocks(rapid.IntRange(1, 20).Draw(t, "blocks"), true, true)
		setting := rapid.Int64Range(1, 1<<27).Draw(t, "setting")
		for _, s := range tr.Snippets(trainer.Spelling{Setting: setting, Params: params, Run: run}) {
			if run.LegacyLayout && run.Zero == 1 && s.Title != "Megatron-LM arguments" {
				require.Contains(t, s.Text, "argument of Megatron-LM's own")
				continue
			}
			c, err := trainer.ReadConfig(s.Text, "")
			require.NoError(t, err, s.Text)
			back := trainer.Run{DP: run.DP, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"}
			c.Apply(&back)
			got, _ := c.Setting(params, back)
			require.Equal(t, tr.Plan(params, setting, run), tr.Plan(params, got, back), s.Text)
		}
	})
}

// ZAYA1's experts have a largest matrix of 8.39 M elements: at 1,024 ranks a bucket
// closes at 7.73 G, and from 853 ranks on there is one.
func TestLayerWiseFloor(t *testing.T) {
	var params []trainer.Param
	for b := range 40 {
		for range 16 {
			params = append(params, trainer.Param{Name: "experts.linear_fc1", Elements: 4096 * 2048, Shape: []int64{4096, 2048}, Block: b + 1},
				trainer.Param{Name: "experts.linear_fc2", Elements: 2048 * 2048, Shape: []int64{2048, 2048}, Block: b + 1})
		}
	}
	tr, err := trainer.ByName("megatron")
	require.NoError(t, err)
	run := trainer.Run{DP: 1024, Zero: 1, LayerWise: true, GradDtype: "float", ParamDtype: "bfloat16"}
	f, is := tr.Planner(params).LayerWise(run)
	require.True(t, is)
	require.Equal(t, int64(8388608), f.Largest)
	require.Equal(t, int64(7730941132), f.Least)
	require.False(t, f.Guessed)
	one := func(dp int) bool {
		run.DP = dp
		return len(tr.Plan(params, 1, run).Buckets) == 1
	}
	require.Equal(t, 853, f.OneFrom)
	require.True(t, one(f.OneFrom))
	require.False(t, one(f.OneFrom-1))
	require.Less(t, float64(f.OneFrom), float64(640*(8388608+4194304))/(0.9*8388608), "what is left fits into the padding before the floor holds all")
	_, is = tr.Planner(params).LayerWise(trainer.Run{DP: 1024, Zero: 1})
	require.False(t, is)
}

// The printed lines keep the user's optimizer.
func TestSnippetsKeepTheOptimizer(t *testing.T) {
	tr, err := trainer.ByName("megatron")
	require.NoError(t, err)
	for _, name := range []string{"muon", "lion", "dist_muon"} {
		run, c := configured(t, overlapped+"--optimizer "+name)
		run.DP = 8
		for _, s := range tr.Snippets(trainer.Spelling{Setting: 5e7, Run: run, Config: c, File: "train.sh"}) {
			require.Regexp(t, `optimizer(:|=| )\s*`+name+`\n`, s.Text)
			require.NotRegexp(t, `(?m)^# new.*\boptimizer\.?(,|$)`, s.Text, "it is set already")
			back, err := trainer.ReadConfig(s.Text, "")
			require.NoError(t, err)
			require.True(t, back.LayerWise, s.Text)
		}
	}
}
