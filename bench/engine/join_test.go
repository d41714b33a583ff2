package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// nodes are kernels on the first of some nodes, each with two GPUs and two cases, and what all of them tell.
func nodes(n int) (*engine.Kernels, []engine.Hello) {
	k := &engine.Kernels{Facts: engine.Facts{KernelDriver: "amdgpu 6.10"}}
	for g := range 2 {
		k.Facts.Devices = append(k.Facts.Devices, record.Device{Index: g, Name: "MI300X", Kind: record.GPU})
	}
	for _, of := range []string{"a", "b"} {
		var keys []string
		for g := range 2 {
			k.Rows = append(k.Rows, record.Kernel{Case: record.Case{Key: record.KernelKey(of, g)}, Device: g})
			keys = append(keys, record.KernelKey(of, g))
		}
		k.Jobs = append(k.Jobs, plan.Job{Keys: keys})
	}
	var all []engine.Hello
	for i := range n {
		all = append(all, k.Hello("rocm", record.Tool{Name: "zbench"}, i, fmt.Sprint("gpu-", i), 100+i))
	}
	return k, all
}

// The rows and devices of all nodes are one run, case by case; a pass is that of all, or of none.
func TestKernelsOfSeveralNodes(t *testing.T) {
	k, all := nodes(3)
	var failure error
	cut := false
	require.NoError(t, k.Join(all, func(job, pass int) ([][]record.Part, error) {
		require.Equal(t, []int{1, 1}, []int{job, pass})
		parts := make([][]record.Part, 3)
		for i := range parts {
			for g := range 2 {
				parts[i] = append(parts[i], record.Part{Key: record.KernelKey("b", g), Status: record.OK, Reason: fmt.Sprint(i, g)})
			}
		}
		if cut {
			parts[1] = nil
		}
		return parts, failure
	}))
	require.Len(t, k.Rows, 12)
	require.Equal(t, []string{"b@0", "b@1", "b@2", "b@3", "b@4", "b@5"}, k.Jobs[1].Keys)
	require.Equal(t, []string{"gpu-0", "gpu-1", "gpu-2"}, k.Facts.Hosts)
	require.Equal(t, "amdgpu 6.10", k.Facts.KernelDriver)
	rec := &record.Record{Kernels: k.Rows, World: record.World{Devices: k.Facts.Devices}}
	rec.World.GPUsPerNode = 2
	require.Equal(t, "b@3", rec.Kernels[9].Key)
	require.Equal(t, "GPU 1 of gpu-1", rec.GPU(&rec.Kernels[9]))

	parts, whole := k.Jobs[1].Take(context.Background(), 1)
	require.True(t, whole)
	for i, p := range parts {
		require.Equal(t, record.Part{Key: k.Jobs[1].Keys[i], Pass: 1, Status: record.OK, Reason: fmt.Sprint(i/2, i%2)}, p)
	}
	cut = true
	_, whole = k.Jobs[1].Take(context.Background(), 1)
	require.False(t, whole, "a process was stopped")
	cut, failure = false, fmt.Errorf("process 1: %w", context.Canceled)
	_, whole = k.Jobs[1].Take(context.Background(), 1)
	require.False(t, whole, "a stop that this process does not know yet")
	failure = errors.New("process 1 on gpu-1 was lost")
	parts, whole = k.Jobs[1].Take(context.Background(), 1)
	require.True(t, whole)
	require.Len(t, parts, 6)
	require.Equal(t, record.Part{Key: "b@5", Pass: 1, Status: record.Failed, Reason: "process 1 on gpu-1 was lost"}, parts[5])
}

// Nodes that do not measure the same are refused by name.
func TestKernelsOfUnequalNodes(t *testing.T) {
	for says, change := range map[string]func(h *engine.Hello){
		"process 101 on gpu-1 has 1 GPUs, process 100 on gpu-0 has 2":           func(h *engine.Hello) { h.Devices = h.Devices[:1] },
		"process 101 on gpu-1 plans other products than process 100 on gpu-0":   func(h *engine.Hello) { h.Rows = h.Rows[:3] },
		"process 101 on gpu-1 has another backend than process 100 on gpu-0":    func(h *engine.Hello) { h.Backend = "cuda" },
		"process 101 on gpu-1 has another kind of times (simulated) than proce": func(h *engine.Hello) { h.Simulated = true },
	} {
		k, all := nodes(2)
		change(&all[1])
		require.ErrorContains(t, k.Join(all, nil), says)
	}
}

// Hosts of one name, as containers have, are told apart by their number.
func TestNodesOfOneName(t *testing.T) {
	k, all := nodes(2)
	all[1].Host = all[0].Host
	require.NoError(t, k.Join(all, nil))
	require.Equal(t, []string{"node0", "node1"}, k.Facts.Hosts)
	require.Equal(t, "node1", k.Facts.Devices[3].Host)
}
