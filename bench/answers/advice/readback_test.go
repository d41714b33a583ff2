package advice_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/longtest"
)

// experts is a model of blocks, some of whose tensors are routed experts.
func experts(some bool) *trainer.Model {
	m := &trainer.Model{Name: "small", Source: "made up", Listed: true}
	add := func(name string, n int64, expert bool, block int) {
		m.Params = append(m.Params, trainer.Param{Name: name, Elements: n, Expert: expert, Block: block})
	}
	add("embed_tokens.weight", 100_000_000, false, 0)
	for i := range 16 {
		add(fmt.Sprintf("model.layers.%d.attn", i), 20_000_000, false, i+1)
		add(fmt.Sprintf("model.layers.%d.mlp", i), 40_000_000, some, i+1)
	}
	add("lm_head.weight", 100_000_000, false, 0)
	return m
}

// groupsOf is a record of curves of 32 ranks and of every part of them that the
// property draws.
func groupsOf() *record.Record {
	all := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, ranks := range []int{32, 16, 8, 4, 2} {
		all.Results = append(all.Results, sweep(ranks, false, "all_reduce", "reduce_scatter", "all_gather", "reduce").Results...)
	}
	return all
}

// flagSet draws the settings file that a user of a trainer might have.
func flagSet(t *rapid.T, name string) string {
	on := func(what string) bool { return rapid.Bool().Draw(t, what) }
	size := rapid.Int64Range(1_000_000, 3_000_000_000).Draw(t, "size")
	if rapid.IntRange(0, 4).Draw(t, "own lines") == 0 {
		return ownLines(t, name, size)
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch name {
	case "megatron":
		lines = megatronFlags(t, on, size)
	case "ddp":
		add("bucket_cap_mb=%d", max(1, size>>20))
	case "fsdp2":
		add("BLOCKS_PER_UNIT = %d", rapid.IntRange(1, 16).Draw(t, "blocks"))
	case "deepspeed":
		text := fmt.Sprintf(`"zero_optimization": {"stage": %d`, rapid.SampledFrom([]int{1, 2, 3}).Draw(t, "stage"))
		if on("size set") {
			text += fmt.Sprintf(`, "reduce_bucket_size": %d`, size)
		}
		if on("overlap set") {
			text += fmt.Sprintf(`, "overlap_comm": %t`, on("overlap"))
		}
		if on("to owners") {
			text += `, "use_multi_rank_bucket_allreduce": false`
		}
		text += "}"
		text += rapid.SampledFrom([]string{"", `, "bf16": {"enabled": true}`, `, "fp16": {"enabled": true}`}).Draw(t, "half")
		text += rapid.SampledFrom([]string{"", `, "communication_data_type": "fp32"`, `, "communication_data_type": "fp16"`}).Draw(t, "wire")
		add("{%s, \"gradient_accumulation_steps\": %d}", text, rapid.IntRange(1, 4).Draw(t, "accum"))
	case "xla":
		for _, call := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
			if on(call) {
				add("--xla_gpu_%s_combine_threshold_bytes=%d", call, rapid.Int64Range(1<<20, 1<<31).Draw(t, call+" bytes"))
			}
		}
		if on("scheduler set") {
			add("--xla_gpu_enable_latency_hiding_scheduler=%t", on("scheduler"))
		}
		if len(lines) == 0 {
			add("--xla_gpu_all_reduce_combine_threshold_bytes=%d", size)
		}
	default:
		return ownLines(t, name, size)
	}
	return strings.Join(lines, "\n") + "\n"
}

// ownLines is the settings as the trainer's first form writes them.
func ownLines(t *rapid.T, name string, size int64) string {
	x, err := trainer.ByName(name)
	require.NoError(t, err)
	run := trainer.Run{
		DP: 32, GradDtype: x.GradDtype, ParamDtype: "bfloat16",
		Zero: rapid.SampledFrom(x.Stages).Draw(t, "stage"), NoOverlap: rapid.Bool().Draw(t, "overlap off"),
	}
	step := x.Step(size, run)
	return x.Snippets(trainer.Spelling{Setting: (size + step - 1) / step * step, Params: experts(false).Params, Run: run})[0].Text
}

func megatronFlags(t *rapid.T, on func(what string) bool, size int64) []string {
	lines := []string{"--seq-length 4096"}
	for _, flag := range []string{"--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather", "--ddp-pad-buckets-for-high-nccl-busbw"} {
		if on(flag) {
			lines = append(lines, flag)
		}
	}
	switch rapid.IntRange(0, 2).Draw(t, "how sized") {
	case 1:
		lines = append(lines, fmt.Sprintf("--ddp-bucket-size %d", size))
	case 2:
		lines = append(lines, fmt.Sprintf("--ddp-num-buckets %d", 1+size%30))
	}
	lines = append(lines, rapid.SampledFrom([]string{"", "--bf16", "--bf16 --grad-reduce-in-bf16", "--fp16", "--fp16 --accumulate-allreduce-grads-in-fp32"}).Draw(t, "dtypes"))
	if n := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "ep"); n > 1 {
		lines = append(lines, fmt.Sprintf("--expert-model-parallel-size %d", n))
	}
	if n := rapid.SampledFrom([]int{1, 2}).Draw(t, "instances"); n > 1 {
		lines = append(lines, fmt.Sprintf("--num-distributed-optimizer-instances %d", n))
	}
	return lines
}

// told is the input that a settings file makes, as the command makes it: the
// trainer's defaults and what the file says over them.
func told(t require.TestingT, name, text string, m *trainer.Model, sources []recommend.Source, backward float64) advice.Input {
	tr, err := trainer.ByName(name)
	require.NoError(t, err)
	c, err := trainer.ReadConfig(text, "")
	require.NoError(t, err, text)
	require.Equal(t, name, c.Trainer, text)
	in := advice.Input{
		Sources: sources, Framework: name, Model: m, Config: c, ConfigFile: "train.sh",
		Run: trainer.Run{DP: 32, GradDtype: tr.GradDtype, ParamDtype: "bfloat16", Zero: tr.Stages[0]},
	}
	in.Compute, err = trainer.ComputeTimed(backward, backward/2)
	require.NoError(t, err)
	c.Apply(&in.Run)
	return in
}

// frontEnds are the names that users have for what starts a trainer.
var frontEnds = map[string][]string{"megatron": {"primus", "bridge"}, "ddp": {"hf", "accelerate", "lightning"}}

// Whatever trainer and flags: the printed lines, read as the trainer's settings,
// give the step that they promise, and then nothing is left to change. One fact is one
// number everywhere.
func TestPrintedLinesKeepTheirPromise(t *testing.T) {
	measured, modelled := groupsOf(), groupsOf()
	modelled.Simulated, modelled.Source.Kind = true, record.Simulated
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(trainer.Names()).Draw(t, "trainer")
		sources := []recommend.Source{{Record: rapid.SampledFrom([]*record.Record{measured, modelled}).Draw(t, "record")}}
		m := experts(rapid.Bool().Draw(t, "experts"))
		backward := rapid.SampledFrom([]float64{0.01, 0.05, 0.2}).Draw(t, "backward")
		in := told(t, name, flagSet(t, name), m, sources, backward)
		in.Framework = rapid.SampledFrom(append(frontEnds[name], name)).Draw(t, "asked as")
		d, err := advice.Recommend(in)
		require.NoError(t, err)
		require.Empty(t, d.Answer.Refusal)
		require.NotEmpty(t, d.Snippets)
		oneNumber(t, d)
		for _, s := range d.Snippets {
			again, err := advice.Recommend(told(t, name, s.Text, m, sources, backward))
			require.NoError(t, err)
			require.NotNil(t, again.Answer.Current, s.Text)
			require.InEpsilon(t, d.Answer.Best.Step, again.Answer.Current.Step, 1e-9, "%s\n%s", d.Sentence, s.Text)
			require.Regexp(t, "^(SIMULATED: )?Keep ", again.Sentence, "%s\n%s\n%s", d.Sentence, again.Sentence, s.Text)
		}
	})
}

// What is printed for DeepSpeed between the first and the last brace of its part is JSON,
// on a terminal and in Markdown: comments stand before it.
func TestLongTheDeepSpeedBlockIsJSON(t *testing.T) {
	longtest.OnlyOrDetected(t)
	sources := []recommend.Source{{Record: groupsOf()}}
	rapid.Check(t, func(rt *rapid.T) {
		in := told(rt, "deepspeed", flagSet(rt, "deepspeed"), experts(false), sources, 0.05)
		d, err := advice.Recommend(in)
		require.NoError(rt, err)
		for _, shown := range []string{text(t, asText, d), text(t, asMarkdown, d)} {
			_, block, found := strings.Cut(shown, "DeepSpeed JSON\n")
			require.True(rt, found, shown)
			require.Contains(rt, block, "# zbench: ")
			from := strings.Index(block, "\n{") + 1
			var settings struct {
				Zero struct {
					Size int64 `json:"reduce_bucket_size"`
				} `json:"zero_optimization"`
			}
			require.NoError(rt, json.Unmarshal([]byte(block[from:strings.LastIndex(block, "}")+1]), &settings), block)
			require.Equal(rt, d.Answer.Elements, settings.Zero.Size)
		}
	})
}

// Where even the missing switches gain less than 1 %, all stays as it is, and the
// lines add none.
func TestWhatGainsNothingIsNotSwitchedOn(t *testing.T) {
	sources := []recommend.Source{{Record: groupsOf()}}
	for text, name := range map[string]string{
		"--use-distributed-optimizer --ddp-bucket-size 1000000":                                                         "megatron",
		"--use-distributed-optimizer --seq-length 4096":                                                                 "megatron",
		`{"zero_optimization": {"stage": 1, "reduce_bucket_size": 3e8}}`:                                                "deepspeed",
		"--xla_gpu_reduce_scatter_combine_threshold_bytes=4194304 --xla_gpu_all_gather_combine_threshold_bytes=4194304": "xla",
	} {
		d := give(t, told(t, name, text, experts(false), sources, 60))
		require.Regexp(t, `^Keep .* at (its default, )?[0-9.]+ [A-Za-z0-9(). ]+: a training step is (as short as|[0-9.]+ % longer than) with the best size\. Medium confidence\.$`, d.Sentence, text)
		require.Empty(t, d.Answer.Changes)
		require.NotContains(t, d.Snippets[0].Text, "overlap-grad-reduce")
		require.NotContains(t, d.Snippets[0].Text, `"overlap_comm": true`)
		require.NotContains(t, d.Snippets[0].Text, "_gather_combine_threshold_bytes=8")
	}
	d := give(t, told(t, "megatron", "--use-distributed-optimizer --ddp-bucket-size 1000000", experts(false), sources, 0.2))
	require.NotEmpty(t, d.Answer.Changes, "a shorter backward")
	require.Contains(t, d.Snippets[0].Text, "--overlap-grad-reduce\n")
	require.Contains(t, d.Snippets[0].Text, "# new or changed against train.sh: --overlap-grad-reduce, --overlap-param-gather")
}

// FSDP2 and XLA are told what memory a setting takes.
func TestMemoryIsStated(t *testing.T) {
	sources := []recommend.Source{{Record: groupsOf()}}
	for name, text := range map[string]string{"fsdp2": "BLOCKS_PER_UNIT = 4\n", "xla": "--xla_gpu_all_reduce_combine_threshold_bytes=2000000000", "ddp": "bucket_cap_mb=25"} {
		d := give(t, told(t, name, text, experts(false), sources, 0.01))
		at := slices.IndexFunc(d.Facts(), func(f document.Fact) bool { return f.Term == "Memory" })
		require.Equal(t, name != "ddp", at >= 0, name)
		if at < 0 {
			continue
		}
		require.Contains(t, d.Facts()[at].Text, unit.Bytes(d.Answer.Best.Memory)+" at this setting", name)
		require.Contains(t, d.Facts()[at].Text, "the largest message has "+unit.Bytes(d.Answer.Best.LargestBytes), name)
		if name == "fsdp2" { // of each element three times bfloat16 and once float
			require.Equal(t, d.Answer.Best.LargestBytes/4*(3*2+4), d.Answer.Best.Memory)
		}
	}
}
