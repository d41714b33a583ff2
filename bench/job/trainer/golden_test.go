package trainer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// tensors are parameters in the order in which their gradients come: backward
// goes through a model from its end.
func tensors(ready ...int64) []Param {
	params := make([]Param, len(ready))
	for i, n := range ready {
		params[len(ready)-1-i] = Param{Elements: n}
	}
	return params
}

func elementsOf(buckets []Bucket) []int64 {
	n := make([]int64, len(buckets))
	for i, b := range buckets {
		n[i] = b.Elements
	}
	return n
}

func plan(t *testing.T, name string, params []Param, setting int64, run Run) Plan {
	t.Helper()
	x, err := ByName(name)
	require.NoError(t, err)
	if run.GradDtype == "" {
		run.GradDtype = "float"
	}
	if run.ParamDtype == "" {
		run.ParamDtype = "bfloat16"
	}
	require.NoError(t, x.Check(run))
	return x.Plan(params, setting, run)
}

func repeat(n int, values ...int64) []int64 {
	var all []int64
	for range n {
		all = append(all, values...)
	}
	return all
}

// pytorch/pytorch test/distributed/test_c10d_common.py, ComputeBucketAssignmentTest
// (at 00eb953b, read 2026-11-21): of tensors of 100, 200, 100, 50 floats and a cap
// of 400 bytes each is a bucket; caps of 40 and then 80 bytes take one tensor of
// ten floats, two, and the one that is left.
// Three Linear(512, 512) with bias and bucket_cap_mb=1: a published run (torch
// 2.2.2, gloo, two processes, twelve steps; read 2026-11-21 in the text of a
// public course) prints DDP's own logging data after it: bucket_sizes 3151872 in
// the first step, then rebuilt_bucket_sizes 1050624, 1050624, 1050624 of the
// parameters 5 4, 3 2, 1 0.
func TestDDPClosesAtTheCap(t *testing.T) {
	run := Run{DP: 8}
	require.Equal(t, []int64{100, 200, 100, 50}, elementsOf(plan(t, "ddp", tensors(100, 200, 100, 50), 100, run).Buckets))

	p := newPacking(tensors(10, 10, 10, 10), []int{3, 2, 1, 0})
	require.Equal(t, []int64{10, 20, 10}, elementsOf(p.atLeast(10, 20)))

	linear := tensors(repeat(3, 512, 512*512)...)
	buckets := plan(t, "ddp", linear, 1<<20/4, run).Backward
	require.Len(t, buckets, 3)
	for _, m := range buckets {
		require.Equal(t, Message{Collective: "all_reduce", Bytes: 1_050_624, Ranks: 8, Launch: m.Launch, Wait: Never}, m)
	}
	require.Equal(t, []int{4, 2, 0}, []int{buckets[0].Launch, buckets[1].Launch, buckets[2].Launch})
	require.Equal(t, int64(3_151_872), 4*plan(t, "ddp", linear, 1<<40, run).Buckets[0].Elements)
}

// pytorch#48880: with a cap of 25 MiB a bucket had 28,852,224 bytes: a bucket is
// smaller than cap and largest tensor together. Where nothing is set the first
// bucket is full at 1 MiB (torch/nn/parallel/distributed.py).
func TestDDPFirstBucketAndOvershoot(t *testing.T) {
	params := tensors(repeat(60, 1000, 2048*1024)...)
	unset := plan(t, "ddp", params, 0, Run{DP: 8}).Buckets
	set := plan(t, "ddp", params, 25<<20/4, Run{DP: 8}).Buckets
	require.Equal(t, int64(1000+2048*1024), unset[0].Elements)
	for i, b := range set[:len(set)-1] {
		require.GreaterOrEqual(t, b.Elements, int64(25<<20/4))
		require.Less(t, b.Elements, int64(25<<20/4+2048*1024))
		require.Equal(t, b.Elements, unset[i+1].Elements)
	}
}

// Megatron-LM megatron/core/optimizer/param_layout.py: the end of a bucket of
// the distributed optimizer is a multiple of lcm(dp, 128), or of lcm(dp, 128,
// 2¹⁶) when padded for bandwidth; a tensor starts at a multiple of 64.
func TestMegatronDivisors(t *testing.T) {
	for _, x := range []struct {
		dp          int
		plain, high int64
	}{
		{8, 128, 65_536},
		{768, 768, 196_608},
		{1000, 16_000, 8_192_000},
		{1016, 16_256, 8_323_072},
		{1024, 1024, 65_536},
	} {
		require.Equal(t, x.plain, Divisor(x.dp, false), "%d", x.dp)
		require.Equal(t, x.high, Divisor(x.dp, true), "%d", x.dp)
	}
}

func TestMegatronPadding(t *testing.T) {
	params := tensors(100, 1000, 30, 5_000, 7)
	for _, x := range []struct {
		run     Run
		setting int64
		want    []int64
		padding []int64
	}{
		// Without the distributed optimizer nothing is padded: 1100, 5030, 7.
		{Run{DP: 1000}, 1100, []int64{1100, 5030, 7}, []int64{0, 0, 0}},
		// 100 → starts at 128, 1128 ≥ 1100 closes at 16000; 30, then 64 … 5064.
		{Run{DP: 1000, Zero: 1}, 1100, []int64{16_000, 16_000, 16_000}, []int64{14_900, 10_970, 15_993}},
		{Run{DP: 1016, Zero: 1}, 1100, []int64{16_256, 16_256, 16_256}, []int64{15_156, 11_226, 16_249}},
		{Run{DP: 1024, Zero: 1}, 1100, []int64{2048, 5120, 1024}, []int64{948, 90, 1017}},
		{Run{DP: 1024, Zero: 1, PadBuckets: true}, 1100, []int64{65_536, 65_536, 65_536}, []int64{64_436, 60_506, 65_529}},
		// The start of the second tensor counts: 128 + 1000 reaches 1128, not 1129.
		{Run{DP: 1024, Zero: 1}, 1128, []int64{2048, 5120, 1024}, []int64{948, 90, 1017}},
		{Run{DP: 1024, Zero: 1}, 1129, []int64{2048, 5120, 1024}, []int64{918, 120, 1017}},
	} {
		got := plan(t, "megatron", params, x.setting, x.run).Buckets
		require.Equal(t, x.want, elementsOf(got), "%+v", x.run)
		for i, b := range got {
			require.Equal(t, x.padding[i], b.Padding, "%+v", x.run)
		}
	}
}

// training/training.py resolve_ddp_bucket_size: at least 40 M elements, 1 M a rank.
func TestMegatronDefaultAndCalls(t *testing.T) {
	require.Equal(t, int64(40_000_000), megatronDefault(nil, Run{DP: 40}))
	require.Equal(t, int64(1_024_000_000), megatronDefault(nil, Run{DP: 1024}))
	params := tensors(repeat(6, 128)...)

	got := plan(t, "megatron", params, 256, Run{DP: 16, Zero: 1})
	require.Equal(t, []Message{
		{"reduce_scatter", 1024, 16, 4, Never, 0, false}, {"reduce_scatter", 1024, 16, 2, Never, 0, false}, {"reduce_scatter", 1024, 16, 0, Never, 0, false},
	}, got.Backward)
	// The first gather is waited for at once; each next is launched after the wait
	// for the one before (distributed_data_parallel.py, finish_param_sync).
	require.Equal(t, []Message{
		{"all_gather", 512, 16, 0, 0, 0, false}, {"all_gather", 512, 16, 0, 2, 0, false}, {"all_gather", 512, 16, 2, 4, 0, false},
	}, got.Forward)

	got = plan(t, "megatron", params, 256, Run{DP: 16, Zero: 1, Instances: 4})
	require.Equal(t, []Message{{"reduce_scatter", 1024, 4, 4, Never, 0, false}, {"all_reduce", 256, 4, 4, Never, 0, false}}, got.Backward[:2])
	require.Equal(t, Message{"all_gather", 512, 4, 0, 0, 0, false}, got.Forward[0])

	got = plan(t, "megatron", params, 256, Run{DP: 16, NoOverlap: true})
	require.Equal(t, []Message{{"all_reduce", 6 * 128 * 4, 16, 0, Never, 0, false}}, got.Backward)
	require.Empty(t, got.Forward)
}

// Experts are buffers of their own, reduced over dp/ep ranks.
func TestMegatronExperts(t *testing.T) {
	params := tensors(256, 256, 256, 256)
	params[0].Expert, params[2].Expert = true, true
	got := plan(t, "megatron", params, 512, Run{DP: 16, EP: 4, Zero: 1}).Backward
	require.Equal(t, []Message{{"reduce_scatter", 2048, 16, 1, Never, 0, false}, {"reduce_scatter", 2048, 4, 0, Never, 1, false}}, got)
	// With as many groups as ranks, no other rank reduces the experts.
	got = plan(t, "megatron", params, 512, Run{DP: 16, EP: 16, Zero: 1}).Backward
	require.Equal(t, []Message{{"reduce_scatter", 2048, 16, 1, Never, 0, false}}, got)
}

// DeepSpeed deepspeed/runtime/zero/stage_1_and_2.py,
// reduce_independent_p_g_buckets_and_remove_grads: a bucket is reduced when the
// next gradient would take it over reduce_bucket_size, that is when that
// gradient comes; a larger tensor goes by itself, in slices that end where a rank's part
// does: 521 elements over 8 ranks are parts of 66, and the 300 from 101 on are 31, four
// times 66 and 5, of which a call takes as many as exceed 100. allreduce_and_scatter calls
// all_reduce; all_gather_dp_groups makes one call at the end of the step.
func TestDeepSpeedCapsAndOversize(t *testing.T) {
	params := tensors(40, 40, 40, 300, 10, 90, 1)
	got := plan(t, "deepspeed", params, 100, Run{DP: 8, Zero: 1})
	require.Equal(t, []int64{80, 40, 163, 132, 5, 100, 1}, elementsOf(got.Buckets))
	require.Equal(t, []Message{
		{"all_reduce", 320, 8, 4, 3, 0, false},
		{"all_reduce", 160, 8, 3, 2, 0, false},
		{"all_reduce", 652, 8, 2, 0, 0, false},
		{"all_reduce", 528, 8, 2, 0, 0, false},
		{"all_reduce", 20, 8, 2, 0, 0, false},
		{"all_reduce", 400, 8, 0, 0, 0, false},
		{"all_reduce", 4, 8, 0, Never, 0, false},
	}, got.Backward)
	require.Equal(t, []Message{{"all_gather", 521 * 2, 8, 0, Never, 0, false}}, got.After)
	require.False(t, got.EachBackward)
	require.True(t, plan(t, "deepspeed", params, 100, Run{DP: 8, Zero: 2}).EachBackward)
	// Exactly full is not over.
	require.Equal(t, []int64{100, 1}, elementsOf(plan(t, "deepspeed", tensors(60, 40, 1), 100, Run{DP: 8, Zero: 1}).Buckets))

	off := plan(t, "deepspeed", params, 100, Run{DP: 8, Zero: 1, NoOverlap: true}).Backward
	for _, m := range off {
		require.Equal(t, m.Launch, m.Wait)
	}
	for _, m := range off {
		require.Zero(t, m.Launch, "stage 1 without overlap reduces after backward")
	}
	require.Equal(t, []int64{11, 300, 80, 40}, elementsOf(plan(t, "deepspeed", tensors(40, 40, 40, 300, 10, 1), 100, Run{DP: 1, Zero: 1, NoOverlap: true}).Buckets), "forward")
	three := plan(t, "deepspeed", params, 100, Run{DP: 8, Zero: 3})
	require.Equal(t, "reduce_scatter", three.Backward[len(three.Backward)-1].Collective)
	require.Equal(t, []Message{{"all_gather", 1042, 8, 0, 0, 0, false}}, three.Forward)
}

// stage_1_and_2.py, setup_buckets: one buffer in the parameters' type, two with overlap;
// stage3.py: one buffer in the type of communication.
func TestDeepSpeedsBuffers(t *testing.T) {
	x, err := ByName("deepspeed")
	require.NoError(t, err)
	for _, run := range []Run{{Zero: 2, NoOverlap: true}, {Zero: 1}, {Zero: 3}} {
		run.GradDtype, run.ParamDtype = "float", "bfloat16"
		want := map[int]int64{1: 4000, 2: 2000, 3: 4000}[run.Zero]
		require.Equal(t, want, x.Bytes(Plan{}, 1000, run), "stage %d", run.Zero)
	}
}

// openxla/xla xla/hlo/transforms/collectives/all_reduce_combiner_test.cc (at
// 7dcc0352, read 2026-11-21), RespectThreshold: 8 KiB and 4 KiB are one call under
// a threshold of 12 KiB and two under one byte less; CombineAllReduces: 1, 2, 10, 7
// and 6 KiB are one under 10 MiB.
func TestXLAsOwnThresholds(t *testing.T) {
	kib := func(sizes ...int64) []Param {
		for i := range sizes {
			sizes[i] *= 1024 // elements of a byte: a threshold of bytes is one of elements
		}
		return tensors(sizes...)
	}
	bytes := Run{DP: 8, GradDtype: "uint8"}
	require.Len(t, plan(t, "xla", kib(8, 4), 12*1024, bytes).Buckets, 1)
	require.Len(t, plan(t, "xla", kib(8, 4), 12*1024-1, bytes).Buckets, 2)
	require.Len(t, plan(t, "xla", kib(1, 2, 10, 7, 6), 10<<20, bytes).Buckets, 1)
}

// XLA xla/service/collective_combiner_utils.h: outputs are combined up to the
// threshold, what is larger stays alone and does not end a group; the output of
// a reduce-scatter is one rank's share.
func TestXLACountsOutputBytes(t *testing.T) {
	params := tensors(40, 300, 40, 40, 20)
	got := plan(t, "xla", params, 100, Run{DP: 8})
	require.Equal(t, []int64{300, 80, 60}, elementsOf(got.Buckets))
	require.Equal(t, []int{3, 2, 0}, []int{got.Buckets[0].First, got.Buckets[1].First, got.Buckets[2].First})
	require.Equal(t, int64((30<<20+7)/4), xlaThreshold(nil, Run{DP: 8, GradDtype: "float"}))
	require.Equal(t, int64((30<<20+7)*8/4), xlaThreshold(nil, Run{DP: 8, GradDtype: "float", Zero: 1}))
	require.Len(t, plan(t, "xla", tensors(repeat(600, 1)...), 1000, Run{DP: 8}).Buckets, 3, "at most 256 calls are combined")
	// Untouched, the same 30 MiB + 7 combine eight times as much scattered as gathered.
	unset := plan(t, "xla", tensors(repeat(40, 1<<20)...), 0, Run{DP: 8, Zero: 1})
	require.Len(t, unset.Backward, 1)
	require.Len(t, unset.Forward, 3, "15 tensors of 2 MiB each")
}

// torchtitan docs/fsdp.md and torchtitan/distributed/fsdp.py: one unit a block,
// one for what comes before, one for what comes after. Rows are padded to a multiple of the
// ranks, tensor by tensor: 100 elements are 104 for 8 ranks, 60 are 64.
func TestFSDP2Units(t *testing.T) {
	params := []Param{
		{Elements: 1000},
		{Elements: 100, Block: 1},
		{Elements: 60, Block: 1},
		{Elements: 160, Block: 2},
		{Elements: 160, Block: 3},
		{Elements: 1000},
	}
	got := plan(t, "fsdp2", params, 0, Run{DP: 8, Zero: 3})
	require.Equal(t, []int64{1000, 160, 160, 168, 1000}, elementsOf(got.Buckets))
	two := plan(t, "fsdp2", params, 320, Run{DP: 8, Zero: 3})
	require.Equal(t, []int64{1000, 160, 328, 1000}, elementsOf(two.Buckets))
	require.Equal(t, []Message{
		{"all_gather", 2000, 8, 0, 0, 0, false}, {"all_gather", 656, 8, 0, 1, 0, false}, {"all_gather", 320, 8, 0, 4, 0, false}, {"all_gather", 2000, 8, 1, 5, 0, false},
	}, two.Forward)
	// Backward begins with the last unit, which is still there, and gathers one ahead. It
	// waits for a reduce-scatter before the next one.
	require.Equal(t, []Message{
		{"all_gather", 320, 8, 6, 5, 0, false},
		{"reduce_scatter", 4000, 8, 5, 4, 1, false},
		{"all_gather", 656, 8, 5, 4, 0, false},
		{"reduce_scatter", 640, 8, 4, 1, 1, false},
		{"all_gather", 2000, 8, 4, 1, 0, false},
		{"reduce_scatter", 1312, 8, 1, 0, 1, false},
		{"reduce_scatter", 4000, 8, 0, Never, 1, false},
	}, two.Backward)
	require.Equal(t, []int64{160, 320, 480}, fsdp2Settings(params, Run{}))
	keep := plan(t, "fsdp2", params, 320, Run{DP: 8, Zero: 3, KeepParams: true})
	require.Len(t, keep.Backward, 4)
	require.False(t, keep.EachForward)
}
