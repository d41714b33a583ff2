package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/engine"
	"zbench/bench/run/record"
)

// fourProcesses are two hosts with two processes of two GPUs each.
func fourProcesses(t *testing.T) []engine.Hello {
	t.Helper()
	var world []engine.Hello
	for i := range 4 {
		f := engine.Facts{
			Libraries:    []record.Library{{Name: "RCCL", Version: "2.22.3", Path: fmt.Sprint("/opt/", i)}},
			KernelDriver: "amdgpu 6.10", Memory: 192<<30 - int64(i),
		}
		for g := range 2 {
			f.Devices = append(f.Devices, record.Device{Index: g, Name: "MI300X", PCI: fmt.Sprintf("0000:%02x:00.0", 2*(i%2)+g)})
		}
		text, err := json.Marshal(engine.Hello{Facts: f, Backend: "rocm", Build: record.Tool{Name: "zbench", Version: "1"}, FirstRank: 2 * i, Ranks: 2, Host: fmt.Sprint("node", i/2), PID: 100 + i})
		require.NoError(t, err)
		var h engine.Hello
		require.NoError(t, json.Unmarshal(text, &h))
		world = append(world, h)
	}
	return world
}

// The facts of a world are those of all processes, in the order of the ranks.
func TestFactsOfAWorld(t *testing.T) {
	f, err := engine.Together(fourProcesses(t), 8, 0)
	require.NoError(t, err)
	require.Len(t, f.Devices, 8)
	require.Equal(t, "0000:03:00.0", f.Devices[7].PCI)
	require.Equal(t, []string{"node0", "node1"}, f.Hosts)
	require.Equal(t, int64(192<<30-3), f.Memory)
	require.Equal(t, "/opt/0", f.Libraries[0].Path)
}

// Processes that cannot run one sweep are refused by name.
func TestProcessesThatDoNotFit(t *testing.T) {
	for want, change := range map[string]func(w []engine.Hello){
		"process 102 on node1 has another build of zbench":                                   func(w []engine.Hello) { w[2].Build.Version = "2" },
		"process 101 on node0 has another backend than process 100 on node0: cuda, not rocm": func(w []engine.Hello) { w[1].Backend = "cuda" },
		"has another set of library versions":                                                func(w []engine.Hello) { w[3].Libraries[0].Version = "2.21" },
		"has another kind of times":                                                          func(w []engine.Hello) { w[3].Simulated = true },
		"process 103 on node1 holds 2 ranks from 4 on; rank 6 was expected next":             func(w []engine.Hello) { w[3].FirstRank = 4 },
		"process 102 on node1 and process 103 on node1 use the same GPU 0000:00:00.0":        func(w []engine.Hello) { w[3].Devices[0].PCI = w[2].Devices[0].PCI },
	} {
		world := fourProcesses(t)
		change(world)
		_, err := engine.Together(world, 8, 0)
		require.ErrorContains(t, err, want)
	}
	_, err := engine.Together(fourProcesses(t), 16, 0)
	require.ErrorContains(t, err, "8 ranks have registered, the world has 16")
	apart, clash := fourProcesses(t), fourProcesses(t)
	apart[3].Devices, apart[2].HostID, apart[3].HostID = apart[2].Devices, "a", "b"
	_, err = engine.Together(apart, 8, 0)
	require.NoError(t, err, "two hosts for the library")
	clash[0].HostID, clash[2].HostID = "a", "a"
	_, err = engine.Together(clash, 8, 0)
	require.ErrorContains(t, err, "process 100 on node0 and process 102 on node1 use the same GPU 0000:00:00.0 of one host, as NCCL_HOSTID=a says: give each host its own NCCL_HOSTID")
	clash = fourProcesses(t)
	clash[0].HostID, clash[1].HostID, clash[1].Devices = "a", "a", clash[0].Devices
	_, err = engine.Together(clash, 8, 0)
	require.ErrorContains(t, err, "of one host, as NCCL_HOSTID=a says: give each process its own GPU")
	shared := fourProcesses(t)
	shared[3].Devices = shared[2].Devices
	_, err = engine.Together(shared, 8, 2)
	require.NoError(t, err)
}
