package native_test

import (
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
)

func machine(t *testing.T, nodes int) []byte {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: nodes, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Seed: 1})
	require.NoError(t, err)
	return m.Text()
}

func openLoopback(t *testing.T) *native.Provider {
	t.Helper()
	p, err := native.Open(native.Choice{Backend: "loopback", Machine: machine(t, 1)})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// The closed form stands twice, in Go and in C: equal to the last bit.
func TestModelIsTheSameInGoAndC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(lo, hi float64) float64 { return lo * math.Exp(r.Float64()*math.Log(hi/lo)) }
	for range 100_000 {
		c := fabric.Curve{B: draw(1e9, 1e12), A: draw(1e-7, 1e-2), R: draw(1e-7, 1e-1), Floor: draw(1e-7, 1e-3), K: draw(0.01, 2)}
		bytes := draw(1, 1e12)
		require.Equal(t, c.Time(bytes), native.Model(c.B, c.A, c.R, c.Floor, c.K, bytes), "%+v at %g", c, bytes)
	}
}

// Every row of the tables above the C is known below it, and the other way round.
func TestTablesAgree(t *testing.T) {
	require.ElementsMatch(t, collective.Names(), native.Collectives())
	p := openLoopback(t)
	for _, s := range native.Symbols() {
		require.True(t, p.Has(s), "the loopback lacks %s", s)
	}
	require.False(t, p.Has("ncclWhatever"))
}

func TestLoopbackIsOneAtATime(t *testing.T) {
	p := openLoopback(t)
	_, err := native.Open(native.Choice{Backend: "loopback", Machine: machine(t, 1)})
	require.ErrorContains(t, err, "already open")
	n, err := p.Devices()
	require.NoError(t, err)
	require.Equal(t, 8, n)
	p.Close()
	p.Close()
	p, err = native.Open(native.Choice{Backend: "loopback", Machine: machine(t, 2)})
	require.NoError(t, err)
	p.Close()
}

// A cancellation that comes when the batch is gone must not touch its memory.
func TestCancelAfterClose(t *testing.T) {
	p := openLoopback(t)
	b := p.NewBatch(1)
	b.Close()
	b.Cancel()
}

func TestErrorsSayWhatAndWhere(t *testing.T) {
	p := openLoopback(t)
	_, err := p.Alloc(3, 1<<40)
	var call *native.CallError
	require.ErrorAs(t, err, &call)
	require.Equal(t, 3, call.Device)
	require.ErrorContains(t, err, "allocate 1099511627776 bytes on device 3: out of memory (code 2)")
	_, err = native.Open(native.Choice{Backend: "loopback", Machine: []byte("nonsense")})
	require.Error(t, err)
	_, err = native.Open(native.Choice{Backend: "metal"})
	require.ErrorContains(t, err, "valid are loopback, rocm, cuda")
}

// The fake held to the real libraries' rules, in C, under the sanitizers.
func TestToolchainFakeInC(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program, kernels := filepath.Join(t.TempDir(), "fake_test"), filepath.Join(t.TempDir(), "kernels.o")
	sanitize := []string{"-g", "-O0", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	// The kernels' own memory is for `make check-memory`; sanitized they take 20 s to compile.
	compileKernels(t, kernels)
	compile(t, append(sanitize, "-o", program, "testdata/fake_test.c", kernels, "-ldl", "-lm")...)
	runs(t, program)
}

// compileKernels leaves the kernels for the host in an object file.
func compileKernels(t testing.TB, object string) {
	t.Helper()
	native.Compile(t, "", "c++", "-O0", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-c", "unity.cc", "-o", object)
}

func compile(t testing.TB, args ...string) {
	t.Helper()
	native.Compile(t, "", "cc", append([]string{"-std=c11", "-D_GNU_SOURCE"}, args...)...)
}

// runs runs a program that a test built.
func runs(t testing.TB, program string, args ...string) {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
}

// compileVendor makes a library as far as dlopen sees it: -DCOLLECTIVES or -DRUNTIME.
func compileVendor(t testing.TB, path string, args ...string) {
	t.Helper()
	compile(t, append([]string{"-shared", "-fPIC", "-o", path, "../../testdata/libraries/vendor.c"}, args...)...)
}
