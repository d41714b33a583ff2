package trainer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// Bridge's setup replaces what ddp has by what comm_overlap has (comm_overlap.py at
// 067f987d): the size, 134217728 where none is set, and both overlaps.
func TestBridgesCommOverlap(t *testing.T) {
	for text, want := range map[string]struct {
		size               int64
		noOverlap, gatherS bool
		notes              int
	}{
		"ddp.bucket_size=5000000 comm_overlap.tp_comm_overlap=true":                                                                      {134217728, false, false, 1},
		"comm_overlap.bucket_size=9000000 ddp.bucket_size=5000000 ddp.overlap_grad_reduce=false":                                         {9000000, false, false, 0},
		"ddp:\n  bucket_size: 5000000\ncomm_overlap:\n  tp_comm_overlap: false\n  bucket_size: 9000000\n  overlap_param_gather: false\n": {9000000, false, true, 0},
		"comm_overlap.bucket_size=9000000 comm_overlap.overlap_grad_reduce=false":                                                        {9000000, true, false, 0},
		"ddp.bucket_size=5000000": {5000000, true, true, 1},
		"ddp.bucket_size=5000000 ddp.use_distributed_optimizer=false comm_overlap.align=true": {5000000, true, true, 1},
	} {
		c, err := trainer.ReadConfig(text, "megatron")
		require.NoError(t, err, text)
		var run trainer.Run
		c.Apply(&run)
		size, set := c.Setting(nil, run)
		require.True(t, set, text)
		require.Equal(t, want.size, size, text)
		require.Equal(t, want.noOverlap, run.NoOverlap, text)
		require.Equal(t, want.gatherS, run.NoGatherOverlap, text)
		require.Len(t, c.Notes, want.notes, "%s: %v", text, c.Notes)
	}
}

// The printed overrides name the key that counts, and what is printed is read back.
func TestBridgesOverridesAreThoseThatCount(t *testing.T) {
	megatron, err := trainer.ByName("megatron")
	require.NoError(t, err)
	run := trainer.Run{DP: 8, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"}
	for _, s := range megatron.Snippets(trainer.Spelling{Setting: 7_000_000, Run: run, Curve: "0"}) {
		if s.Title != "Megatron-Bridge overrides" {
			continue
		}
		require.Contains(t, s.Text, "\ncomm_overlap.overlap_grad_reduce=true\n")
		require.Contains(t, s.Text, "\ncomm_overlap.bucket_size=7000000  # elements")
		require.Contains(t, s.Text, "takes ddp. in place of comm_overlap.;")
		require.NotContains(t, s.Text, "\nddp.bucket_size")
		c, err := trainer.ReadConfig(s.Text, "megatron")
		require.NoError(t, err)
		size, _ := c.Setting(nil, run)
		require.EqualValues(t, 7_000_000, size)
		return
	}
	t.Fatal("no form of Bridge")
}

// Megatron asserts that a size and a number are not both set
// (distributed_data_parallel_config.py at d98e8a64).
func TestANumberOfBucketsIsToBeRemoved(t *testing.T) {
	megatron, err := trainer.ByName("megatron")
	require.NoError(t, err)
	run := trainer.Run{DP: 8, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"}
	for text, want := range map[string][]string{
		"--ddp-num-buckets 8 --overlap-grad-reduce": {"# remove --ddp-num-buckets: ", "# remove ddp_num_buckets: ", "# remove ddp.num_buckets: "},
		"--ddp-bucket-size 8 --overlap-grad-reduce": {"", "", ""},
	} {
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		for i, s := range megatron.Snippets(trainer.Spelling{Setting: 7_000_000, Run: run, Config: c, File: "a.sh"}) {
			require.Contains(t, s.Text, want[i])
			if want[i] == "" {
				require.NotContains(t, s.Text, "# remove")
			}
		}
	}
}

// Accelerate turns "auto" into hidden² (accelerator.py at 16cb6eb8): 16.8 M for 4096.
func TestDeepSpeedsAutoIsHiddenSquared(t *testing.T) {
	c, err := trainer.ReadConfig(`{"zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}}`, "")
	require.NoError(t, err)
	for _, params := range [][]trainer.Param{
		{{Name: "model.embed_tokens.weight", Elements: 128256 * 4096, Shape: []int64{128256, 4096}}},
		{{Name: "model.layers.0.input_layernorm.weight", Elements: 4096, Block: 1}},
	} {
		size, set := c.Setting(params, trainer.Run{})
		require.True(t, set)
		require.EqualValues(t, 4096*4096, size)
	}
	_, set := c.Setting(nil, trainer.Run{})
	require.False(t, set)
	require.Contains(t, c.Notes[0], "the square of the model's hidden size")
}

// Where the size has no effect, or calls differ, a note says so (engine.py and
// stage_1_and_2.py at edaa7221).
func TestDeepSpeedsOtherPathsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"zero_optimization": {"stage": 2, "use_multi_rank_bucket_allreduce": false}}`: "no call is larger than a rank's part",
		`{"zero_optimization": {"stage": 2, "use_multi_rank_bucket_allreduce": true}}`:  "",
		`{"zero_optimization": {"stage": 3, "use_multi_rank_bucket_allreduce": false}}`: "",
		`{"zero_optimization": {"stage": 2, "reduce_scatter": false}}`:                  "reduce_scatter is off",
		`{"zero_optimization": {"stage": 1, "contiguous_gradients": false}}`:            "contiguous_gradients is off",
		`{"zero_optimization": {"stage": 3, "contiguous_gradients": false}}`:            "",
		`{"zero_optimization": {"stage": 2, "round_robin_gradients": true}}`:            "is cut elsewhere",
	} {
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err, text)
		if want == "" {
			require.Empty(t, c.Notes, text)
			continue
		}
		require.Len(t, c.Notes, 1, text)
		require.Contains(t, c.Notes[0], want)
	}
}
