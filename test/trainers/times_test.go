package trainers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// product is a trainer whose step is a product of 32 × n with n × 64 and its gradient, of shards where it is told.
const product = `
import sys
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
model = torch.nn.Linear(int(sys.argv[1]), 64, bias=False)
if "shards" in sys.argv:
    from torch.distributed._composable.fsdp import fully_shard
    model = fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
for _ in range(4):
    model(torch.ones(32, int(sys.argv[1]))).relu().sum().backward()
    dist.barrier()
    optimizer.step()
    optimizer.zero_grad()
`

// profileOf is a profile of a GPU in which each of the operators launched a kernel of so many milliseconds.
func profileOf(t *testing.T, operators []string, ms float64) []byte {
	t.Helper()
	var events []any
	for i, o := range operators {
		var name string
		var args map[string]any
		require.NoError(t, json.Unmarshal([]byte(o), &[]any{&name, &args}))
		at := float64(100 * i)
		events = append(events,
			map[string]any{"ph": "X", "cat": "cpu_op", "name": name, "tid": 1, "ts": at, "dur": 90, "args": args},
			map[string]any{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "tid": 1, "ts": at + 10, "dur": 2, "args": map[string]any{"correlation": i}},
			map[string]any{"ph": "X", "cat": "kernel", "name": "k", "tid": 0, "ts": at + 1e6, "dur": 1e3 * ms, "args": map[string]any{"correlation": i}})
	}
	text, err := json.Marshal(map[string]any{"schemaVersion": 1, "deviceProperties": []any{map[string]any{"id": 0, "name": "MI300X"}}, "traceEvents": events})
	require.NoError(t, err)
	return text
}

// Operators take the times of a profile where it has their inputs, and those of the rates elsewhere.
func TestOperatorsTakeTheTimesOfAProfile(t *testing.T) {
	in := enter(t, "")
	at := filepath.Join(in.root, in.at)
	require.NoError(t, os.WriteFile(at+"/product.py", []byte(product), 0o644)) //nolint:gosec // Python reads it
	products := []string{
		`["aten::mm", {"Input Dims": [[32, 16], [16, 64]], "Input type": ["float", "float"]}]`,
		`["aten::mm", {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}]`,
	}
	for name, shape := range map[string]string{"gpu.json": "[64, 16]", "shards.json": "[8, 16]"} {
		optimizer := fmt.Sprintf(`["aten::_foreach_add_", {"Input Dims": [[%s], [%s], []], "Input type": ["TensorList", "TensorList", "Scalar"]}]`, shape, shape)
		require.NoError(t, os.WriteFile(filepath.Join(at, name), profileOf(t, append(products, optimizer), 7), 0o644)) //nolint:gosec // Python reads it
	}
	step := func(flags string, args ...string) (ms float64, out string) {
		cmd := in.zbench(flags, append([]string{"product.py"}, args...)...)
		require.NoError(t, cmd.Run(), "%s", cmd.Stdout)
		out = fmt.Sprint(cmd.Stdout)
		m := summary.FindStringSubmatch(out)
		require.NotNil(t, m, out)
		ms, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		return ms, out
	}
	times := "--times " + in.at + "/gpu.json"
	ms, out := step(times, "16")
	require.InDelta(t, 21, ms, 0.02, "%s", out)
	require.Contains(t, out, "operators in "+in.at+"/gpu.json as measured there on MI300X (100 % of its kernels' time)")
	require.Regexp(t, `Of \d+ operators a step 3 are in the profile, (100.0|99.9)% of the computation; the largest others: aten::`, out)

	ms, out = step("--times "+in.at+"/shards.json", "16", "shards")
	require.InDelta(t, 21, ms, 0.2, "an optimizer of shards has a rank's own of 8: %s", out)

	ms, out = step(times, "17")
	plain, _ := step("", "17")
	require.InDelta(t, plain, ms, 1e-9, "other shapes: the rates")
	require.Regexp(t, `operators a step 0 are in the profile, 0.0% of the computation; the largest others: aten::`, out)
}

// What PyTorch's own profiler writes of an example has the operators that the example runs here, by its names. On CPUs
// they take the host's times.
func TestOperatorsOfARealProfile(t *testing.T) {
	in := enter(t, "")
	at := filepath.Join(in.root, in.at)
	profiled := `
import runpy, sys
import torch.profiler as p
with p.profile(activities=[p.ProfilerActivity.CPU], record_shapes=True) as made:
    del sys.argv[0]
    runpy.run_path(sys.argv[0])
made.export_chrome_trace(sys.argv[0] + ".json")
`
	require.NoError(t, os.WriteFile(at+"/profiled.py", []byte(profiled), 0o644)) //nolint:gosec // Python reads it
	example := []string{"ddp", "2", "128", "25", "3"}
	run := in.python([]string{"BACKEND=gloo", "USE_LIBUV=0", "RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=0"},
		append([]string{"profiled.py", in.at + "/llama.py"}, example...)...)
	require.NoError(t, run.Run(), "%s", run.Stdout)
	for trainer, least := range map[string]float64{"ddp": 0.99, "fsdp": 0.8} { // whose optimizer has shards
		example[0] = trainer
		cmd := in.zbench("--times "+in.at+"/llama.py.json", append([]string{"llama.py"}, example...)...)
		require.NoError(t, cmd.Run(), "%s", cmd.Stdout)
		out := fmt.Sprint(cmd.Stdout)
		require.Contains(t, out, "as the host ran them there")
		m := regexp.MustCompile(`Of (\d+) operators a step (\d+) are in the profile`).FindStringSubmatch(out)
		require.NotNil(t, m, out)
		all, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		found, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		require.GreaterOrEqual(t, float64(found), least*float64(all), trainer)
	}
}
