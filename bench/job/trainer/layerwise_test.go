package trainer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// columns are matrices of one column, whose Newton–Schulz work is their elements, in
// the order of backward.
func columnsOf(backward ...int64) []Param {
	params := make([]Param, len(backward))
	for i, n := range backward {
		params[len(backward)-1-i] = Param{Name: fmt.Sprintf("w%d", len(backward)-1-i), Elements: n, Shape: []int64{n, 1}}
	}
	return params
}

func muon(dp int) Run { return Run{DP: dp, Zero: 1, LayerWise: true} }

// NVIDIA/Megatron-LM tests/unit_tests/distributed/test_layer_wise_param_layout.py
// (at d98e8a64, read 2026-11-22), TestSizeMatchingLayout: shards, sizes and bucket
// sizes, and the buffers that its assertions give.
func TestMegatronsOwnLayerWiseLayouts(t *testing.T) {
	for name, x := range map[string]struct {
		dp       int
		backward []int64
		setting  int64
		want     []int64
	}{
		"a matrix that fills a row is absorbed": {4, repeat(6, 256), 5 * 256, []int64{2048}},
		"even shards have no padding":           {4, repeat(8, 256), 5 * 256, []int64{8 * 256}},
		"four rounds":                           {2, repeat(8, 256), 512, []int64{512, 512, 512, 512}},
		"absorbing may cost more":               {2, []int64{192, 192, 256, 128, 128, 192}, 448, []int64{1024, 384}},
		"the large one takes the small ones in": {4, []int64{1024, 128, 128, 128}, 1 << 40, []int64{4096}},
	} {
		require.Equal(t, x.want, elementsOf(plan(t, "megatron", columnsOf(x.backward...), x.setting, muon(x.dp)).Buckets), name)
	}
}

// layout is the rule as it is described, straight: every share is looked at for
// every matrix. It returns the sizes of the buckets and how many tensors each has.
func layout(sides [][2]int64, setting int64, dp int, divisor int64) (sizes []int64, counts []int) {
	up := func(n, step int64) int64 { return (n + step - 1) / step * step }
	work, rows := make([]float64, dp), make([]int64, dp)
	var chunk [][2]int64
	emit := func() {
		total := int64(0)
		for _, s := range chunk {
			total += s[0] * s[1]
		}
		room := float64(total) / float64(dp) * 1.3
		cost := func(s [2]int64) float64 {
			return float64(max(s[0], s[1])) * float64(min(s[0], s[1])) * float64(min(s[0], s[1]))
		}
		slices.SortStableFunc(chunk, func(a, b [2]int64) int { return int(cost(b) - cost(a)) })
		at := make([]int64, dp)
		for _, s := range chunk {
			best := -1
			for r := range dp {
				if float64(up(at[r], 64)+s[0]*s[1]) <= room && (best < 0 || work[r] < work[best]) {
					best = r
				}
			}
			if best < 0 {
				best = slices.Index(at, slices.Min(at))
			}
			at[best] = up(at[best], 64) + s[0]*s[1]
			work[best] += cost(s)
		}
		sizes, counts = append(sizes, int64(dp)*up(slices.Max(at), divisor)), append(counts, len(chunk))
		chunk, rows = nil, make([]int64, dp)
	}
	for _, s := range sides {
		n, held, largest := s[0]*s[1], int64(0), int64(0)
		for _, c := range chunk {
			held, largest = held+c[0]*c[1], max(largest, c[0]*c[1])
		}
		fits := up(slices.Min(rows), 64)+n <= up(slices.Max(rows), divisor)
		if len(chunk) > 0 && held >= max(setting, int64(0.9*float64(int64(dp)*largest))) && !fits {
			emit()
		}
		r := slices.Index(rows, slices.Min(rows))
		rows[r] = up(rows[r], 64) + n
		chunk = append(chunk, s)
	}
	emit()
	return sizes, counts
}

func TestLayerWiseRuleAgainstTheStraightOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dp := rapid.IntRange(1, 70).Draw(t, "dp")
		side := rapid.SampledFrom([]int64{1, 7, 64, 100, 256})
		var sides [][2]int64
		for range rapid.IntRange(1, 120).Draw(t, "matrices") {
			sides = append(sides, [2]int64{side.Draw(t, "rows"), side.Draw(t, "columns")})
		}
		setting := rapid.Int64Range(1, 1<<21).Draw(t, "setting")
		pad := rapid.Bool().Draw(t, "pad")
		params := make([]Param, len(sides))
		for i, s := range sides {
			j := len(sides) - 1 - i
			params[j] = Param{Name: fmt.Sprintf("m%d", j), Elements: s[0] * s[1], Shape: s[:]}
		}
		run := muon(dp)
		run.PadBuckets = pad
		sizes, counts := layout(sides, setting, dp, lcm(64, Divisor(dp, pad)/int64(dp)))
		got := wholeBuckets(prepare(params, run), setting, run)
		require.Equal(t, sizes, elementsOf(got))
		for i, b := range got {
			require.Equal(t, counts[i], b.Params)
			require.True(t, b.Whole)
			require.GreaterOrEqual(t, b.Padding, int64(0))
		}
	})
}

// zaya is ZAYA1's form: an embedding, and in each of 40 blocks a norm and 16 experts
// of two matrices, the largest of 4096 x 2048.
func zaya() []Param {
	params := []Param{{Name: "model.embed_tokens.weight", Elements: 262272 * 2048, Shape: []int64{262272, 2048}}}
	for b := range 40 {
		at := fmt.Sprintf("model.layers.%d.", b)
		params = append(params, Param{Name: at + "norm.weight", Elements: 2048, Shape: []int64{2048}, Block: b + 1})
		for e := range 16 {
			x := fmt.Sprintf("%sexperts.local_experts.%d.", at, e)
			params = append(params, Param{Name: x + "linear_fc1.weight", Elements: 4096 * 2048, Shape: []int64{4096, 2048}, Block: b + 1, Expert: true},
				Param{Name: x + "linear_fc2.weight", Elements: 2048 * 2048, Shape: []int64{2048, 2048}, Block: b + 1, Expert: true})
		}
	}
	return params
}

// At 1,024 ranks the matrices are one bucket of 1,024 times the largest, 8.59 G
// elements for 8.05 G of matrices, whatever is set from 40 M to 2 G. The embedding and
// the norms have buckets of their own. At 8 ranks the setting counts.
func TestMuonAtScaleIgnoresTheSetting(t *testing.T) {
	params := zaya()
	whole := func(setting int64, run Run) (sizes []int64) {
		for _, b := range plan(t, "megatron", params, setting, run).Buckets {
			if b.Whole {
				sizes = append(sizes, b.Elements)
			}
		}
		return sizes
	}
	for _, setting := range []int64{0, 40e6, 580e6, 1024e6, 2e9} {
		require.Equal(t, []int64{1024 * 4096 * 2048}, whole(setting, muon(1024)), "%d", setting)
	}
	small := plan(t, "megatron", params, 40e6, muon(1024))
	require.Len(t, small.Buckets, 2)
	require.Equal(t, int64(262272*2048+40*2048), small.Buckets[1].Elements-small.Buckets[1].Padding)
	require.Len(t, small.Backward, 2)
	for _, m := range small.Backward {
		require.Equal(t, "reduce_scatter", m.Collective)
	}
	require.Len(t, small.Forward, 2, "both buffers are gathered")
	require.Greater(t, len(whole(40e6, muon(8))), 3*len(whole(2e9, muon(8))))
	// Adam under the same settings divides tensors between ranks.
	adam := muon(1024)
	adam.LayerWise = false
	require.Greater(t, len(plan(t, "megatron", params, 40e6, adam).Buckets), 100)
}

// With expert parallelism the experts' group is smaller, and with it their bucket.
func TestLayerWiseExpertGroups(t *testing.T) {
	run := muon(1024)
	run.EP = 16
	var experts []Bucket
	for _, b := range plan(t, "megatron", zaya(), 40e6, run).Buckets {
		if b.Whole && b.Expert {
			experts = append(experts, b)
		}
	}
	require.Greater(t, len(experts), 8)
	require.Less(t, experts[0].Elements, int64(1e9))
}

// Without the layout Megatron reduces by all_reduce in buckets that the setting
// cuts, and gathers what changed.
func TestLegacyLayout(t *testing.T) {
	run := muon(1024)
	run.LegacyLayout = true
	p := plan(t, "megatron", zaya(), 580e6, run)
	plain := plan(t, "megatron", zaya(), 580e6, Run{DP: 1024})
	require.Equal(t, plain.Buckets, p.Buckets)
	require.Equal(t, plain.Backward, p.Backward)
	require.Len(t, p.Forward, len(p.Buckets))
	require.Equal(t, "all_gather", p.Forward[0].Collective)
}

// The projections that Megatron fuses are one matrix, whatever the checkpoint has.
func TestFusedProjections(t *testing.T) {
	params := []Param{
		{Name: "model.layers.0.self_attn.q_proj.weight", Elements: 4096, Shape: []int64{64, 64}},
		{Name: "model.layers.0.self_attn.k_proj.weight", Elements: 1024, Shape: []int64{16, 64}},
		{Name: "model.layers.0.self_attn.v_proj.weight", Elements: 1024, Shape: []int64{16, 64}},
		{Name: "model.layers.0.self_attn.o_proj.weight", Elements: 4096, Shape: []int64{64, 64}},
		{Name: "model.layers.0.mlp.experts.0.gate_proj.weight", Elements: 8192, Shape: []int64{128, 64}},
		{Name: "model.layers.0.mlp.experts.0.up_proj.weight", Elements: 8192, Shape: []int64{128, 64}},
		{Name: "model.layers.0.mlp.experts.1.gate_proj.weight", Elements: 8192, Shape: []int64{128, 64}},
	}
	x, err := ByName("megatron")
	require.NoError(t, err)
	params = x.Tensors(params)
	all := packing{params: params, order: indexes(params, false, true)}.pieces()
	var sizes []int64
	for _, x := range all {
		sizes = append(sizes, x.elements)
	}
	require.Equal(t, []int64{8192, 16384, 6144, 4096}, sizes)
	require.Equal(t, piece{at: 1, elements: 6144, shaped: true, cost: 96 * 64 * 64}, all[2])
	require.Equal(t, "model.layers.0.self_attn.linear_qkv.weight", params[1].Name)
	require.Equal(t, []int64{96, 64}, params[1].Shape)
}

func TestLayerWiseRefuses(t *testing.T) {
	x, err := ByName("megatron")
	require.NoError(t, err)
	run := Run{DP: 8, Zero: 1, Instances: 2, LayerWise: true, GradDtype: "float", ParamDtype: "bfloat16"}
	require.ErrorContains(t, x.Check(run), "Megatron refuses more than one")
	x, err = ByName("deepspeed")
	require.NoError(t, err)
	run.Instances = 0
	require.ErrorContains(t, x.Check(run), "Megatron alone")
}

// Without expert parallelism experts are reduced by all ranks, in the buckets of the
// rest (group_params_for_buffers in Megatron-Core: they have a buffer of their own
// when expert parallelism is above 1).
func TestExpertsShareBucketsWithoutGroups(t *testing.T) {
	params := []Param{{Name: "a", Elements: 10}, {Name: "b", Elements: 20, Expert: true}, {Name: "c", Elements: 30}}
	for _, name := range []string{"megatron", "ddp"} {
		got := plan(t, name, params, 1000, Run{DP: 8}).Buckets
		require.Equal(t, []int64{60}, elementsOf(got), name)
		require.Len(t, plan(t, name, params, 1000, Run{DP: 8, EP: 2}).Buckets, 2, name)
	}
}
