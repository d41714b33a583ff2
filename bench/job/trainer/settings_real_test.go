package trainer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

func configured(t *testing.T, text string) (trainer.Run, *trainer.Config) {
	t.Helper()
	c, err := trainer.ReadConfig(text, "")
	require.NoError(t, err)
	run := trainer.Run{GradDtype: "float", ParamDtype: "bfloat16"}
	c.Apply(&run)
	return run, c
}

// The form of AMD-AGI/Primus examples/megatron/configs/MI300X/*.yaml (read
// 2026-11-21): variables with defaults behind one colon, and what its base
// configuration turns on is not said again.
func TestReadsPrimusAsItIs(t *testing.T) {
	const text = `work_group: ${PRIMUS_TEAM:amd}
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    overrides:
      micro_batch_size: 4
      seq_length: ${PRIMUS_SEQ_LENGTH:4096}
      pipeline_model_parallel_size: ${PRIMUS_PP:1}
      expert_model_parallel_size: ${PRIMUS_EP:8}
      overlap_grad_reduce: true
`
	run, c := configured(t, text)
	require.Equal(t, trainer.Run{Zero: 1, EP: 8, NoGatherOverlap: true, GradDtype: "float", ParamDtype: "bfloat16"}, run)
	require.Equal(t, int64(4*4096), *c.TokensPerMicrobatch)
	require.Empty(t, c.Notes)

	run, _ = configured(t, text+"      use_distributed_optimizer: false\n      fp16: true\n      bf16: false\n")
	require.Equal(t, 0, run.Zero, "what the file says wins")
	require.Equal(t, "half", run.GradDtype)
}

// Megatron asserts that --overlap-param-gather comes with the distributed
// optimizer, and reduces gradients in the parameters' type but for bf16 (both in
// megatron/training/arguments.py).
func TestMegatronArgumentsImplyOthers(t *testing.T) {
	run, _ := configured(t, "overlap_grad_reduce: true\noverlap_param_gather: true\n")
	require.Equal(t, 1, run.Zero)
	run, _ = configured(t, "--fp16 --overlap-grad-reduce")
	require.Equal(t, [2]string{"half", "half"}, [2]string{run.GradDtype, run.ParamDtype})
	run, _ = configured(t, "--fp16 --overlap-grad-reduce --accumulate-allreduce-grads-in-fp32")
	require.Equal(t, [2]string{"float", "half"}, [2]string{run.GradDtype, run.ParamDtype})
}

func TestNotesOfConfigs(t *testing.T) {
	for text, want := range map[string]string{
		"--overlap-grad-reduce --ddp-bucket-size $FROM_ENV": "ddp_bucket_size is $FROM_ENV there",
		"seq_length: ${LENGTH}\nddp_bucket_size: 5\n":       "seq_length is ${LENGTH} there",
	} {
		_, c := configured(t, text)
		require.Len(t, c.Notes, 1, text)
		require.Contains(t, c.Notes[0], want, text)
	}
	for _, key := range []string{"use_megatron_fsdp", "use_custom_fsdp", "use_torch_fsdp2"} {
		_, err := trainer.ReadConfig("ddp_bucket_size: 5\n"+key+": true\n", "")
		require.ErrorContains(t, err, "does not cut")
	}
	_, c := configured(t, "--ddp-bucket-size 5 --tensor-model-parallel-size 1 --seq-length 4096 --micro-batch-size 1")
	require.Empty(t, c.Notes)
	_, c = configured(t, "use_megatron_fsdp: false\nddp_bucket_size: 5\n")
	require.Empty(t, c.Notes)
}

func TestShellArithmetic(t *testing.T) {
	for _, text := range []string{
		"N=$((40*1000 * 1000))\nx.py --ddp-bucket-size $N",
		"x.py --ddp-bucket-size $((40*1000*1000))",
		"x.py --ddp-bucket-size ${N:-$((40*1000*1000))}",
	} {
		_, c := configured(t, text)
		require.Equal(t, int64(40_000_000), *c.Elements, text)
	}
}

func TestBrokenJSONSaysSo(t *testing.T) {
	_, err := trainer.ReadConfig(`{"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8,`, "")
	require.ErrorIs(t, err, trainer.ErrConfig)
	require.ErrorContains(t, err, "invalid JSON")
}
