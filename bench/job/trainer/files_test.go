package trainer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/shell"
	"zbench/bench/job/trainer"
)

// found is the settings of a text by key, the last of each.
func found(t *testing.T, text string, given shell.Given) (map[string]string, trainer.Found) {
	t.Helper()
	f, err := trainer.Find(text, given)
	require.NoError(t, err)
	all := map[string]string{}
	for _, s := range f.Settings {
		all[s.Key] = s.Value
	}
	return all, f
}

// The cases of files that were read wrongly: whose they are, and what is read of them.
func TestWhoseFileItIs(t *testing.T) {
	for name, x := range map[string]struct{ text, framework, want string }{
		"Accelerate FSDP2":       {"distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\nmixed_precision: bf16\n", "", "fsdp2"},
		"Accelerate DDP":         {"distributed_type: MULTI_GPU\nmixed_precision: bf16\ngradient_accumulation_steps: 4\n", "accelerate", "ddp"},
		"as it is said":          {"bucket_cap_mb=25\ngradient_accumulation_steps=2\nreduce_bucket_size=5\n", "deepspeed", "deepspeed"},
		"Bridge beside others":   {"ddp.bucket_size=5 mixed_precision=bf16_mixed ddp.overlap_grad_reduce=true\n", "", "megatron"},
		"LLaMA-Factory's stage":  {"stage: sft\nddp_bucket_cap_mb: 25\n", "", "ddp"},
		"what many have, asked":  {"bf16: true\nseq_length: 4096\noverlap_grad_reduce: true\n", "", "megatron"},
		"DeepSpeed's batch size": {`{"train_batch_size": 8, "zero_optimization": {"stage": 1}}`, "", "deepspeed"},
	} {
		c, err := trainer.ReadConfig(x.text, x.framework)
		require.NoError(t, err, name)
		require.Equal(t, x.want, c.Trainer, name)
	}
	for text, why := range map[string]string{
		"mixed_precision: bf16\n": "--framework",
		"bf16: true\n":            "--framework",
		"distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 1\n":                                        "FSDP1",
		"python3 -m MaxText.train c.yml ici_fsdp_parallelism=8\n":                                          "scans",
		"export XLA_FLAGS=--xla_gpu_all_reduce_combine_threshold_bytes=1\npython MaxText/train.py x.yml\n": "scans",
		`{"zero_optimization": {"stage": 3, "zero_quantized_gradients": true}}`:                            "ZeRO++",
		`{"zero_optimization": {"stage": 2}, "tensor_parallel": {"autotp_size": 8}}`:                       "tensor parallel",
		`{"zero_optimization": {"stage": 2}, "optimizer": {"type": "OneBitAdam"}}`:                         "OneBitAdam",
	} {
		_, err := trainer.ReadConfig(text, "")
		require.ErrorContains(t, err, why, text)
	}
	_, err := trainer.ReadConfig("distributed_type: FSDP\nfsdp_version: 2\n", "ddp")
	require.ErrorContains(t, err, "is not DDP")
}

// Megatron derives the microbatches of a step from its sequences, DeepSpeed does the same.
func TestMicrobatchesAreDerived(t *testing.T) {
	for text, want := range map[string]int{
		"--use-distributed-optimizer --micro-batch-size 1 --global-batch-size 2048":                                     32,
		"--use-distributed-optimizer --micro-batch-size 1 --global-batch-size 2048 --context-parallel-size 4":           128,
		"--use-distributed-optimizer --micro-batch-size 3 --global-batch-size 2048":                                     0,
		"--use-distributed-optimizer --micro-batch-size 1":                                                              0,
		`{"train_batch_size": 2048, "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}`:            32,
		`{"train_batch_size": 2048, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 1}}`:               4,
		`{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}`:     0,
		"args = TrainingArguments(output_dir=\"out\", bf16=True, gradient_accumulation_steps=8, ddp_bucket_cap_mb=100)": 8,
		"Trainer(strategy=DDPStrategy(bucket_cap_mb=25), accumulate_grad_batches=2, precision=\"bf16-mixed\")":          2,
	} {
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err, text)
		n, note := c.Microbatches(64)
		require.Equal(t, want, n, text)
		require.Equal(t, want == 0, note != "", text)
	}
}

// A script is read as bash runs it; what has no value is not given, and named.
func TestScriptsAreRun(t *testing.T) {
	quoted := `OPTS=" --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 4000000 --bf16"
torchrun pretrain_gpt.py $OPTS --seq-length 4096`
	run, c := configured(t, quoted)
	require.Equal(t, 1, run.Zero)
	require.False(t, run.NoOverlap || run.NoGatherOverlap)
	require.Equal(t, int64(4_000_000), *c.Elements)
	require.Equal(t, "bfloat16", run.ParamDtype)

	positional := "TP=${1:-2}\nMICRO=$2\ntorchrun t.py --tensor-model-parallel-size $TP --micro-batch-size $MICRO --use-distributed-optimizer $MORE --bf16\n"
	run, c = configured(t, positional)
	require.Equal(t, 2, run.TP)
	require.Equal(t, 1, run.Zero)
	require.Len(t, c.Notes, 1)
	require.Contains(t, c.Notes[0], "micro_batch_size is $MICRO ($2)")
	all, f := found(t, positional, shell.Given{Args: []string{"4", "8"}, Set: map[string]string{"MORE": "--fp16"}})
	require.Equal(t, "4", all["tensor_model_parallel_size"])
	require.Equal(t, "8", all["micro_batch_size"])
	require.Contains(t, all, "fp16")
	require.Contains(t, f.Form, "torchrun")

	_, f = found(t, "source common.sh\nif [ $KIND = big ]; then O=--bf16; fi\ntorchrun t.py --use-distributed-optimizer $O --my-zero_shard 3\npython t.py --overlap-grad-reduce\n", shell.Given{})
	require.Contains(t, strings.Join(f.Notes, "\n"), "$KIND")
	require.Contains(t, strings.Join(f.Notes, "\n"), "common.sh")
	require.Contains(t, strings.Join(f.Notes, "\n"), "2 commands")
	require.Equal(t, []string{"my_zero_shard"}, f.Unread)

	for text, why := range map[string]string{
		"#!/bin/bash\n[ -z $WORKSPACE ] && exit 1\ntorchrun t.py --use-distributed-optimizer": "$WORKSPACE",
		"#!/bin/bash\necho 'unclosed":             "shell script",
		"while true; do x=1; done\ntorchrun t.py": "steps",
	} {
		_, err := trainer.Find(text, shell.Given{})
		require.ErrorContains(t, err, why, text)
	}
}

// What the job printed settles everything, whatever else its log has.
func TestPrintedArguments(t *testing.T) {
	megatron := "[0]: using world size: 64, data-parallel size: 32\n------------------------ arguments ------------------------\n" +
		"0:   bf16 ............................................ True\n  ddp_bucket_size ................................. 4000000\n  global_batch_size ............................... 2048\n" +
		"  micro_batch_size ................................ 1\n  moe_layer_freq .................................. 1\n  overlap_grad_reduce ............................. True\n" +
		"  overlap_param_gather ............................ False\n  tensor_model_parallel_size ...................... 2\n  use_distributed_optimizer ....................... True\n" +
		"  virtual_pipeline_model_parallel_size ............ None\n  world_size ...................................... 64\n-------------------- end of arguments ---------------------\n" +
		" iteration 1 ..... lm loss: 1 --ddp-bucket-size 7\n"
	run, c := configured(t, megatron)
	require.Equal(t, []any{1, 2, false, true}, []any{run.Zero, run.TP, run.NoOverlap, run.NoGatherOverlap})
	require.Equal(t, []any{int64(4_000_000), 64, 0}, []any{*c.Elements, c.World, len(c.Notes)})
	n, _ := c.Microbatches(32)
	require.Equal(t, 64, n)
	_, f := found(t, megatron, shell.Given{})
	require.Contains(t, f.Form, "printed")

	// Primus prints the type behind each value, and other tables below the last line.
	run, c = configured(t, "[r][INFO ] : Final backend args (after patches): (3 parameters)\n[r] :   context_parallel_size     : 2 (int)\n[r] :   ddp_bucket_size           : None (NoneType)\n"+
		"[r] :   use_distributed_optimizer : True (bool)\n[r] : "+strings.Repeat("-", 80)+"\n[r] :   use_distributed_optimizer : False (bool)\n[r] :   ddp_bucket_size : 7 (int)\n"+strings.Repeat("[r] iteration | micro_batch_size : 3\n", 200_000))
	require.Equal(t, []any{1, 2}, []any{run.Zero, *c.CP})
	require.Nil(t, c.Elements)

	run, c = configured(t, "[rank-0/8][INFO ] [x.py:1] : Final backend args (after patches): (3 parameters)\n[rank-0/8][INFO ] : \n[rank-0/8][INFO ] :   overlap_grad_reduce       : True\n[rank-0/8][INFO ] :   use_distributed_optimizer : True\n")
	require.Equal(t, 1, run.Zero)
	require.True(t, *c.Overlap)

	run, c = configured(t, "[2026-01-01][INFO] [config.py:1007:print]   zero_enabled ................. True\n[INFO] [config.py:print_user_config]   json = {\n    \"zero_optimization\": {\n        \"stage\": 2, \n        \"reduce_bucket_size\": 5e6\n    }, \n    \"train_batch_size\": 64\n}\nloss=1\n")
	require.Equal(t, 2, run.Zero)
	require.Equal(t, int64(5_000_000), *c.Elements)

	_, c = configured(t, "12/01 - INFO - Training/evaluation parameters TrainingArguments(\n_n_gpu=1,\nbf16=True,\nddp_bucket_cap_mb=50,\ngradient_accumulation_steps=4,\n)\nstage=7\n")
	require.Equal(t, []any{"ddp", int64(50 << 20), 4}, []any{c.Trainer, *c.Bytes, *c.Accum})
	require.Contains(t, strings.Join(c.Notes, "\n"), "autocast")
}
