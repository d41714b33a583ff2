package trainer_test

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

func byName(t *testing.T, name string) trainer.Trainer {
	t.Helper()
	x, err := trainer.ByName(name)
	require.NoError(t, err)
	return x
}

// The weight of an embedding that the output layer shares is in one unit, whether the list
// says so or has no output layer; lines that put it into two are doubted.
func TestTiedEmbeddingIsOneUnit(t *testing.T) {
	work := 1.0
	untied := namedBlocks(4, true, true)
	norm := untied[len(untied)-2]
	tied := append(namedBlocks(4, true, false), norm)
	fsdp2 := byName(t, "fsdp2")
	run := trainer.Run{DP: 8, Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"}
	root := run
	root.RootUnit = true
	const apart = "BLOCKS_PER_UNIT = 1\nUNIT_BEFORE_BLOCKS = [\"model.embed_tokens\"]\nUNIT_AFTER_BLOCKS = [\"model.norm\"]\n"
	theirs, err := trainer.ReadConfig(apart, "")
	require.NoError(t, err)
	for _, params := range [][]trainer.Param{tied, append(slices.Clip(tied), trainer.Param{Name: "lm_head (shares the embedding)", Work: &work})} {
		p := fsdp2.Plan(params, 0, run)
		require.Equal(t, fsdp2.Plan(params, 0, root), p)
		last := p.Buckets[len(p.Buckets)-1]
		require.Equal(t, int64(3<<20+2048), last.Elements, "embedding and norm")
		text := fsdp2.Snippets(trainer.Spelling{Setting: 1 << 22, Params: params, Run: run})[0].Text
		require.NotContains(t, text, "UNIT_BEFORE_BLOCKS")
		require.NotContains(t, text, "UNIT_AFTER_BLOCKS")
		require.Contains(t, text, "PyTorch 2.13 refuses")
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		back := run
		c.Apply(&back)
		require.Equal(t, p, fsdp2.Plan(params, 0, back))
		require.Empty(t, c.Doubts(params))
		require.Len(t, theirs.Doubts(params), 1)
	}
	require.Empty(t, theirs.Doubts(untied))
	require.Contains(t, fsdp2.Snippets(trainer.Spelling{Setting: 1 << 22, Params: untied, Run: run})[0].Text, "UNIT_BEFORE_BLOCKS")
}

// As with LoRA: what is frozen is gathered where all parameters are, and reduced nowhere.
func TestFrozenTensorsAreNotReduced(t *testing.T) {
	params := []trainer.Param{
		{Name: "embed_tokens.weight", Frozen: 800, Shape: []int64{80, 10}},
		{Name: "layers.0.w", Frozen: 160, Shape: []int64{16, 10}, Block: 1},
		{Name: "layers.0.lora", Elements: 24, Shape: []int64{3, 8}, Block: 1},
		{Name: "layers.1.w", Frozen: 160, Shape: []int64{16, 10}, Block: 2},
		{Name: "lm_head.weight", Frozen: 800, Shape: []int64{80, 10}},
	}
	run := trainer.Run{DP: 8, GradDtype: "float", ParamDtype: "bfloat16"}
	for _, name := range []string{"ddp", "megatron", "xla"} {
		p := byName(t, name).Plan(params, 1<<20, run)
		require.Len(t, p.Buckets, 1, name)
		require.Equal(t, int64(24), p.Buckets[0].Elements, name)
	}
	run.Zero = 3
	p := byName(t, "fsdp2").Plan(params, 0, run)
	require.Equal(t, []trainer.Bucket{{Elements: 64, Padding: 40, Params: 2, First: 1, Last: 2}}, p.Buckets)
	var gathered []int64
	for _, m := range p.Forward {
		gathered = append(gathered, m.Bytes/2)
	}
	require.Equal(t, []int64{800, 160 + 64, 160, 800}, gathered)
	require.Equal(t, []float64{0, 0, 24, 80, 400}, trainer.BackwardWork(params))
	require.Equal(t, []float64{0, 160, 24, 160, 800}, trainer.Work(params))
}

// Hugging Face's Trainer looks for unused parameters where nobody says otherwise.
func TestWhoLooksForUnusedParameters(t *testing.T) {
	for text, want := range map[string]bool{
		"bucket_cap_mb=25": false,
		"bucket_cap_mb=25, find_unused_parameters=True":                                         true,
		"bucket_cap_mb=25, find_unused_parameters=True, static_graph=True":                      false,
		"ddp_bucket_cap_mb: 25":                                                                 true,
		"ddp_bucket_cap_mb: 25\ngradient_checkpointing: true":                                   false,
		"ddp_bucket_cap_mb: 25\nddp_find_unused_parameters: false":                              false,
		"ddp_bucket_cap_mb: 25\nddp_find_unused_parameters: true\ngradient_checkpointing: true": true,
	} {
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		var run trainer.Run
		c.Apply(&run)
		require.Equal(t, want, run.FindUnused, text)
	}
	for _, unused := range []bool{false, true} {
		run := trainer.Run{DP: 8, GradDtype: "float", FindUnused: unused}
		for _, s := range byName(t, "ddp").Snippets(trainer.Spelling{Setting: 1 << 20, Run: run}) {
			c, err := trainer.ReadConfig(s.Text, "")
			require.NoError(t, err)
			back := trainer.Run{}
			c.Apply(&back)
			require.Equal(t, unused, back.FindUnused, s.Text)
		}
	}
}

// The lines of XLA run in a shell that refuses variables which are not set.
func TestXLALinesUnderSetU(t *testing.T) {
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	s := trainer.Spelling{Setting: 1 << 20, Run: trainer.Run{DP: 8, GradDtype: "float", ParamDtype: "bfloat16"}}
	text := byName(t, "xla").Snippets(s)[0].Text
	for before, want := range map[string]string{"unset XLA_FLAGS\n": " ", "XLA_FLAGS=--mine=1\n": "--mine=1 "} {
		out, err := exec.Command(sh, "-euc", before+text+"printf %s \"$XLA_FLAGS\"").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Regexp(t, "^"+want+"--xla_gpu_enable_latency_hiding_scheduler=true +--xla_gpu_all_reduce_combine_threshold_bytes=4194304$", string(out))
	}
}
