package advice_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/report"
	"zbench/test/golden"
	"zbench/test/schematest"
)

// sweep is a record of α–β curves: 0.2 ms and 300 GB/s, in place.
func sweep(ranks int, simulated bool, names ...string) *record.Record {
	return sweepTo(16<<30, ranks, simulated, names...)
}

// sweepTo is the same with another largest size.
func sweepTo(largest int64, ranks int, simulated bool, names ...string) *record.Record {
	rec := &record.Record{Schema: record.Schema, Created: time.Unix(0, 0), Simulated: simulated, Source: record.Source{Kind: record.Measured}}
	for _, name := range names {
		for size := int64(64 << 10); size <= largest; size *= 2 {
			t := 2e-4 + float64(size)/300e9
			var samples []float64
			for i := range 12 {
				samples = append(samples, t*(1+0.002*float64(i%3)))
			}
			rec.Results = append(rec.Results, record.Result{
				Case: record.Case{Key: record.Key(name, "float", "sum", size, ranks, 1, true), Status: record.OK}, Collective: name, Dtype: "float", Op: "sum", InPlace: true,
				Bytes: size, BytesRequested: size, Ranks: ranks, Nodes: ranks / 8, GPUsPerProcess: 1, Groups: 1,
				Isolated: &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize(samples)},
			})
		}
	}
	return rec
}

func input(t *testing.T, framework string, simulated bool) advice.Input {
	t.Helper()
	tr, err := trainer.ByName(framework)
	require.NoError(t, err)
	m, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	c, err := trainer.ComputeTimed(0.3, 0.15)
	require.NoError(t, err)
	return advice.Input{
		Sources:   []recommend.Source{{Record: sweep(64, simulated, "all_reduce", "reduce_scatter", "all_gather")}},
		Framework: framework, Model: m, Compute: c,
		Run: trainer.Run{DP: 64, GradDtype: tr.GradDtype, ParamDtype: "bfloat16", Zero: tr.Stages[0]},
	}
}

func give(t *testing.T, in advice.Input) *advice.Document {
	t.Helper()
	d, err := advice.Recommend(in)
	require.NoError(t, err)
	return d
}

func text(t *testing.T, write func(d *advice.Document, b *bytes.Buffer) error, d *advice.Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(d, &b))
	return b.String()
}

// shown is the recommendation as a command shows it.
func shown(d *advice.Document) *document.Document {
	out := &document.Document{Beneath: true}
	out.Add("advice", "", advice.Blocks(d, "")...).Show(document.Everywhere)
	return out
}

func asText(d *advice.Document, b *bytes.Buffer) error {
	return report.WriteText(b, shown(d), report.Screen{Width: 112})
}

func asMarkdown(d *advice.Document, b *bytes.Buffer) error { return report.WriteMarkdown(b, shown(d)) }
func asJSON(d *advice.Document, b *bytes.Buffer) error     { return d.WriteJSON(b) }

func TestEveryTrainerIsAdvised(t *testing.T) {
	s := schematest.Compile(t, advice.SchemaJSON)
	for _, name := range trainer.Names() {
		d := give(t, input(t, name, false))
		require.Equal(t, recommend.Recommended, d.Answer.Verdict, "%s: %v", name, d.Answer.Refusal)
		if d.Answer.Keep {
			require.Regexp(t, `^Keep .* at its default, [0-9.]+ [A-Za-z0-9(). ]+: a training step is (as short as|[0-9.]+ % longer than) with the best size\. (Low|Medium|High) confidence`, d.Sentence)
		} else {
			require.True(t, strings.HasPrefix(d.Sentence, "Set "+d.Knob()+" to "), d.Sentence)
			require.Contains(t, d.Sentence, d.Amount(d.Answer.Elements))
			require.Contains(t, d.Sentence, "As good within 1 %: ")
		}
		require.Contains(t, strings.ToLower(d.Sentence), d.Answer.Confidence.Level+" confidence")
		c, err := trainer.ReadConfig(d.Snippets[0].Text, "")
		require.NoError(t, err)
		m, err := trainer.Preset("llama3-8b")
		require.NoError(t, err)
		n, set := c.Setting(m.Params, d.Answer.Run)
		require.True(t, set)
		require.Equal(t, d.Answer.Elements, n, "%s: what the snippet says is the answer", name)

		out := text(t, asText, d)
		require.True(t, strings.HasPrefix(strings.ReplaceAll(out, "\n", " "), d.Sentence), "the sentence comes first")
		for _, want := range []string{" this", "Within 1 %", "Why not smaller", "Why not larger", "Confidence: ", "# check with", d.CurveSHA256[:16]} {
			require.Contains(t, out, want, name)
		}
		require.NotContains(t, out, "SIMULATED")
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, len([]rune(line)), 230, "no line is endless: %s", line)
		}
		require.Regexp(t, `\| (use|keep) this`, text(t, asMarkdown, d))

		json := text(t, asJSON, d)
		require.NoError(t, schematest.Fits(t, s, json), name)
		again, err := advice.Read(strings.NewReader(json))
		require.NoError(t, err)
		require.Equal(t, out, text(t, asText, again), "%s: what was written reads back whole", name)
		edited, err := advice.Read(strings.NewReader(strings.Replace(json, `"dp": 64`, `"dp": 65`, 1)))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(text(t, asText, edited), "EDITED after zbench wrote it: "), name)
	}
}

func TestSimulatedIsSaid(t *testing.T) {
	d := give(t, input(t, "megatron", true))
	require.True(t, strings.HasPrefix(d.Sentence, "SIMULATED: Keep "), d.Sentence)
	require.Equal(t, recommend.Low, d.Answer.Confidence.Level)
	for _, s := range d.Snippets {
		require.True(t, strings.HasPrefix(s.Lines(), "# SIMULATED"), s.Text)
	}
}

func TestConfigIsJudged(t *testing.T) {
	in := input(t, "megatron", false)
	c, err := trainer.ReadConfig("--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size 1000000", "")
	require.NoError(t, err)
	in.Config, in.ConfigFile = c, "train.sh"
	c.Apply(&in.Run)
	d := give(t, in)
	require.Regexp(t, `A training step is [1-9][0-9.]* % longer with your 1 M`, d.Sentence)
	require.Contains(t, text(t, asText, d), "yours")

	// Without overlap all gradients are one message of 32 GB.
	c.Overlap = new(bool)
	c.Apply(&in.Run)
	d = give(t, in)
	require.Regexp(t, `^Set --ddp-bucket-size to [0-9]+ \([0-9.]+ M elements\) and set --overlap-grad-reduce\. How much longer a training step is with your 1 M is not known: most of the time goes to messages larger than the largest size swept, 16 GiB\.`, d.Sentence)
	in.Sources = []recommend.Source{{Record: sweepTo(32<<30, 64, false, "all_reduce", "reduce_scatter", "all_gather")}}
	d = give(t, in)
	require.Regexp(t, `^Set --ddp-bucket-size to [0-9]+ \([0-9.]+ M elements\) and set --overlap-grad-reduce\. With your flags alone a training step is 0 % longer with your 1 M than with the best size for them; --overlap-grad-reduce makes it [0-9]+ % shorter\.`, d.Sentence)
	require.Contains(t, d.Snippets[0].Text, "--overlap-grad-reduce\n")

	none, err := trainer.ReadConfig("ddp_bucket_size: null\noverlap_grad_reduce: true\nuse_distributed_optimizer: true\n", "")
	require.NoError(t, err)
	in.Config, in.ConfigFile = none, "x.yaml"
	none.Apply(&in.Run)
	d = give(t, in)
	require.Zero(t, d.Config.Elements)
	require.Contains(t, text(t, asText, d), "it sets no bucket size")
}

func TestRefusals(t *testing.T) {
	in := input(t, "deepspeed", false)
	in.Sources = []recommend.Source{{Record: sweep(64, false, "reduce_scatter")}}
	d := give(t, in)
	require.Equal(t, recommend.Refused, d.Answer.Verdict)
	require.Contains(t, d.Sentence, "No bucket size: the trainer calls all_reduce of 64 ranks")
	require.Empty(t, d.Snippets)
	require.Contains(t, text(t, asText, d), d.Sentence[:40])

	in = input(t, "megatron", false)
	in.Model = nil
	require.Equal(t, "no_model", give(t, in).Answer.Refusal.Code)

	in = input(t, "megatron", false)
	in.Run.DP = 1
	d = give(t, in)
	require.Contains(t, d.Sentence, "No gradient communication")
	require.Equal(t, recommend.NoCommunication, d.Answer.Verdict)

	in.Framework = "caffe"
	_, err := advice.Recommend(in)
	require.ErrorContains(t, err, `unknown framework "caffe"`)
}

// The hash is that of the curves: other times, another hash; another order, the same.
func TestCurveHash(t *testing.T) {
	in := input(t, "ddp", false)
	first := give(t, in).CurveSHA256
	rec := sweep(64, false, "all_gather", "all_reduce")
	in.Sources = []recommend.Source{{Record: rec}}
	require.Equal(t, first, give(t, in).CurveSHA256, "curves that are not used do not count")
	for i := range rec.Results {
		if rec.Results[i].Collective == "all_reduce" {
			rec.Results[i].Isolated.MaxOfRanks.Median *= 1.0001
			break
		}
	}
	require.NotEqual(t, first, give(t, in).CurveSHA256)
}

func TestReadRefuses(t *testing.T) {
	for _, bad := range []string{"", "{", "{}", `{"schema":"zbench.advice/9"}`, `{"schema":"zbench.advice/1","answer":{"verdict":"recommended"}}`, `{"schema":"zbench.advice/1","answer":{"verdict":"refused"}}`} {
		_, err := advice.Read(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}

func TestShare(t *testing.T) {
	for r, want := range map[float64]string{0: "0 %", 0.004: "0.4 %", 0.8: "80 %", 0.01: "1 %", 0.0995: "10 %", 1.47: "147 %"} {
		require.Equal(t, want, unit.Share(r))
	}
}

// One small golden of the whole text: it is what most people read.
func TestGoldenText(t *testing.T) {
	golden.Equal(t, "ddp.txt", text(t, asText, give(t, input(t, "ddp", true))))
}

// XLA's gathers have a threshold of their own: it is judged, and said where it is
// not what the answer's number gives.
func TestGatherThresholdIsJudged(t *testing.T) {
	in := input(t, "xla", false)
	judge := func(gather int64) *advice.Document {
		text := fmt.Sprintf("--xla_gpu_reduce_scatter_combine_threshold_bytes=4194304 --xla_gpu_all_gather_combine_threshold_bytes=%d", gather)
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		in.Config, in.ConfigFile, in.Run.GatherBytes = c, "flags.sh", 0
		c.Apply(&in.Run)
		return give(t, in)
	}
	same, apart := judge(256<<20), judge(1<<20)
	require.NotContains(t, same.Sentence, "all_gather")
	require.Regexp(t, "^Keep --xla_gpu_all_reduce_combine_threshold_bytes at 4 MiB: a training step is (as short as|[0-9.]+ % longer than) with the best size. Set --xla_gpu_all_gather_combine_threshold_bytes: it makes a training step [1-9][0-9.]* % shorter", apart.Sentence)
	require.Greater(t, apart.Answer.Current.Step, same.Answer.Current.Step)
	require.Equal(t, same.Answer.Elements, apart.Answer.Elements, "what is recommended sets both")
	require.NotContains(t, same.Snippets[0].Text, "new or changed against flags.sh: --xla_gpu_all_gather")
	require.Contains(t, apart.Snippets[0].Text, "# new or changed against flags.sh: --xla_gpu_enable_latency_hiding_scheduler, --xla_gpu_all_gather_combine_threshold_bytes\n")
}
