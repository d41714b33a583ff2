package trainer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// NVIDIA/Megatron-LM tests/unit_tests/distributed/test_param_and_grad_buffer.py,
// test_bucket_sizes (at 00caa53a, read 2026-11-21): ten layers of 95×95 weights,
// with biases of 95 or without, at the bucket sizes below. With the distributed
// optimizer tensors start at multiples of 64 and buckets are padded to
// lcm(dp, 128), which is 128 for its eight ranks. The numbers are what that test's
// rule comes to, by hand: 9025 pads to 71·128, 9088+9025 to 142·128, and so on.
func TestMegatronsOwnBucketSizes(t *testing.T) {
	const weight, bias = 95 * 95, 95
	for _, x := range []struct {
		setting int64
		bias    bool
		plain   []int64
		padded  []int64
	}{
		{9000, false, repeat(10, 9025), repeat(10, 9088)},
		{9025, false, repeat(10, 9025), repeat(10, 9088)},
		{9050, false, repeat(5, 18_050), repeat(5, 18_176)},
		{18_000, false, repeat(5, 18_050), repeat(5, 18_176)},
		{18_050, false, repeat(5, 18_050), repeat(5, 18_176)},
		{20_000, false, append(repeat(3, 27_075), 9025), append(repeat(3, 27_264), 9088)},
		{9000, true, repeat(10, 9120), repeat(10, 9216)},
		{9050, true, repeat(10, 9120), repeat(10, 9216)},
		{18_000, true, repeat(5, 18_240), repeat(5, 18_432)},
		{18_050, true, repeat(5, 18_240), repeat(5, 18_432)},
		{20_000, true, append(repeat(3, 27_360), 9120), append(repeat(3, 27_648), 9216)},
	} {
		layer := []int64{weight}
		if x.bias {
			layer = []int64{bias, weight} // in the order of backward
		}
		params := tensors(repeat(10, layer...)...)
		name := fmt.Sprintf("%d, bias %t", x.setting, x.bias)
		require.Equal(t, x.plain, elementsOf(plan(t, "megatron", params, x.setting, Run{DP: 8}).Buckets), name)
		require.Equal(t, x.padded, elementsOf(plan(t, "megatron", params, x.setting, Run{DP: 8, Zero: 1}).Buckets), name)
	}
}

// Instances of one rank have nothing to scatter or gather; ranks that do not divide
// into instances are refused.
func TestInstancesOfOneRank(t *testing.T) {
	params := tensors(100, 200)
	params[1].Expert = true
	run := Run{DP: 16, EP: 4, Instances: 4, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"}
	megatron, err := ByName("megatron")
	require.NoError(t, err)
	require.NoError(t, megatron.Check(run))
	p := megatron.Plan(params, 0, run)
	require.Len(t, p.Forward, 1, "the experts' ranks are one an instance")
	require.Equal(t, 4, p.Forward[0].Ranks)
	for _, m := range append(p.Backward, p.Forward...) {
		require.Greater(t, m.Ranks, 1, "%+v", m)
	}
	run.EP = 8
	require.ErrorContains(t, megatron.Check(run), "the 2 ranks that hold the same experts do not divide into 4 optimizer instances")
}

// test_force_all_reduce_uses_correct_collective in the same file: the distributed
// optimizer calls reduce_scatter unless it is told otherwise; the plain buffer calls
// all_reduce (megatron/core/distributed/param_and_grad_buffer.py).
func TestMegatronsOwnCollectives(t *testing.T) {
	params := tensors(repeat(2, 100, 100*100)...)
	for zero, want := range map[int]string{0: "all_reduce", 1: "reduce_scatter"} {
		got := plan(t, "megatron", params, 0, Run{DP: 8, Zero: zero, NoOverlap: true}).Backward
		require.Len(t, got, 1)
		require.Equal(t, want, got[0].Collective)
	}
}

// With --ddp-reduce-scatter-with-fp32-accumulation the call is an all_to_all, one bucket
// each, and the call before is waited for first (reduce_scatter_with_fp32_accumulation.py
// and param_and_grad_buffer.py at d98e8a64).
func TestSumsInFP32AreExchanged(t *testing.T) {
	params := tensors(repeat(3, 1000, 100*100)...)
	got := plan(t, "megatron", params, 11_000, Run{DP: 8, Zero: 1, FP32Accumulation: true}).Backward
	require.Len(t, got, 3)
	for i, m := range got {
		require.Equal(t, "all_to_all", m.Collective)
		if i+1 < len(got) {
			require.Equal(t, got[i+1].Launch, m.Wait)
		}
	}
	require.Equal(t, Never, got[2].Wait)
	for i := range params {
		params[i].Name, params[i].Block = fmt.Sprintf("layers.%d.w%d", i/2, i), 1+i/2
		params[i].Shape = []int64{params[i].Elements}
		if params[i].Elements == 10_000 {
			params[i].Shape = []int64{100, 100}
		}
	}
	run := Run{DP: 8, Zero: 1, FP8Gather: true}
	require.Len(t, plan(t, "megatron", params, 10_000, run).Backward, 3)
	run.FP32Accumulation = true
	require.Len(t, plan(t, "megatron", params, 10_000, run).Backward, 4)
	x, err := ByName("megatron")
	require.NoError(t, err)
	run.Instances, run.GradDtype, run.ParamDtype = 2, "float", "bfloat16"
	require.ErrorContains(t, x.Check(run), "refuses more than one")
}
