package trainer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/job/trainer"
)

// named makes a model as Hugging Face names it, with or without tensors before and
// after its blocks.
func namedBlocks(n int, before, after bool) []trainer.Param {
	var params []trainer.Param
	if before {
		params = append(params, trainer.Param{Name: "model.embed_tokens.weight", Elements: 3 << 20})
	}
	for i := range n {
		params = append(params,
			trainer.Param{Name: fmt.Sprintf("model.layers.%d.mlp.up_proj.weight", i), Elements: 1 << 22, Block: i + 1},
			trainer.Param{Name: fmt.Sprintf("model.layers.%d.norm.weight", i), Elements: 2048, Block: i + 1})
	}
	if after {
		params = append(params, trainer.Param{Name: "model.norm.weight", Elements: 2048}, trainer.Param{Name: "lm_head.weight", Elements: 3 << 20})
	}
	return params
}

// What the printed lines do, read and simulated, is what was promised: the same
// units, gathered and scattered at the same places.
func TestFSDP2SnippetIsWhatWasSimulated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, err := trainer.ByName("fsdp2")
		require.NoError(t, err)
		params := namedBlocks(rapid.IntRange(1, 40).Draw(t, "blocks"), rapid.Bool().Draw(t, "before"), rapid.Bool().Draw(t, "after"))
		run := trainer.Run{
			DP: rapid.IntRange(2, 512).Draw(t, "dp"), Zero: 3, GradDtype: "float", ParamDtype: "bfloat16",
			KeepParams: rapid.Bool().Draw(t, "keep"), RootUnit: rapid.Bool().Draw(t, "root"),
		}
		setting := rapid.SampledFrom(tr.Settings(params, run)).Draw(t, "setting")
		for _, s := range tr.Snippets(trainer.Spelling{Setting: setting, Params: params, Run: run}) {
			c, err := trainer.ReadConfig(s.Text, "")
			require.NoError(t, err, s.Text)
			back := trainer.Run{DP: run.DP, Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"}
			c.Apply(&back)
			got, set := c.Setting(params, back)
			require.True(t, set)
			require.Equal(t, tr.Plan(params, setting, run), tr.Plan(params, got, back), s.Text)
		}
	})
}

// One fully_shard(model) after the blocks makes one unit of the embedding, the
// last norm and the output layer: gathered when forward begins, kept, and reduced
// when backward is over.
func TestOneRootUnit(t *testing.T) {
	c, err := trainer.ReadConfig("BLOCKS_PER_UNIT = 2\nblocks = list(model.layers)\n"+
		"for i in range(0, len(blocks), BLOCKS_PER_UNIT):\n    fully_shard(blocks[i : i + BLOCKS_PER_UNIT], mesh=mesh)\nfully_shard(model, mesh=mesh)\n", "")
	require.NoError(t, err)
	run := trainer.Run{DP: 8, Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"}
	c.Apply(&run)
	require.True(t, run.RootUnit)
	tr, err := trainer.ByName("fsdp2")
	require.NoError(t, err)
	params := namedBlocks(4, true, true)
	setting, _ := c.Setting(params, run)
	p := tr.Plan(params, setting, run)
	outside := int64(3<<20 + 2048 + 3<<20)
	require.Len(t, p.Buckets, 3)
	require.Equal(t, trainer.Bucket{Elements: outside, Params: 3, First: 0, Last: len(params) - 1}, p.Buckets[2])
	require.Equal(t, trainer.Message{Collective: "all_gather", Bytes: 2 * outside, Ranks: 8, Launch: 0, Wait: 0}, p.Forward[0])
	last := p.Backward[len(p.Backward)-1]
	require.Equal(t, trainer.Message{Collective: "reduce_scatter", Bytes: 4 * outside, Ranks: 8, Launch: 0, Wait: trainer.Never, Stream: 1}, last)
	gathers := 0
	for _, m := range p.Backward {
		if m.Collective == "all_gather" {
			gathers++
			require.NotEqual(t, 2*outside, m.Bytes, "the root is not freed")
		}
	}
	require.Equal(t, 2, gathers, "both units of blocks: the root stands before the last of them, which is freed too")
}
