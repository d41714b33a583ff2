package formats

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// profileOf is a profile of a device with such events.
func profileOf(device string, events ...string) string {
	if device != "" {
		device = fmt.Sprintf(`{"id": 0, "name": %q}`, device)
	}
	return fmt.Sprintf(`{"schemaVersion": 1, "deviceProperties": [%s], "traceEvents": [%s]}`, device, strings.Join(events, ",\n"))
}

func operatorAt(tid int, ts, dur float64, id int, name, dims, types string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": %q, "pid": 9, "tid": %d, "ts": %g, "dur": %g, "args": {"External id": %d, "Input Dims": %s, "Input type": %s}}`, name, tid, ts, dur, id, dims, types)
}

func kernelAt(ts, dur float64, name, args string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %g, "dur": %g, "args": {"device": 0, "stream": 7%s}}`, name, ts, dur, args)
}

const two = `["float", "c10::BFloat16", "Scalar"]`

// linear is an operator of another that launches two kernels, the first by its launch's correlation, and a second call
// of half the time on another thread.
var linear = []string{
	operatorAt(1, 100, 50, 10, "aten::linear", `[[8, 32, 64], [16, 64], []]`, two),
	operatorAt(1, 110, 30, 11, "aten::mm", `[[256, 64], [64, 16], []]`, two),
	operatorAt(1, 145, 3, 12, "aten::view", `[[256, 16], []]`, `["float", "ScalarList"]`),
	operatorAt(2, 100, 50, 20, "aten::mm", `[[256, 64], [64, 16], []]`, two),
	fmt.Sprintf(launchOf, 1, 120.0, 501), fmt.Sprintf(launchOf, 1, 130.0, 502), fmt.Sprintf(launchOf, 2, 120.0, 503),
	kernelAt(900, 300, "gemm", `, "correlation": 501, "External id": 3`), // ROCm's identifier is of its own
	kernelAt(1200, 100, "gemm_tail", `, "correlation": 502`),
	kernelAt(1300, 200, "gemm", `, "correlation": 503`),
}

func TestOperatorsTakeTheTimesOfTheirKernels(t *testing.T) {
	events := slices.Concat(linear, []string{
		// A copy that another one makes is the outer one's; it has no launch, and its operator's identifier tells.
		operatorAt(1, 200, 50, 30, "aten::copy_", `[[4], [4], []]`, two), operatorAt(1, 210, 30, 31, "aten::copy_", `[[4], [4], []]`, two),
		strings.Replace(kernelAt(1500, 40, "Memcpy DtoD", `, "External id": 31`), `"kernel"`, `"gpu_memcpy"`, 1),
		// A list, beside a number of Python's, which is a tensor without dimensions.
		operatorAt(1, 300, 20, 40, "aten::_foreach_add_", `[[[8, 8], [8]], [], []]`, `["TensorList", "double", "Scalar"]`),
		fmt.Sprintf(launchOf, 1, 305.0, 600), kernelAt(1600, 7, "multi_tensor", `, "correlation": 600`),
		// What communicates, what nobody launched, and a call on the host.
		operatorAt(1, 400, 50, 50, "c10d::allreduce_", `[[[64]], []]`, `["TensorList", ""]`),
		fmt.Sprintf(launchOf, 1, 410.0, 700), kernelAt(2000, 5000, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", `, "correlation": 700`),
		kernelAt(2100, 46, "replayed", ""),
		operatorAt(3, 100, 50, 60, "aten::mm", `[[256, 64], [64, 16], []]`, two),
	})
	got, err := ReadOperators("p.json", strings.NewReader(profileOf("MI300X", events...)))
	require.NoError(t, err)
	require.Equal(t, "MI300X", got.Device)
	require.InDeltaMapValues(t, map[string]float64{
		"aten::linear float[8,32,64] bfloat16[16,64]": 400e-6,
		"aten::mm float[256,64] bfloat16[64,16]":      300e-6, // the mean of 400 and 200
		"aten::copy_ float[4] bfloat16[4]":            40e-6,
		"aten::_foreach_add_ TensorList[[8,8],[8]]":   7e-6,
	}, got.Seconds, 1e-12)
	require.InDelta(t, 693e-6, got.Computing, 1e-12)
	require.InDelta(t, 647e-6, got.Known, 1e-12)
}

// Without kernels the operators' own times on the host count, unless a GPU did the work.
func TestOperatorsOfAHost(t *testing.T) {
	onHost := linear[:4]
	got, err := ReadOperators("p.json", strings.NewReader(profileOf("", onHost...)))
	require.NoError(t, err)
	require.Zero(t, got.Computing)
	require.InDelta(t, 40e-6, got.Seconds["aten::mm float[256,64] bfloat16[64,16]"], 1e-12, "the mean of 30 and 50")

	for _, text := range []string{profileOf("MI300X", onHost...), profileOf("", linear[:5]...)} {
		_, err = ReadOperators("p.json", strings.NewReader(text))
		require.ErrorIs(t, err, ErrNoKernels)
	}
	_, err = ReadOperators("p.json", strings.NewReader(profileOf("MI300X", linear[4:]...)))
	require.ErrorIs(t, err, ErrNoShapes)
	_, err = ReadOperators("p.log", strings.NewReader("step 1"))
	require.ErrorIs(t, err, ErrUnknown)
}

// An operator of published profiles takes the time that the kernels with its calls' identifiers come to. The launches of the
// first profile's first 757 kernels are not in it.
func TestDataOperators(t *testing.T) {
	for name, c := range map[string]struct {
		device, operator string
		seconds, share   float64
	}{
		"traces/kineto/mi300x_8gpu_ddp_resnet_rank0.json.gz": {"AMD Instinct MI300X", "aten::native_batch_norm_backward bfloat16[10,64,112,112] bfloat16[10,64,112,112] bfloat16[64] bfloat16[64] bfloat16[64] float[64] float[64]", 399.210e-6, 0.7},
		"traces/kineto/b200_8gpu_eager.json.gz":              {"NVIDIA B200", "vllm::moe_forward bfloat16[888,3072] bfloat16[888,128]", 168.845e-6, 0.99},
	} {
		got, err := ReadOperators(filepath.Base(name), open(t, name))
		require.NoError(t, err)
		require.Equal(t, c.device, got.Device)
		require.InDelta(t, c.seconds, got.Seconds[c.operator], 1e-8)
		require.Greater(t, got.Known, c.share*got.Computing)
	}
}
