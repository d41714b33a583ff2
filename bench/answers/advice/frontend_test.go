package advice_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// What starts a trainer is asked for by its own name, in any spelling, and the answer is
// in its own keys: the sentence names the key that the first lines set.
func TestFrontEndsAnswerInTheirOwnKeys(t *testing.T) {
	for _, c := range []struct{ trainer, title, knob, names string }{
		{"megatron", "Megatron-LM arguments", "--ddp-bucket-size", "megatron Megatron-LM mcore"},
		{"megatron", "Primus YAML", "ddp_bucket_size", "primus PRIMUS"},
		{"megatron", "Megatron-Bridge overrides", "comm_overlap.bucket_size", "bridge megatron-bridge Megatron_Bridge nemo"},
		{"ddp", "PyTorch DDP", "bucket_cap_mb", "ddp pytorch torch-ddp"},
		{"ddp", "Accelerate", "bucket_cap_mb", "accelerate"},
		{"ddp", "Hugging Face Trainer", "ddp_bucket_cap_mb", "hf huggingface hugging-face transformers"},
		{"ddp", "Lightning", "bucket_cap_mb", "lightning pytorch-lightning"},
		{"fsdp2", "torchtitan", "fully_shard", "torchtitan"},
	} {
		in := input(t, c.trainer, false)
		for name := range strings.FieldsSeq(c.names) {
			in.Framework = name
			d := give(t, in)
			require.Equal(t, c.title, d.Snippets[0].Title, name)
			require.Equal(t, c.knob, d.Knob(), name)
			require.Contains(t, d.Snippets[0].Text, c.knob, name)
			require.Regexp(t, `(?i)^(set|keep) `+regexp.QuoteMeta(c.knob)+" ", d.Sentence, name)
		}
	}
	_, err := trainer.ByName("megatrn-bridge")
	require.ErrorContains(t, err, "valid are megatron, primus, ")
}

// Bridge sets 128 Mi elements where nothing is said; Megatron itself does not.
func TestBridgeHasItsOwnDefault(t *testing.T) {
	in := input(t, "megatron", false)
	require.EqualValues(t, 64e6, give(t, in).Answer.Default.Elements)
	in.Framework = "bridge"
	require.EqualValues(t, 128<<20, give(t, in).Answer.Default.Elements)
	in.Run.Zero = 0
	require.EqualValues(t, 64e6, give(t, in).Answer.Default.Elements, "comm_overlap counts with the distributed optimizer alone")
}

// Hugging Face and Accelerate start DeepSpeed, too: a file of DeepSpeed's says that it does.
func TestAFrontEndTakesTheFileOfAnotherTrainer(t *testing.T) {
	want := &spec.Advice{Framework: "hf", Preset: "llama3-8b", Step: 0.3, Config: &spec.Config{File: "ds.json"}}
	var err error
	want.Config.Settings, err = trainer.Settings(`{"zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}}`)
	require.NoError(t, err)
	q, err := advice.Prepare(want)
	require.NoError(t, err)
	d, err := q.Ask([]recommend.Source{{Record: sweep(64, false, "all_reduce", "all_gather")}})
	require.NoError(t, err)
	require.Equal(t, "deepspeed", d.Answer.Trainer)
	require.EqualValues(t, 5e8, d.Answer.Current.Elements)
	want.Framework = "ddp"
	_, err = advice.Prepare(want)
	require.ErrorContains(t, err, "no trainer's settings of ddp in it")
}

// Under autocast the file does not say in which type the parameters were loaded: both answers are said, and --param-dtype
// settles it. A file's own front end comes first without --framework.
func TestBothSizesWhereTheTypeIsNotSaid(t *testing.T) {
	ask := func(text, framework, dtype string) *advice.Document {
		t.Helper()
		want := &spec.Advice{Framework: framework, Preset: "llama3-8b", Step: 0.3, ParamDtype: dtype, Config: &spec.Config{File: "c"}}
		var err error
		want.Config.Settings, err = trainer.Settings(text)
		require.NoError(t, err)
		q, err := advice.Prepare(want)
		require.NoError(t, err)
		d, err := q.Ask([]recommend.Source{{Record: sweep(64, false, "all_reduce", "all_gather", "reduce_scatter")}})
		require.NoError(t, err)
		require.True(t, d.Answered(), d.Sentence)
		return d
	}
	const both = "loaded in bfloat16: .* MiB; in float: "
	d := ask("bf16: true\nddp_bucket_cap_mb: 25\n", "hf", "")
	require.Regexp(t, both, strings.Join(d.Config.Notes, "\n"))
	d = ask("bf16: true\nddp_bucket_cap_mb: 25\n", "hf", "float")
	require.NotRegexp(t, both, strings.Join(d.Config.Notes, "\n"))
	require.Equal(t, "float", d.Answer.Run.GradDtype)
	d = ask(`{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}`, "", "float")
	require.Equal(t, "bfloat16", d.Answer.Run.GradDtype, "the file says it")
	d = ask("data_parallel_shard_degree = 64\ndata_parallel_replicate_degree = 1\n", "", "")
	require.Equal(t, "torchtitan", d.Snippets[0].Title)
	require.Contains(t, d.Config.Read, "default: ")
}
