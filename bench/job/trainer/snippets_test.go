package trainer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"zbench/bench/job/trainer"
	"zbench/test/golden"
)

// blocksOf makes a model of so many equal blocks.
func blocksOf(n int) []trainer.Param {
	params := []trainer.Param{{Name: "embed_tokens.weight", Elements: 1 << 20}}
	for i := range n {
		params = append(params, trainer.Param{Name: "w", Elements: 1 << 22, Block: i + 1})
	}
	return params
}

// Whatever can be set and written is read as the same number of elements.
func TestSnippetsReadBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(trainer.Names()).Draw(t, "trainer")
		tr, err := trainer.ByName(name)
		require.NoError(t, err)
		run := trainer.Run{
			DP:        rapid.IntRange(2, 2048).Draw(t, "dp"),
			Zero:      rapid.SampledFrom(tr.Stages).Draw(t, "zero"),
			GradDtype: rapid.SampledFrom([]string{"float", "bfloat16"}).Draw(t, "grad"), ParamDtype: "bfloat16",
		}
		s := trainer.Spelling{Params: blocksOf(80), Run: run, Curve: "abc", Simulated: rapid.Bool().Draw(t, "simulated")}
		if all := tr.Settings(s.Params, run); all != nil {
			s.Setting = rapid.SampledFrom(all).Draw(t, "setting")
		} else {
			s.Setting = rapid.Int64Range(1, 1<<40).Draw(t, "setting")
			s.Setting = max(1, s.Setting/tr.Step(s.Setting, run)) * tr.Step(s.Setting, run)
		}
		for _, snippet := range tr.Snippets(s) {
			require.Equal(t, s.Simulated, strings.HasPrefix(snippet.Lines(), trainer.SimulatedMark), snippet.Text)
			c, err := trainer.ReadConfig(snippet.Text, "")
			require.NoError(t, err, snippet.Text)
			require.Equal(t, name, c.Trainer, snippet.Text)
			got, set := c.Setting(s.Params, run)
			require.True(t, set, snippet.Text)
			require.Equal(t, s.Setting, got, snippet.Text)
		}
	})
}

// A cap that is no whole number of MiB is written in full.
func TestCapsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := trainer.Run{DP: 8, GradDtype: rapid.SampledFrom([]string{"float", "bfloat16"}).Draw(t, "grad"), ParamDtype: "bfloat16"}
		tr, err := trainer.ByName("ddp")
		require.NoError(t, err)
		s := trainer.Spelling{Setting: rapid.Int64Range(1, 1<<40).Draw(t, "setting"), Run: run}
		c, err := trainer.ReadConfig(tr.Snippets(s)[0].Text, "ddp")
		require.NoError(t, err)
		got, _ := c.Setting(nil, run)
		require.Equal(t, s.Setting, got)
	})
}

// Every trainer can be written, and says what it is from and how to read it back.
func TestEveryTrainerHasSnippets(t *testing.T) {
	for _, name := range trainer.Names() {
		tr, err := trainer.ByName(name)
		require.NoError(t, err)
		run := trainer.Run{DP: 1024, Zero: tr.Stages[0], GradDtype: "float", ParamDtype: "bfloat16"}
		s := trainer.Spelling{Setting: 1e8 / tr.Step(1e8, run) * tr.Step(1e8, run), Params: blocksOf(8), Run: run, Curve: "0123abcd"}
		snippets := tr.Snippets(s)
		require.NotEmpty(t, snippets, name)
		var all strings.Builder
		for _, n := range snippets {
			require.Contains(t, n.Lines(), "unit="+tr.Unit+", n=1024, curve sha256=0123abcd\n")
			require.Contains(t, n.Lines(), "# check with")
			require.NotContains(t, n.Lines(), "SIMULATED")
			all.WriteString("--- " + n.Title + " (" + n.Language + ")\n" + n.Lines())
		}
		golden.Equal(t, "snippet-"+name+".txt", all.String())
	}
}

// Languages that can be parsed are.
func TestSnippetsAreTheirLanguage(t *testing.T) {
	for _, name := range []string{"megatron", "deepspeed"} {
		tr, err := trainer.ByName(name)
		require.NoError(t, err)
		for _, n := range tr.Snippets(trainer.Spelling{Setting: 5e8, Run: trainer.Run{DP: 8, Zero: 1, GradDtype: "float", ParamDtype: "float"}}) {
			if n.Language != "yaml" && n.Language != "json" {
				continue
			}
			var doc map[string]any
			read := yaml.Unmarshal
			if n.Language == "json" {
				read = json.Unmarshal // comments stand beside it
			}
			require.NoError(t, read([]byte(n.Text), &doc), n.Text)
			require.NotEmpty(t, doc)
		}
	}
}

func TestReadConfig(t *testing.T) {
	megatron := func(extra string) string { return "--use-distributed-optimizer --bf16 --overlap-grad-reduce " + extra }
	run := trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "bfloat16"}
	for name, c := range map[string]struct {
		text, trainer string
		setting       int64
		zero          int
	}{
		"arguments":   {megatron("--ddp-bucket-size 40000000"), "megatron", 4e7, 1},
		"equals":      {megatron("--ddp-bucket-size=4e7"), "megatron", 4e7, 1},
		"script":      {"#!/bin/bash\nSIZE=40000000 # elements\nARGS=(\n  --use-distributed-optimizer\n  --ddp-bucket-size ${SIZE} \\\n)\ntorchrun pretrain.py ${ARGS[@]} --lr 1e-4\n", "megatron", 4e7, 1},
		"default":     {"torchrun x.py --overlap-grad-reduce --ddp-bucket-size ${SIZE:-40000000}", "megatron", 4e7, 0},
		"quotes":      {"torchrun x.py --overlap-grad-reduce --name Bob\\'s --ddp-bucket-size 40000000 --save ${SAVE:-'/tmp'}", "megatron", 4e7, 0},
		"continued":   {"python x.py --ddp-bucket-size \\\n  40000000 --seq-length 4096", "megatron", 4e7, 0},
		"buckets":     {megatron("--ddp-num-buckets 4"), "megatron", (1<<20 + 4<<22) / 4, 1},
		"primus":      {"modules:\n  pre_trainer:\n    overrides:\n      ddp_bucket_size: 256000000\n      use_distributed_optimizer: true\n", "megatron", 256e6, 1},
		"bridge":      {"ddp.bucket_size = 128 * 1024 * 1024", "megatron", 128 << 20, 0},
		"deepspeed":   {`{"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8, "overlap_comm": true}, "bf16": {"enabled": true}}`, "deepspeed", 5e8, 2},
		"commented":   {"// no\n", "", 0, 0},
		"accelerate":  {"DistributedDataParallelKwargs(bucket_cap_mb=100)", "ddp", 100 << 18, 0},
		"hugging":     {"ddp_bucket_cap_mb: 100", "ddp", 100 << 18, 0},
		"list":        {"DistributedDataParallel(model, bucket_cap_mb_list=[1, 4.5, 25])", "ddp", 25 << 18, 0},
		"list, yaml":  {"parallel:\n  bucket_cap_mb_list: [1, 100]\n", "ddp", 100 << 18, 0},
		"list of one": {"bucket_cap_mb_list = [100]", "ddp", 100 << 18, 0},
		"xla":         {`export XLA_FLAGS="--xla_gpu_all_reduce_combine_threshold_bytes=134217728 --x=1"`, "xla", 1 << 25, 0},
		"primus null": {"ddp_bucket_size: null\noverlap_grad_reduce: false\n", "megatron", 0, 0},
		"auto":        {`{"zero_optimization": {"stage": 1, "reduce_bucket_size": "auto"}}`, "deepspeed", 0, 1},
	} {
		got, err := trainer.ReadConfig(c.text, "")
		if c.trainer == "" {
			require.ErrorIs(t, err, trainer.ErrConfig, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.trainer, got.Trainer, name)
		r := run
		got.Apply(&r)
		require.Equal(t, c.zero, r.Zero, name)
		setting, set := got.Setting(blocksOf(4), r)
		require.Equal(t, c.setting != 0, set, name)
		require.Equal(t, c.setting, setting, name)
	}
}

// A cap for each bucket is printed as it was read, with the setting as the last.
func TestCapsOfBuckets(t *testing.T) {
	const list = "bucket_cap_mb_list=[1, 4.5, 25]"
	c, err := trainer.ReadConfig("DistributedDataParallel(model, "+list+", gradient_as_bucket_view=True)", "")
	require.NoError(t, err)
	run := trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "float"}
	c.Apply(&run)
	params := blocksOf(4)
	setting, _ := c.Setting(params, run)
	ddp, err := trainer.ByName(c.Trainer)
	require.NoError(t, err)
	require.Contains(t, ddp.Snippets(trainer.Spelling{Setting: setting, Params: params, Run: run})[0].Text, list)
	sizes := []int64{}
	for _, b := range ddp.Plan(params, setting, run).Buckets {
		sizes = append(sizes, b.Elements*4)
	}
	require.GreaterOrEqual(t, sizes[0], int64(1<<20))
	require.GreaterOrEqual(t, sizes[2], int64(25<<20))
	require.Equal(t, ddp.Plan(params, 0, trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "float"}), ddp.Plan(params, 0, run), "the default has no list")
	_, err = trainer.ReadConfig("parallel:\n  bucket_cap_mb_list: [1, many]\n", "")
	require.ErrorContains(t, err, "bucket_cap_mb_list")
}

// What is not said has the trainer's own meaning.
func TestDefaultsOfConfigs(t *testing.T) {
	read := func(text string) (run trainer.Run, c *trainer.Config) {
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		c.Apply(&run)
		return run, c
	}
	run, c := read("--bf16 --ddp-bucket-size 5 --micro-batch-size 2 --seq-length 4096 --context-parallel-size 2 --recompute-granularity full --expert-model-parallel-size 8")
	require.True(t, run.NoOverlap && run.NoGatherOverlap, "Megatron overlaps where it is told to")
	require.Equal(t, "float", run.GradDtype, "bf16 reduces in fp32")
	require.Equal(t, 8, run.EP)
	require.Equal(t, int64(4096), *c.TokensPerMicrobatch)
	require.True(t, *c.Recompute)
	run, _ = read("--bf16 --grad-reduce-in-bf16 --overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer")
	require.False(t, run.NoOverlap || run.NoGatherOverlap)
	require.Equal(t, "bfloat16", run.GradDtype)
	run, c = read(`{"zero_optimization": {"stage": 1, "allgather_bucket_size": 2e8}, "fp16": {"enabled": true}, "gradient_accumulation_steps": 4}`)
	require.True(t, run.NoOverlap, "stages 1 and 2 do not overlap by default")
	require.Equal(t, "half", run.GradDtype)
	require.Equal(t, 4, run.Accum)
	require.Contains(t, c.Notes[0], "allgather_bucket_size has no effect")
	// deepspeedai/DeepSpeed tests/unit/runtime/zero/test_zero_config.py (481c21a7,
	// read 2026-11-21): overlap_comm is off by itself in stages 0 to 2 and on in 3,
	// and a reduce_bucket_size of 0 is refused.
	run, _ = read(`{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "communication_data_type": "fp32"}`)
	require.False(t, run.NoOverlap)
	require.Equal(t, "float", run.GradDtype)
	_, c = read("--ddp-bucket-size 5 --pipeline-model-parallel-size 4")
	require.Contains(t, c.Notes[0], "first stage")
}

// XLA has a threshold for each call: those of shards mean a run that shards, and one
// that is not set is the default, not the other's.
func TestXLAThresholds(t *testing.T) {
	const scatter, gather = "--xla_gpu_reduce_scatter_combine_threshold_bytes=1048576", "--xla_gpu_all_gather_combine_threshold_bytes=8388608"
	const reduce = "--xla_gpu_all_reduce_combine_threshold_bytes=2097152"
	for text, want := range map[string]struct{ zero, setting, gather, notes int }{
		scatter + " " + gather: {1, 1 << 20 * 16 / 2, 8 << 20, 0},
		scatter:                {1, 1 << 20 * 16 / 2, 30<<20 + 7, 1},
		gather:                 {1, (30<<20 + 7) * 16 / 2, 8 << 20, 1},
		reduce:                 {0, 1 << 20, 0, 0},
		reduce + " " + gather:  {0, 1 << 20, 8 << 20, 1},
	} {
		c, err := trainer.ReadConfig(`XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true `+text+`"`, "")
		require.NoError(t, err)
		require.Equal(t, "xla", c.Trainer)
		r := trainer.Run{DP: 16, GradDtype: "bfloat16", ParamDtype: "bfloat16"}
		c.Apply(&r)
		n, set := c.Setting(nil, r)
		require.True(t, set)
		require.Equal(t, want, struct{ zero, setting, gather, notes int }{r.Zero, int(n), int(r.GatherBytes), len(c.Notes)}, text)
	}
	c, err := trainer.ReadConfig(reduce, "xla")
	require.NoError(t, err)
	_, set := c.Setting(nil, trainer.Run{DP: 16, Zero: 1, GradDtype: "bfloat16"})
	require.False(t, set, "nothing is reduced by all_reduce")
	tr, err := trainer.ByName("xla")
	require.NoError(t, err)
	r := trainer.Run{DP: 16, Zero: 1, GradDtype: "bfloat16", ParamDtype: "bfloat16"}
	same := tr.Plan(blocksOf(8), 4<<22, r)
	require.Len(t, same.Forward, len(same.Backward))
	r.GatherBytes = 8 << 20
	apart := tr.Plan(blocksOf(8), 4<<22, r)
	require.Equal(t, same.Backward, apart.Backward)
	require.Len(t, apart.Forward, 9, "each tensor of 8 MiB by itself")
}

func TestReadConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "neither Megatron's arguments",
		"just some words":                       "neither Megatron's arguments",
		"--ddp-bucket-size many":                `ddp_bucket_size: "many" is not a number`,
		"--ddp-bucket-size 1e400":               "is not a positive whole number",
		"--ddp-bucket-size 0":                   "is not a positive whole number",
		"--ddp-bucket-size 1.5":                 "is not a positive whole number",
		"bucket_cap_mb=25MB":                    `"25MB" is not a number`,
		"ddp_bucket_size: 99999999999999999999": "is not a positive whole number",
		"--ddp-num-buckets 9007199254740993":    "is not a positive",
	} {
		_, err := trainer.ReadConfig(text, "")
		require.ErrorIs(t, err, trainer.ErrConfig, text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := trainer.ReadConfig("--ddp-bucket-size 5", "deepspeed")
	require.ErrorContains(t, err, "of deepspeed in it")
}
