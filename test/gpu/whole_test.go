package gpu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/muon"
	"zbench/test/longtest"
)

// timedAt is a row that took so long, verified.
func timedAt(k record.Kernel, seconds float64) record.Kernel {
	k.Key = fmt.Sprintf("%s/%s/%dx%dx%d@0", k.Role, k.Kernel, k.Shape.Rows, k.Shape.Cols, k.Shape.Batch)
	k.Status, k.Verified.State = record.OK, record.VerifiedOK
	k.Timing = &record.KernelTiming{Launches: 1, Seconds: stat.Summarize([]float64{seconds, seconds, seconds}), Stop: stat.StopMaxTime}
	k.Moved, k.Metrics.Rate, k.Metrics.OfPeak = 4e9, new(4e9/seconds), new(4e9/seconds/4.8e12)
	return k
}

// recordOf is a record of a GPU that does not exist.
func recordOf(benchmark string, rows ...record.Kernel) *record.Record {
	return &record.Record{
		Schema: record.Schema, Spec: &spec.Spec{Schema: spec.Schema, Benchmark: benchmark, Kernels: &spec.Kernels{}}, Source: record.Source{Kind: record.Measured, Backend: "cuda"},
		World: record.World{Devices: []record.Device{{Name: "a GPU", Kind: record.GPU}}}, Kernels: rows,
	}
}

// records are what the stand-in leaves, by what it was asked for: figures of
// no GPU, chosen so that a ratio is easy to see.
func records(t *testing.T, slow float64) map[string][]byte {
	hbm, norm := recordOf(spec.HBM), recordOf("rmsnorm")
	for _, k := range []string{"read", "copy", "triad", "dot"} {
		hbm.Kernels = append(hbm.Kernels, timedAt(record.Kernel{Kernel: k, Dtype: "float64", Role: record.Preset}, 0.9e-3*slow))
	}
	for _, hidden := range []int64{2048, 4096, 8192} {
		row := func(role string, seconds float64) record.Kernel {
			return timedAt(record.Kernel{Kernel: "rmsnorm", Dtype: "bfloat16", Role: role, Shape: record.Shape{Rows: 32768, Cols: hidden}}, seconds)
		}
		fused, copied := row(record.Fused, 1e-3*slow), row(record.Copy, 0.95e-3)
		fused.Metrics.OfCopy = new(*fused.Metrics.Rate / *copied.Metrics.Rate)
		norm.Kernels = append(norm.Kernels, fused, copied)
	}
	all := map[string]*record.Record{"hbm": hbm, "rmsnorm": norm}
	for name, shapes := range map[string][]string{
		"4096x4096": {"4096x4096", "8192x8192"}, "2048x2048x16": {"2048x2048x16"}, "1024x2048x208": {"1024x2048x208"},
	} {
		all[name] = recordOf(spec.Muon, muonRowsOf(t, shapes, slow)...)
	}
	gemm := recordOf(spec.Gemm)
	for _, side := range []int64{4096, 8192} {
		k := timedAt(record.Kernel{Kernel: "gemm", Dtype: "bfloat16", Role: record.Torch, Shape: record.Shape{Rows: side, Cols: side, Depth: side}}, 1e-3*slow)
		k.Timing.Conditions = []record.Conditions{{Clock: 1.5e9}}
		gemm.Kernels = append(gemm.Kernels, k)
	}
	all["gemm"] = gemm
	for i := range hbm.Kernels {
		hbm.Kernels[i].Timing.Conditions = []record.Conditions{{Clock: 1.97e9}}
	}
	out := map[string][]byte{}
	for name, rec := range all {
		var b bytes.Buffer
		require.NoError(t, rec.WriteJSON(&b))
		out[name] = b.Bytes()
	}
	return out
}

func muonRowsOf(t *testing.T, shapes []string, slow float64) []record.Kernel {
	var rows []record.Kernel
	for _, text := range shapes {
		s, err := muon.ParseShape(text)
		require.NoError(t, err)
		half, two := new(0.5/slow), new(2/slow)
		for _, k := range []record.Kernel{
			{Kernel: muon.Gram.String(), Role: record.Own, Metrics: record.Metrics{ToVendor: half, ToFull: two}},
			{Kernel: muon.Gram.String(), Role: record.Full, Metrics: record.Metrics{ToVendor: half}},
			{Kernel: "momentum, cast, norm", Role: record.Pass},
			{Kernel: muon.Iteration, Role: record.Sequence},
			{Kernel: muon.Iteration, Role: record.Vendor, Library: "a library"},
		} {
			k.Shape = record.Shape{Rows: int64(s.Rows), Cols: int64(s.Cols), Batch: int64(s.Batch), Measured: int64(s.Batch)}
			seconds := 1e-3 * slow
			if k.Library != "" {
				seconds *= 0.8
			}
			rows = append(rows, timedAt(k, seconds))
		}
	}
	return rows
}

// compare runs this test program as a user does, with stand-ins for zbench and
// for its peers, and returns its table and exit code.
func compare(t *testing.T, slow float64, env ...string) (string, int) {
	to, code, out := start(t, slow, env...)
	table, err := os.ReadFile(filepath.Join(to, "compare.md"))
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, string(table))
	t.Logf("%s", table)
	return string(table), code
}

// start is compare without its table.
func start(t *testing.T, slow float64, env ...string) (folder string, code int, printed string) {
	folder = t.TempDir()
	for name, text := range records(t, slow) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	// the record is that of the first argument there is one for
	ours := standIn(t, "zbench", `for a in "$@"; do
	[ "$last" = --out ] && to=$a
	[ -z "$from" ] && [ -f "`+folder+`/$a" ] && from=$a
	last=$a
done
[ "$1" != doctor ] || { echo "$DOCTOR"; exit 5; }
[ "$1 $2" != "$FAIL" ] || { echo "zbench: wrong data" >&2; exit ${FAILS-4}; }
mkdir -p "$to" && cp "`+folder+`/$from" "$to/results.json"
`)
	stream := standIn(t, "stream", `for k in Copy Triad Dot; do echo "$k,40,1,8,1,0.000900,1,1"; done`+"\n")
	python := standIn(t, "python", `shift
echo "with,torch of no GPU"
for c in "$@"; do
	case $c in
	norm:*) echo "figure,torch compiled,$c,0.001"; echo "figure,\"torch compiled, max-autotune\",$c,0.0012"; echo "figure,torch eager,$c,0.003"; echo "missing,Liger,$c,no module" ;;
	products:*) echo "figure,bmm,$c,0.001"; echo "figure,iteration,$c,0.0011" ;;
	product:*) echo "figure,mm,$c,0.002" ;;
	gemm:*) echo "figure,mm,$c,0.00099" ;;
	prepare:*) echo "figure,foreach,$c,0.002" ;;
	esac
done
`)
	c := exec.Command(os.Args[0], "-test.run", "^TestGPU(Memory|Norm|Products|NewtonSchulz|Prepare|Gemm)$", "-test.v") //nolint:gosec // this very program
	smi := standIn(t, "nvidia-smi", `echo "345, 75.1"
for i in 1 2 3; do echo "1980, 600.0"; done
echo "19"
exec sleep 60
`)
	c.Env = append([]string{"PATH=" + filepath.Dir(smi) + ":" + os.Getenv("PATH"), "TMPDIR=" + folder, "OUT=" + folder, "ZBENCH=" + ours, "BABELSTREAM=" + stream, "PYTHON=" + python, "ALTERNATIONS=3"}, env...)
	out, _ := c.CombinedOutput()
	return folder, c.ProcessState.ExitCode(), string(out)
}

// All rows are there, from the records that zbench writes; what is right passes.
func TestLongWhole(t *testing.T) {
	longtest.OnlyOrDetected(t)
	table, code := compare(t, 1)
	require.Equal(t, 0, code)
	for _, line := range []string{
		"a GPU, 0001-01-01\n\n", "torch of no GPU\n\n",
		"| memory, random | read float64, its median of the published peak | 900 µs, 2.386 TB/s |  | 0.926 (0.926 to 0.926), 3 of 3 turns | ≥ 0.9 | ok |",
		"| memory, zeros | dot float64, the fastest launch of both, theirs with launching and waiting | 900 µs, 4.772 TB/s | 900 µs, 4.772 TB/s | 1.000 (1.000 to 1.000), 3 of 3 turns | ≥ 0.98 | ok |",
		"| RMSNorm bf16 32768x8192 | of our copy's rate | 1000 µs, 2.147 TB/s |  | 0.900 (0.900 to 0.900), 3 of 3 turns | ≥ 0.9 | ok |",
		"| RMSNorm bf16 32768x2048 | torch compiled | 1000 µs, 0.5369 TB/s | 1000 µs, 0.5369 TB/s | 1.000 (1.000 to 1.000), 3 of 3 turns | ≥ 0.98, target 1 | ok |",
		"| RMSNorm bf16 32768x2048 | torch eager | 1000 µs, 0.5369 TB/s | 3000 µs, 0.179 TB/s | 3.000 (3.000 to 3.000), 3 of 3 turns |  | stated |",
		"| RMSNorm bf16 32768x2048 | Liger | 1000 µs, 0.5369 TB/s |  |  | ≥ 0.98, target 1 | NOT CHECKED: no module |",
		"| product bf16 8192x8192 | our full kernel to the vendor's | 1000 µs, 1100 TFLOP/s |  | 0.500 (0.500 to 0.500), 3 of 3 turns | ≥ 0.45 | ok |",
		"| product bf16 8192x8192 | symmetric to our full kernel | 1000 µs, 1100 TFLOP/s |  | 2.000 (2.000 to 2.000), 3 of 3 turns | ≥ 1.6 | ok |",
		"| product bf16 4096x4096 | symmetric to the vendor's | 1000 µs, 137.4 TFLOP/s |  | 0.500 (0.500 to 0.500), 3 of 3 turns | target 1 | ok, below the target |",
		"| product bf16 4096x4096 | torch mm | 1000 µs, 137.4 TFLOP/s | 2000 µs, 68.72 TFLOP/s | 2.000 (2.000 to 2.000), 3 of 3 turns | target 1 | ok |",
		"| Newton–Schulz, the better way 2048x2048x16 | torch bmm | 800 µs, 5154 TFLOP/s | 1000 µs, 4123 TFLOP/s | 1.250 (1.250 to 1.250), 3 of 3 turns | ≥ 1, target 1.3 | ok, below the target |",
		"| Newton–Schulz 2048x2048x16 | torch bmm | 1000 µs, 4123 TFLOP/s | 1000 µs, 4123 TFLOP/s | 1.000 (1.000 to 1.000), 3 of 3 turns |  | stated |",
		"| Newton–Schulz by the vendor's products 2048x2048x16 | torch bmm | 800 µs, 5154 TFLOP/s | 1000 µs, 4123 TFLOP/s | 1.250 (1.250 to 1.250), 3 of 3 turns |  | stated |",
		"| momentum, cast, norm of 208 tensors | of our copy's rate | 1000 µs, 6.107 TB/s |  | 0.900 (0.900 to 0.900), 3 of 3 turns | ≥ 0.85 | ok |",
		"| gemm bf16 8192x8192x8192 | torch mm | 1000 µs, 1100 TFLOP/s | 990 µs, 1111 TFLOP/s | 0.990 (0.990 to 0.990), 3 of 3 turns | within 2 % | ok |",
		"| clock | counted beside the driver's, while memory is read (1970 and 1980 MHz) |  |  | 0.995 (0.995 to 0.995), 3 of 3 turns | within 2 % | ok |",
		"| clock | counted beside the driver's, during the products (1500 and 1980 MHz) |  |  | 0.758 (0.758 to 0.758), 3 of 3 turns |  | stated |",
		"| momentum, cast, norm of 208 tensors | torch foreach | 1000 µs, 6.107 TB/s | 2000 µs, 3.053 TB/s | 2.000 (2.000 to 2.000), 3 of 3 turns | ≥ 1.5 | ok |",
	} {
		require.Contains(t, table, line)
	}
}

// What is too slow, fails or is not there says so, and the rest continues.
func TestWholeOfWhatFails(t *testing.T) {
	table, code := compare(t, 1.5, "BABELSTREAM=", "FAIL=kernels rmsnorm", "PYTHON=/nowhere/python")
	require.Equal(t, 1, code)
	for _, line := range []string{
		"| 0.617 (0.617 to 0.617), 3 of 3 turns | ≥ 0.9 | MISSED |",
		"NOT CHECKED: not here: BABELSTREAM names no program |",
		"| RMSNorm bf16 32768x2048 | torch compiled |  |  |  | ≥ 0.98, target 1 | MISSED: zbench: it failed: exit status 4: wrong data |",
		"| gemm bf16 8192x8192x8192 | torch mm | 1500 µs, 733 TFLOP/s |  |  | within 2 % | NOT CHECKED: not here: fork/exec /nowhere/python: no such file or directory |",
		"| our full kernel to the vendor's | 1500 µs, 91.63 TFLOP/s |  | 0.333 (0.333 to 0.333), 3 of 3 turns | ≥ 0.45 | MISSED |",
		"| torch bmm | 1200 µs, 3436 TFLOP/s |  |  | ≥ 1, target 1.3 | NOT CHECKED: not here: fork/exec /nowhere/python",
	} {
		require.Contains(t, table, line)
	}
	table, _ = compare(t, 1, "LIMIT=0")
	require.Contains(t, table, "zbench: the time was over (LIMIT)")
}

// Where no GPU answers there is nothing to compare, and a library that is missing is
// told apart from a GPU that is.
func TestWholeWithoutGPU(t *testing.T) {
	for want, libraries := range map[string]string{
		"nothing to compare on: no GPU: exit status 5: wrong data": `{"role": "collectives", "name": "libnccl.so"}, {"role": "runtime", "name": "libcudart.so", "path": "/x"}`,
		"nothing to compare on: a library is missing (libcudart.so, libnvrtc.so; zbench doctor says where it was looked for): exit status 5: wrong data": `{"role": "collectives", "name": "libnccl.so"}, {"role": "runtime", "name": "libcudart.so"},
			{"role": "driver", "name": "libcuda.so", "path": "/x"}, {"role": "compiler", "name": "libnvrtc.so"}`,
	} {
		folder, code, out := start(t, 1, "FAIL=hbm --dtype", "FAILS=5", `DOCTOR={"backends": [{"name": "cuda", "libraries": [`+libraries+`]}]}`)
		require.Equal(t, 5, code, out)
		require.Contains(t, out, want)
		require.NoFileExists(t, filepath.Join(folder, "compare.md"))
	}
	_, code, out := start(t, 1, "FAIL=hbm --dtype")
	require.Equal(t, 1, code, "other failures are those of a row: %s", out)
	require.Contains(t, out, "MISSED: zbench: it failed: exit status 4")
}

// A model's figures are no GPU's.
func TestSimulatedIsRefused(t *testing.T) {
	rec := recordOf(spec.HBM)
	rec.Source.Kind = record.Simulated
	require.ErrorContains(t, onGPU(rec), "not measured on a GPU")
	rec = recordOf(spec.HBM)
	rec.World.Devices[0].Kind = record.HostMemory
	require.ErrorContains(t, onGPU(rec), "not measured on a GPU")
}
