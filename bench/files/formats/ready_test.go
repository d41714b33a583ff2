package formats

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/trace"
)

const (
	nodeOf   = `{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "tid": 639, "ts": %g, "dur": 9}`
	gradOf   = `{"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 639, "ts": %g, "dur": 1, "args": {"Input Dims": [[%d]], "Input type": ["c10::BFloat16"]}}`
	launchOf = `{"ph": "X", "cat": "cuda_runtime", "name": "hipExtModuleLaunchKernel", "tid": %d, "ts": %g, "dur": 2, "args": {"correlation": %d}}`
	ranOf    = `{"ph": "X", "cat": "kernel", "name": "gemm", "tid": 0, "ts": %g, "dur": %g, "args": {"stream": 0, "correlation": %d}}`
	markOf   = `{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "tid": 542, "ts": %g, "dur": 900}`
)

// A backward pass whose host runs 500 µs ahead of the device: a gradient is ready when the kernels
// have ended that autograd's thread launched before it. Two gradients of one kernel are ready at once.
func backwardAt(ts float64, id int, device bool) (events []string) {
	events = append(events, fmt.Sprintf(nodeOf, ts), fmt.Sprintf(gradOf, ts+20, 40000),
		fmt.Sprintf(nodeOf, ts+30), fmt.Sprintf(gradOf, ts+50, 10000), fmt.Sprintf(gradOf, ts+52, 100))
	if !device {
		return events
	}
	return append(events,
		fmt.Sprintf(launchOf, 542, ts-10, id), fmt.Sprintf(ranOf, ts+300, 200.0, id), // the forward's last
		fmt.Sprintf(launchOf, 639, ts+5, id+1), fmt.Sprintf(ranOf, ts+500, 300.0, id+1),
		fmt.Sprintf(launchOf, 639, ts+35, id+2), fmt.Sprintf(ranOf, ts+800, 100.0, id+2),
		fmt.Sprintf(launchOf, 639, ts+60, id+3), fmt.Sprintf(ranOf, ts+2000, 50.0, id+3), // behind the last gradient
	)
}

func made(t *testing.T, device bool) (list []float64) {
	t.Helper()
	var events []string
	for step := range 3 {
		ts := 1000 * float64(step+1)
		events = append(events, fmt.Sprintf(markOf, step, ts))
		// the optimizer of the step before evaluates nothing, its last node is no beginning
		events = append(events, fmt.Sprintf(nodeOf, ts-50))
		events = append(events, backwardAt(ts+100, 10*step, device)...)
		events = append(events, fmt.Sprintf(callOf, ts+151, step, "allreduce", 50100, 50100, step), fmt.Sprintf(callOf, ts+160, 10+step, "broadcast", 8, 8, step))
	}
	j := read(t, "rank0.json", kinetoOf(0, 2, events...)).Job()
	require.NotNil(t, j)
	require.Equal(t, []int64{100, 10000, 40000}, j.Elements)
	require.True(t, j.Tensors)
	require.Equal(t, 2, j.Ranks)
	require.Equal(t, "bfloat16", j.Dtype)
	require.Equal(t, 1, j.Accum)
	return j.Ready
}

func TestGradientsAreReadyWhenTheDeviceHasThem(t *testing.T) {
	require.InDeltaSlice(t, []float64{400e-6, 400e-6, 300e-6}, made(t, true), 1e-9)
}

// What a trainer makes of a gradient within the node that hands it over counts: DDP divides it, and then sends it. The rest
// of a step is what is neither backward nor the wait for its bucket.
func TestAGradientIsReadyWhenItIsDivided(t *testing.T) {
	var events []string
	for step := range 3 {
		ts := 1000 * float64(step+1)
		events = append(events, fmt.Sprintf(markOf, step, ts),
			fmt.Sprintf(launchOf, 639, ts+105, 10*step), fmt.Sprintf(ranOf, ts+105, 100.0, 10*step), fmt.Sprintf(nodeOf, ts+100),
			strings.Replace(fmt.Sprintf(nodeOf, ts+110), `"dur": 9`, `"dur": 20`, 1), fmt.Sprintf(gradOf, ts+112, 40000),
			fmt.Sprintf(launchOf, 639, ts+120, 10*step+1), fmt.Sprintf(ranOf, ts+205, 30.0, 10*step+1), // the division
			fmt.Sprintf(launchOf, 639, ts+135, 10*step+2), fmt.Sprintf(ranOf, ts+235, 7.0, 10*step+2), // the optimizer
			fmt.Sprintf(callOf, ts+125, step, "allreduce", 40000, 40000, step),
			fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic", "ts": %g, "dur": 300, "args": {"External id": %d, "Collective name": "allreduce"}}`, ts+242, step), fmt.Sprintf(callOf, ts+300, 10+step, "broadcast", 8, 8, step))
	}
	j := read(t, "rank0.json", kinetoOf(0, 2, events...)).Job()
	require.NotNil(t, j)
	require.InDeltaSlice(t, []float64{130e-6}, j.Ready, 1e-9)
	require.InDelta(t, 900e-6-130e-6-307e-6, j.Outside, 1e-9)
}

// Without kernels it is the host that computes.
func TestGradientsOfAHost(t *testing.T) {
	require.InDeltaSlice(t, []float64{53e-6, 51e-6, 21e-6}, made(t, false), 1e-9)
}

// Kernels without their launches tell nothing, and the host's times are not taken for the device's.
func TestGradientsWithoutLaunches(t *testing.T) {
	got := read(t, "rank0.json", kinetoOf(0, 2, fmt.Sprintf(nodeOf, 0.0), fmt.Sprintf(gradOf, 5.0, 100), fmt.Sprintf(ranOf, 9.0, 2.0, 7)))
	require.Len(t, got.Ranks[0].Gradients, 1)
	require.Nil(t, got.Ranks[0].Gradients[0].Made)
}

// The published trace of 8 × MI300X: the first kernel of autograd's thread in a step begins at
// 3743411255183.5 µs, the last one before the last gradient ends 5.29 ms later; the host takes 8.5 ms.
func TestDataBackward(t *testing.T) {
	j := published(t, "traces/kineto/mi300x_8gpu_ddp_resnet_rank0.json.gz").Job()
	require.Equal(t, 8, j.Ranks)
	require.Len(t, j.Ready, 62)
	require.InDelta(t, 5.291e-3, j.Ready[0], 5e-6)
	require.IsNonIncreasing(t, j.Ready)
	var all int64
	for _, n := range j.Elements {
		all += n
	}
	require.Equal(t, int64(2873320+8816192), all, "the two buckets")
}

// An execution trace has the tensors and no times; a trace without shapes the buckets alone.
func TestDataJobsWithoutTimes(t *testing.T) {
	j := published(t, "traces/et/resnet50_ddp_2gpu_et_1.1.0.json.gz").Job()
	require.True(t, j.Tensors)
	require.Len(t, j.Elements, 161)
	require.Nil(t, j.Ready)
	tr := &trace.Trace{Groups: []trace.Group{{Name: "dp", Size: 4}}, Ranks: []*trace.Rank{{}}}
	for range 3 {
		for _, n := range []int64{4 << 20, 8 << 20} {
			tr.Ranks[0].Calls = append(tr.Ranks[0].Calls, trace.Call{Collective: "reduce_scatter", Dtype: "float", Bytes: n})
		}
	}
	j = tr.Job()
	require.False(t, j.Tensors)
	require.Equal(t, []int64{2 << 20, 1 << 20}, j.Elements, "the first reduced is the last of the forward pass")
	require.Equal(t, 4, j.Ranks)
	require.Nil(t, (&trace.Trace{}).Job())
}
