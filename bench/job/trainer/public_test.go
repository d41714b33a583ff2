package trainer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/shell"
	"zbench/bench/job/trainer"
)

const titan = "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: pre_trainer.yaml\n    overrides:\n      training:\n        local_batch_size: 2\n        seq_len: 4096\n"

// The kinds of public files that were read wrongly without a word: whose they are, and what is read of them.
func TestKindsOfPublicFiles(t *testing.T) {
	for name, x := range map[string]struct {
		text, trainer, frontEnd string
		run                     trainer.Run
		note                    string
	}{
		"Primus' fine-tuning has the distributed optimizer": {
			"modules:\n  post_trainer:\n    framework: megatron\n    config: sft_trainer.yaml\n    overrides:\n      overlap_grad_reduce: true\n",
			"megatron", "primus",
			trainer.Run{Zero: 1, NoGatherOverlap: true, GradDtype: "float", ParamDtype: "bfloat16"},
			"",
		},
		"Primus' Bridge: the recipe decides": {
			"modules:\n  post_trainer:\n    framework: megatron_bridge\n    config: sft_trainer.yaml\n    overrides:\n      tensor_model_parallel_size: 2\n",
			"megatron", "bridge",
			trainer.Run{Zero: 1, TP: 2, GradDtype: "float", ParamDtype: "bfloat16"},
			"overlap_param_gather and use_distributed_optimizer, and it is not in the file",
		},
		"Bridge: the optimizer's place counts for both": {
			"optimizer:\n  use_distributed_optimizer: true\nddp:\n  overlap_grad_reduce: true\n  use_distributed_optimizer: false\n", "megatron", "", trainer.Run{Zero: 1, NoGatherOverlap: true}, "",
		},
		"Bridge: on in the optimizer's place": {
			"ddp.overlap_grad_reduce=true optimizer.use_distributed_optimizer=true optimizer.overlap_param_gather=true", "megatron", "", trainer.Run{Zero: 1}, "",
		},
		"torchtitan in Primus": {
			titan + "      parallelism:\n        data_parallel_replicate_degree: 2\n        tensor_parallel_degree: 4\n        fsdp_reshard_after_forward: never\n",
			"fsdp2", "torchtitan",
			trainer.Run{Zero: 3, Accum: 1, Instances: 2, TP: 4, KeepParams: true, GradDtype: "float", ParamDtype: "bfloat16"},
			"",
		},
		"torchtitan's own file": {
			"[training]\nlocal_batch_size = 2\nglobal_batch_size = 256\n[parallelism]\ndata_parallel_shard_degree = -1\nfsdp_reshard_after_forward = \"always\"\n",
			"fsdp2", "torchtitan",
			trainer.Run{Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"},
			"",
		},
		"Accelerate's hybrid sharding": {
			"distributed_type: FSDP\nmixed_precision: fp16\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nparallelism_config:\n  parallelism_config_dp_replicate_size: 2\n  parallelism_config_tp_size: 2\n",
			"fsdp2", "",
			trainer.Run{Zero: 3, Instances: 2, TP: 2, RootUnit: true, GradDtype: "half", ParamDtype: "half"},
			"",
		},
		"Accelerate's stage": {
			"distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 2\n  gradient_accumulation_steps: 4\n",
			"deepspeed", "",
			trainer.Run{Zero: 2, Accum: 4, NoOverlap: true, GradDtype: "bfloat16", ParamDtype: "bfloat16"},
			"",
		},
		"other GPUs of Accelerate": {"distributed_type: MULTI_XPU\nmixed_precision: bf16\n", "ddp", "", trainer.Run{GradDtype: "float", ParamDtype: "float"}, "loaded"},
		"Lightning's class": {
			"import lightning\ntrainer = Trainer(strategy=DeepSpeedStrategy(stage=3), precision=\"bf16-mixed\", accumulate_grad_batches=2)\n",
			"deepspeed", "",
			trainer.Run{Zero: 3, Accum: 2, GradDtype: "bfloat16", ParamDtype: "bfloat16"},
			"200000000",
		},
		"Lightning's name":          {"trainer:\n  strategy: deepspeed_stage_3\n  precision: 16-mixed\n", "deepspeed", "", trainer.Run{Zero: 3, GradDtype: "half", ParamDtype: "half"}, "200000000"},
		"Lightning's unused":        {"trainer:\n  strategy: ddp_find_unused_parameters_true\n  precision: 32\n  accumulate_grad_batches: 2\n", "ddp", "lightning", trainer.Run{FindUnused: true, Accum: 2, GradDtype: "float", ParamDtype: "float"}, ""},
		"a class path":              {"strategy:\n  _target_: lightning.pytorch.strategies.DDPStrategy\n  find_unused_parameters: true\ntrainer:\n  precision: bf16\n", "ddp", "lightning", trainer.Run{FindUnused: true}, "autocast"},
		"DeepSpeed without a type":  {`{"zero_optimization": {"stage": 2}}`, "deepspeed", "", trainer.Run{Zero: 2, NoOverlap: true, GradDtype: "float", ParamDtype: "float"}, ""},
		"DeepSpeed's type is auto":  {`{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}}`, "deepspeed", "", trainer.Run{Zero: 2, NoOverlap: true}, "auto"},
		"LLaMA-Factory on Megatron": {"per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nuse_distributed_optimizer: true\noverlap_grad_reduce: true\nbf16: true\n", "megatron", "", trainer.Run{Zero: 1, Accum: 8, NoGatherOverlap: true, GradDtype: "float", ParamDtype: "bfloat16"}, ""},
		"LoRA":                      {"finetuning_type: lora\nper_device_train_batch_size: 1\nddp_bucket_cap_mb: 25\n", "ddp", "", trainer.Run{}, "part of the model"},
		"NeMo's recipe":             {"import nemo_run as run\ns = run.Config(MegatronStrategy, tensor_model_parallel_size=tp, ddp=run.Config(C, overlap_grad_reduce=True))\nr = run.Partial(fn, optim=distributed_fused_adam_with_cosine_annealing(max_lr=3e-4))\n", "megatron", "", trainer.Run{Zero: 1, NoGatherOverlap: true}, "tensor_model_parallel_size is tp there"},
		"Axolotl's FSDP2":           {"fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: false\ntensor_parallel_size: 2\ndp_replicate_size: 2\ncontext_parallel_size: 1\nbf16: true\nadapter: qlora\n", "fsdp2", "", trainer.Run{Zero: 3, TP: 2, Instances: 2, KeepParams: true, RootUnit: true, GradDtype: "bfloat16", ParamDtype: "bfloat16"}, "qlora trains a part of the model"},
		"GPT-NeoX without pipeline": {`{"pipe_parallel_size": 0, "precision": "bfloat16", "zero_optimization": {"stage": 2}}`, "deepspeed", "", trainer.Run{Zero: 2, NoOverlap: true, GradDtype: "bfloat16", ParamDtype: "bfloat16"}, ""},
		"NeMo 2 with an adapter":    {"model:\n  peft:\n    _target_: nemo.collections.llm.peft.LoRA\nstrategy:\n  _target_: nemo.collections.speechlm.strategies.SpeechLMMegatronStrategy\n  tensor_model_parallel_size: 2\n", "megatron", "", trainer.Run{TP: 2, NoOverlap: true, NoGatherOverlap: true}, "part of the model"},
		"ms-swift's default":        {"megatron sft --tensor_model_parallel_size 2 --tuner_type lora --micro_batch_size 1\n", "megatron", "", trainer.Run{Zero: 1, TP: 2, NoOverlap: true, NoGatherOverlap: true}, "lora trains"},
		"ms-swift's switch":         {"megatron sft --tensor_model_parallel_size 2 --use_distributed_optimizer false\n", "megatron", "", trainer.Run{TP: 2, NoOverlap: true, NoGatherOverlap: true}, ""},
		"slime's default":           {"ray job submit -- python3 train.py --rollout-batch-size 8 --tensor-model-parallel-size 2\n", "megatron", "", trainer.Run{Zero: 1, TP: 2, NoOverlap: true, NoGatherOverlap: true}, ""},
		"Hydra":                     {"world: {tp: 4, on: true}\nt: ${world.tp}\nmodel:\n  tensor_model_parallel_size: ${t}\n  context_parallel_size: ${multiply:${world.tp},2}\n  expert_model_parallel_size: 2${eval:8}\nddp:\n  overlap_grad_reduce: ${world.on}\n", "megatron", "", trainer.Run{TP: 4, NoGatherOverlap: true}, "context_parallel_size is ${multiply:${world.tp},2} there"},
	} {
		c, err := trainer.ReadConfig(x.text, "")
		require.NoError(t, err, name)
		require.Equal(t, []string{x.trainer, x.frontEnd}, []string{c.Trainer, c.FrontEnd}, name)
		var run trainer.Run
		c.Apply(&run)
		if x.trainer == "fsdp2" {
			run.Zero = 3 // it has no other
		}
		require.Equal(t, x.run, run, name)
		if strings.HasPrefix(name, "Lightning's class") {
			require.EqualValues(t, 200_000_000, *c.Elements)
		}
		if notes := strings.Join(c.Notes, "\n"); x.note != "" {
			require.Contains(t, notes, x.note, name)
		}
	}
}

// What is not simulated is refused with the reason, whoever the file is for.
func TestKindsThatAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		titan + "      quantize:\n        enable_fsdp_float8_all_gather: true\n":                                                                   "8 bits",
		"data_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1\n":                                                                     "DDP",
		"distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: NO_WRAP\n":                                              "NO_WRAP",
		"distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: z.json\n":                                                        "give that file",
		"per_device_train_batch_size: 1\ndeepspeed: examples/z3.json\n":                                                                            "give that file",
		"torchrun t.py --tensor-model-parallel-size 2 --overlap-grad-reduce --deepspeed --deepspeed_config=z.json":                                 "give that file",
		"#!/bin/bash\ndeepspeed t.py --deepspeed_config ds.json\n":                                                                                 "give that file",
		"fsdp: full_shard auto_wrap\nddp_bucket_cap_mb: 25\n":                                                                                      "FSDP1",
		"dist_config:\n  name: fsdp2\nmicro_batch_size: 1\n":                                                                                       "--framework fsdp2",
		"trainer:\n  strategy: fsdp\n":                                                                                                             "FSDP1",
		"modules:\n  pre_trainer:\n    framework: nemo_automodel\n    config: pre_trainer.yaml\n":                                                  "plan of its own",
		"model:\n  tensor_model_parallel_size: 2\n  optim:\n    name: distributed_fused_adam\n":                                                    "bucket_cap_mb",
		"import a\nx(overlap_grad_reduce=True)\nif fast:\n    c.ddp.overlap_grad_reduce = False\n":                                                 "sets overlap_grad_reduce to true and to false",
		"import a\nc.strategy.context_parallel_size = 2\nc.optim.config.use_distributed_optimizer = False\n":                                       "give what the job printed",
		"import a\nfrom megatron.bridge.recipes.x import y\nc.model.tensor_model_parallel_size = 2\n":                                              "recipe",
		`{"zero_optimization": {"stage": 3, "zero_quantized_gradients": true, "mics_shard_size": 8}, "sequence_parallel_size": 2}`:                 "MiCS",
		"from nemo.collections.llm.recipes import llama3_8b\nx = llama3_8b.recipe(seq_length=16384, micro_batch_size=1)\n":                         "--framework",
		"# -- inference --\ntrainer:\n  precision: bf16\ntensor_model_parallel_size: 2\npipeline_model_parallel_size: 1\n":                         "whether the optimizer is distributed",
		"ddp:\n  grad_reduce_in_fp32: true\ndist:\n  use_megatron_fsdp: false\ntrain:\n  global_batch_size: 8\n":                                   "whether the optimizer is distributed",
		`{"pipe_parallel_size": 1, "zero_optimization": {"stage": 1}}`:                                                                             "pipeline engine",
		`{"model_parallel_size": 2, "zero_optimization": {"stage": 1}}`:                                                                            "tensor parallel",
		"import a\nx(overlap_grad_reduce=True, use_distributed_optimizer=True, tensor_model_parallel_size=tp)\nc.tensor_model_parallel_size = 8\n": "to tp and to 8",
		"micro_batch_size: 1\ncutoff_len: 4096\n":                                                                                                  "--framework",
	} {
		_, err := trainer.ReadConfig(text, "")
		require.ErrorContains(t, err, why, text)
	}
	c, err := trainer.ReadConfig("bf16: true\ngradient_accumulation_steps: 8\nper_device_train_batch_size: 1\n", "hf")
	require.NoError(t, err, "the framework that is given is obeyed")
	require.Equal(t, []any{8, true}, []any{*c.Accum, *c.FindUnused})
	_, err = trainer.ReadConfig(`{"train_batch_size": 8, "zero_optimization": {"stage": 1}}`, "megatron")
	require.ErrorContains(t, err, "of megatron in it")
}

// The forms in which public logs print arguments.
func TestPrintedFormsOfPublicLogs(t *testing.T) {
	const arguments = "_n_gpu=8,\nbf16=True,\nddp_bucket_cap_mb=None,\ndeepspeed=None,\nfsdp=[],\nfsdp_config={'min_num_params': 0, 'xla': False},\nlr_scheduler_kwargs=f(1, (2)),\ngradient_accumulation_steps=4,\nmp_parameters=,\nreport_to=['wandb'],\n"
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(arguments), "\n", "\n    ")
	for name, text := range map[string]string{
		"plain":          "parameters TrainingArguments(\n" + arguments + ")\nloss\n",
		"indented":       "  parameters TrainingArguments(\n" + indented + "\n    )\n  loss: gradient_accumulation_steps=9\n",
		"a subclass":     "GOLDConfig(\n" + indented + "\n    )\n",
		"before 4.10":    "INFO - run -   Training/evaluation parameters TrainingArguments(output_dir='/x/y', per_device_train_batch_size=1, gradient_accumulation_steps=4, fp16=True, evaluation_strategy=<E.STEPS: 'steps'>)\n",
		"two, the later": "parameters TrainingArguments(\n_n_gpu=1,\ngradient_accumulation_steps=1,\n)\nagain: parameters TrainingArguments(\n" + arguments + ")\n",
	} {
		c, err := trainer.ReadConfig(text, "hf")
		require.NoError(t, err, name)
		require.Equal(t, 4, *c.Accum, name)
		require.True(t, *c.FindUnused, name)
		_, f := found(t, text, shell.Given{})
		require.Contains(t, f.Form, "printed", name)
	}
	_, err := trainer.ReadConfig("parameters TrainingArguments(\n_n_gpu=8,\nddp_bucket_cap_mb=None,\ndeepspeed=ds.json,\n)\n", "")
	require.ErrorContains(t, err, "give that file")

	for name, before := range map[string]string{"quoted": "> ", "indented": "      ", "a rank": "3: "} {
		line := func(text string) string { return before + "  " + text + "          \n" }
		run, _ := configured(t, line("------------------------ arguments ------------------------")+line("overlap_grad_reduce ............................. True")+
			line("use_distributed_optimizer ....................... True")+line("-------------------- end of arguments ---------------------"))
		require.Equal(t, []any{1, false}, []any{run.Zero, run.NoOverlap}, name)
	}
}

// Hybrid sharding reduces the shards across the replicas; torchtitan's lines name its modules and the function they go into.
func TestHybridShardingOfTorchtitan(t *testing.T) {
	fsdp2, err := trainer.ByName("torchtitan")
	require.NoError(t, err)
	params := trainer.WithBlocks([]trainer.Param{
		{Name: "model.embed_tokens.weight", Elements: 6400, Shape: []int64{640, 10}},
		{Name: "model.layers.0.mlp.weight", Elements: 3200, Shape: []int64{320, 10}},
		{Name: "model.layers.1.mlp.weight", Elements: 3200, Shape: []int64{320, 10}},
		{Name: "model.norm.weight", Elements: 10, Shape: []int64{10}},
		{Name: "lm_head.weight", Elements: 6400, Shape: []int64{640, 10}},
	})
	run := trainer.Run{DP: 16, Zero: 3, Instances: 2, GradDtype: "float", ParamDtype: "bfloat16"}
	reduced := map[string]int64{}
	for _, m := range fsdp2.Plan(params, 3200, run).Backward {
		reduced[m.Collective] += m.Bytes
		require.Equal(t, map[string]int{"all_reduce": 2, "reduce_scatter": 8, "all_gather": 8}[m.Collective], m.Ranks)
	}
	require.Equal(t, reduced["reduce_scatter"]/8, reduced["all_reduce"])
	require.Positive(t, reduced["all_reduce"])

	text := fsdp2.Snippets(trainer.Spelling{Setting: 3200, Params: params, Run: run, FrontEnd: "torchtitan"})[0].Text
	for _, want := range []string{"apply_fsdp_to_decoder", `"tok_embeddings"`, `get_submodule("layers")`, `"norm", "lm_head"`, "fsdp_config"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "embed_tokens")
}

// The first stage's blocks follow Megatron's rules.
func TestBlocksOfTheFirstStage(t *testing.T) {
	for flags, want := range map[string]int{
		"":                                      0,
		"--decoder-first-pipeline-num-layers 5": 5,
		"--decoder-last-pipeline-num-layers 5":  9,
		"--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split": 7,
		"--pipeline-model-parallel-layout 'Et*7|t*8|t*8|t*9,L'":                          7,
		"--pipeline-model-parallel-layout 'Et*3|(tt|)*5t|L'":                             5,
	} {
		c, err := trainer.ReadConfig("torchrun t.py --overlap-grad-reduce "+flags, "")
		require.NoError(t, err, flags)
		blocks := 32
		if strings.Contains(flags, "account") {
			blocks = 30
		}
		n, err := c.FirstBlocks(4, blocks)
		require.NoError(t, err, flags)
		require.Equal(t, want, n, flags)
	}
	for _, layout := range []string{"Et|t|t", "E)*3|", "*5", "Et*99999|t|t|t", "Ex|t|t|L"} {
		c, err := trainer.ReadConfig("torchrun t.py --overlap-grad-reduce --pipeline-model-parallel-layout '"+layout+"'", "")
		require.NoError(t, err)
		_, err = c.FirstBlocks(4, 32)
		require.ErrorContains(t, err, "pipeline_model_parallel_layout", layout)
	}
}
