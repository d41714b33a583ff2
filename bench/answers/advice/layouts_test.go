package advice

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

//go:embed testdata/megatron-layouts.json
var layouts []byte

// layoutCase is what Megatron's own code laid out.
type layoutCase struct {
	Model                     string
	Tensors                   [][]int64
	Experts                   []int
	Optimizer                 string
	TP, PP, DP, EP, Instances int
	FP8, Sharded, Pad, Legacy bool
	Summed                    bool
	BucketSize                int64 `json:"bucket_size"`
	NumBuckets                int64 `json:"num_buckets"`
	Sizes                     [][2]int64
	Reduced, Gathered, Calls  string
}

// arguments are Megatron's for the case.
func (c layoutCase) arguments() string {
	text := fmt.Sprintf("--overlap-grad-reduce --bf16 --optimizer %s --tensor-model-parallel-size %d --pipeline-model-parallel-size %d --expert-model-parallel-size %d --num-distributed-optimizer-instances %d",
		c.Optimizer, c.TP, c.PP, c.EP, c.Instances)
	for _, x := range []struct {
		when bool
		flag string
	}{
		{c.Sharded, "--use-distributed-optimizer"},
		{c.Pad, "--ddp-pad-buckets-for-high-nccl-busbw"},
		{c.Legacy, "--no-use-layer-wise-param-layout"},
		{c.FP8, "--fp8-param-gather"},
		{c.Summed, "--ddp-reduce-scatter-with-fp32-accumulation"},
		{c.BucketSize > 0, fmt.Sprintf("--ddp-bucket-size %d", c.BucketSize)},
		{c.NumBuckets > 0, fmt.Sprintf("--ddp-num-buckets %d", c.NumBuckets)},
	} {
		if x.when {
			text += " " + x.flag
		}
	}
	return text
}

// Megatron's own layout code, run by scripts/trainer-layouts.py, has the same buckets in
// the same order for one rank's tensors: fused, cut, padded, with 8-bit parameters, with
// whole matrices, with experts, and with an embedding that another stage shares. Its bucket
// groups make the same calls of them.
func TestMegatronsOwnLayouts(t *testing.T) {
	var all struct{ Cases []layoutCase }
	require.NoError(t, json.Unmarshal(layouts, &all))
	require.NotEmpty(t, all.Cases)
	megatron, err := trainer.ByName("megatron")
	require.NoError(t, err)
	for _, c := range all.Cases {
		params := c.madeUp()
		if c.Model != "" {
			params = firstStage(t, c, megatron).Params
		}
		set, err := trainer.ReadConfig(c.arguments(), "")
		require.NoError(t, err)
		run := trainer.Run{DP: c.DP}
		set.Apply(&run)
		require.NoError(t, megatron.Check(run))
		size, _ := set.Setting(params, run)
		p := megatron.Plan(params, size, run)
		var reduced, gathered, sorted []int64
		for _, b := range p.Buckets {
			reduced = append(reduced, b.Elements)
			gathered = append(gathered, 2*(b.Elements-b.Quantized)+b.Quantized)
		}
		sorted = slices.Sorted(slices.Values(reduced))
		require.Equal(t, c.Sizes, runsOf(sorted), "%+v", c)
		require.Equal(t, c.Reduced, digest(reduced), "%+v", c)
		require.Equal(t, c.Gathered, digest(gathered), "%+v", c)
		var calls []any
		for _, m := range p.Backward {
			calls = append(calls, m.Collective, m.Bytes/4, m.Ranks)
		}
		require.Equal(t, c.Calls, digest(calls), "%+v\n%v", c, calls)
	}
}

// madeUp are the tensors of a case that names no model.
func (c layoutCase) madeUp() []trainer.Param {
	params := make([]trainer.Param, len(c.Tensors))
	for i, shape := range c.Tensors {
		p := trainer.Param{Name: fmt.Sprintf("w%d", i), Elements: 1, Shape: shape, Block: i, Expert: slices.Contains(c.Experts, i)}
		for _, side := range shape {
			p.Elements *= side
		}
		params[i] = p
	}
	if len(params) > 0 {
		params[0].Name, params[0].Alone = "word_embeddings.weight", c.PP > 1
	}
	return params
}

// firstStage is the list that a question makes, of a model that may have a tied embedding.
func firstStage(t *testing.T, c layoutCase, megatron trainer.Trainer) *trainer.Model {
	t.Helper()
	name := c.Model
	if name == "tied" {
		name = "llama3-8b"
	}
	m, err := trainer.Preset(name)
	require.NoError(t, err)
	if c.Model == "tied" {
		last := &m.Params[len(m.Params)-1]
		work := float64(last.Elements)
		*last = trainer.Param{Name: "lm_head (shares the embedding)", Work: &work}
	}
	q := &Question{want: spec.Advice{TP: c.TP, PP: c.PP}}
	require.NoError(t, m.Stage(c.PP, 0))
	require.NoError(t, q.divide(m, megatron))
	m.Params = megatron.Tensors(m.Params)
	return m
}

func runsOf(sorted []int64) [][2]int64 {
	var runs [][2]int64
	for _, n := range sorted {
		if k := len(runs); k > 0 && runs[k-1][0] == n {
			runs[k-1][1]++
			continue
		}
		runs = append(runs, [2]int64{n, 1})
	}
	return runs
}

func digest[T any](sizes []T) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", ",")))
	return hex.EncodeToString(sum[:])[:16]
}
