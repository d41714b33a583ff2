package rccl_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/rccl"
	"zbench/test/longtest"
)

// loopbackLibraries builds the loopback with the vendors' names.
func loopbackLibraries(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the loopback's shared libraries")
	}
	require.NoError(t, builtLoopback())
	return loopback
}

// loopback is a folder for the tests that build it; TestMain removes it.
var loopback string

var builtLoopback = sync.OnceValue(func() error {
	if out, err := exec.Command("../scripts/loopback.sh", loopback).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "loopback")
	if err != nil {
		panic(err)
	}
	loopback = dir
	for _, name := range []string{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} {
		_ = os.Unsetenv(name) // the host's own GPUs are no business of these tests
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// roots are the settings that name the installations in loopbackLibraries.
var roots = map[string]string{"rocm": "rocm-path", "cuda": "cuda-path"}

// openThrough opens the machine by dlopen, under a vendor's names.
func openThrough(t *testing.T, dir, backend string, m *fabric.Machine, change func(*rccl.Config)) (*rccl.Driver, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "machine")
	require.NoError(t, os.WriteFile(file, m.Text(), 0o600))
	t.Setenv("ZBENCH_LOOPBACK", file)
	cfg := rccl.Config{
		Native: native.Choice{Backend: backend, Named: map[string]string{roots[backend]: filepath.Join(dir, backend)}},
		Ranks:  m.Size(), VerifyBudget: budget, CacheBytes: cache, Seed: m.Seed,
	}
	if change != nil {
		change(&cfg)
	}
	return rccl.Open(cfg)
}

// The same driver on the same machine gives the same results to the last bit,
// whether the loopback is called directly or found by dlopen under HIP's and
// RCCL's or CUDA's and NCCL's names: libraries, devices, kernels compiled and
// loaded, communicators, verification, both timings.
func TestLongSameThroughDlopen(t *testing.T) {
	longtest.OnlyOrDetected(t)
	dir := loopbackLibraries(t)
	for _, gpus := range []int{1, 2} {
		w := spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}
		d, m := open(t, w, fabric.Conditions{Seed: 7}, nil)
		a := axes(t, w, collective.Names()...)
		a.MinBytes, a.MaxBytes, a.Factor = 1<<10, 1<<19, 8
		want := run(t, d, a.Cases(), plan.DefaultOptions())
		require.NoError(t, d.Close())
		for _, r := range want {
			require.Equal(t, record.OK, r.Status, "%s: %s", r.Key, r.Reason)
			require.Equal(t, record.VerifiedOK, r.Verified.State, r.Key)
		}
		for backend := range roots {
			d, err := openThrough(t, dir, backend, m, nil)
			require.NoError(t, err)
			require.True(t, d.Simulated(), "a model's times stay labelled, whatever the libraries are called")
			require.Equal(t, want, run(t, d, a.Cases(), plan.DefaultOptions()), "%s, %d GPUs", backend, gpus)
			require.NoError(t, d.Close())
		}
	}
}

// Several ranks on one GPU, as NCCL allows when it is told to; otherwise the
// error says how to tell it.
func TestSeveralRanksOnOneGPU(t *testing.T) {
	dir := loopbackLibraries(t)
	w := spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 4}
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(w, fabric.Conditions{})
	require.NoError(t, err)
	share := func(c *rccl.Config) { c.RanksPerDevice = 2 }
	_, err = openThrough(t, dir, "cuda", m, share)
	require.ErrorContains(t, err, "NCCL_MULTI_RANK_GPU_ENABLE=1")

	t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
	d, err := openThrough(t, dir, "cuda", m, share)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.Len(t, d.Devices(), 2)
	require.Equal(t, "0000:01:00.0", d.Devices()[1].PCI)
	a := axes(t, w, "all_reduce", "all_to_all")
	a.MaxBytes = 1 << 14
	for _, r := range run(t, d, a.Cases(), plan.DefaultOptions()) {
		require.Equal(t, record.OK, r.Status, r.Reason)
		require.Equal(t, record.VerifiedOK, r.Verified.State)
	}
}
