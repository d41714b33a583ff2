package linux

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

func tree(files map[string]string) Tree {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Tree{FS: out}
}

func TestLimit(t *testing.T) {
	const text = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         8388608   unlimited  bytes     \nMax open files            1024                 524288               files     \nMax processes unlimited unlimited processes\n"
	for name, want := range map[string]int64{LockedMemory: 8 << 20, OpenFiles: 1024, "Max processes": -1} {
		n, found := Limit(text, name)
		require.True(t, found, name)
		require.Equal(t, want, n, name)
	}
	for _, bad := range []string{"", "Max open files", "Max open files x y", "Max open files -5 -5"} {
		_, found := Limit(bad, OpenFiles)
		require.False(t, found, bad)
	}
}

func TestCountCPUs(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-47,96-143": 96, "0,2,4": 3, "5-5": 1} {
		n, ok := CountCPUs(list)
		require.True(t, ok, list)
		require.Equal(t, want, n, list)
	}
	for _, list := range []string{"", "x", "3-1", "0-", "-1", "0,,1", "0-65535,0-65535", "1-99999999"} {
		_, ok := CountCPUs(list)
		require.False(t, ok, list)
	}
}

func TestProcessFacts(t *testing.T) {
	const status = "Name:\tz\nCapEff:\t0000000000004000\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"
	require.Equal(t, "0-7", StatusField(status, "Cpus_allowed_list"))
	require.Empty(t, StatusField(status, "None"))
	require.True(t, LocksFreely(StatusField(status, "CapEff")))
	require.True(t, LocksFreely("000001ffffffffff"))
	require.False(t, LocksFreely("0000000000000000"))
	require.False(t, LocksFreely("x"))
	cpus, limited := Quota("150000 100000\n")
	require.True(t, limited)
	require.Equal(t, 1.5, cpus)
	for _, text := range []string{"max 100000", "", "1", "0 1", "1 0", "-1 5", "a b"} {
		_, limited = Quota(text)
		require.False(t, limited, text)
	}
	r, ok := ParsePortRange("32768\t60999\n")
	require.True(t, ok)
	require.Equal(t, 28232, r.Count())
	for _, text := range []string{"", "1", "5 4", "0 9", "1 65536", "a b", "1 2 3", "-1 5"} {
		_, ok = ParsePortRange(text)
		require.False(t, ok, text)
	}
}

func TestRDMA(t *testing.T) {
	const port = "sys/class/infiniband/rocep68s0/ports/1/"
	made := tree(map[string]string{
		port + "state": "4: ACTIVE\n", port + "rate": "100 Gb/sec (2X EDR)\n", port + "link_layer": "Ethernet\n",
		port + "gids/0": "fe80:0000:0000:0000:0690:81ff:fe2c:4f90\n", port + "gid_attrs/types/0": "IB/RoCE v1\n",
		port + "gids/10": "0000:0000:0000:0000:0000:ffff:0a00:0001\n", port + "gid_attrs/types/10": "RoCE v2\n",
		port + "gids/2": "0000:0000:0000:0000:0000:0000:0000:0000\n", port + "gids/x": "nonsense\n",
		"sys/class/infiniband/mlx5_0/ports/a/state": "1: DOWN\n", "sys/class/infiniband/mlx5_0/ports/2/state": "1: DOWN\n",
	})
	all := made.RDMAPorts()
	require.Equal(t, []RDMAPort{{Device: "mlx5_0", Port: 2, State: "DOWN"}, {"rocep68s0", 1, "ACTIVE", "100 Gb/sec", "Ethernet"}}, all)
	require.Equal(t, "rocep68s0:1", all[1].Name())
	gids := made.GIDs(all[1])
	require.Len(t, gids, 3)
	require.Equal(t, []int{0, 2, 10}, []int{gids[0].Index, gids[1].Index, gids[2].Index})
	require.Equal(t, []int{1, 0, 2}, []int{gids[0].RoCE, gids[1].RoCE, gids[2].RoCE})
	require.Equal(t, "10.0.0.1", gids[2].Addr.Unmap().String())
	require.True(t, gids[0].Addr.IsLinkLocalUnicast())
	require.Empty(t, made.GIDs(all[0]))
}

// Partitions of one package share its unique_id, which does not fit 63 bits.
func TestPartitions(t *testing.T) {
	const nodes = "sys/class/kfd/kfd/topology/nodes/"
	gpu := func(location, id string) string {
		return "simd_count 152\ngfx_target_version 90402\nlocation_id " + location + "\ndomain 0\nunique_id " + id + "\n"
	}
	made := tree(map[string]string{
		nodes + "0/properties": "cpu_cores_count 96\ngfx_target_version 0\nunique_id 0\n",
		nodes + "1/properties": gpu("1280", "16404946649897475633"), nodes + "2/properties": gpu("1281", "16404946649897475633"),
		nodes + "3/properties": gpu("2560", "7"), nodes + "4/properties": gpu("3072", "0"), nodes + "5/properties": gpu("3328", "0"),
		"sys/class/drm/card0/device/current_compute_partition": "SPX\n", "sys/class/drm/card0/device/current_memory_partition": "NPS1\n",
		"sys/class/drm/card1/device/current_compute_partition": "CPX\n", "sys/class/drm/card2/device/vendor": "0x1a03\n",
	})
	require.Equal(t, map[string]int{"16404946649897475633": 2, "7": 1, "0000:0c:00.0": 1, "0000:0d:00.0": 1}, made.Packages())
	require.Equal(t, map[string]int{"SPX/NPS1": 1, "CPX": 1}, made.Partitions())
}

// A GPU's hwmon as amdgpu writes it: the average before what is momentary, the hottest sensor,
// the memory by itself. What is not there, or no number, is zero.
func TestSense(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"power1_average": "745000000", "power1_input": "800000000", "power1_cap": "750000000", "temp1_label": "edge", "temp1_input": "61000",
		"temp2_label": "junction", "temp2_input": "95000", "temp3_label": "mem", "temp3_input": "88000",
	} {
		tree["sys/bus/pci/devices/0000:c5:00.0/hwmon/hwmon7/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	s := Tree{FS: tree}
	require.Equal(t, record.Conditions{Power: 745, PowerLimit: 750, Temperature: 95, MemoryTemperature: 88}, s.Sense("0000:C5:00.0"))
	require.Equal(t, record.Conditions{}, s.Sense("0000:c6:00.0"))
	delete(tree, "sys/bus/pci/devices/0000:c5:00.0/hwmon/hwmon7/power1_average")
	tree["sys/bus/pci/devices/0000:c5:00.0/hwmon/hwmon7/temp2_input"] = &fstest.MapFile{Data: []byte("N/A\n")}
	require.Equal(t, record.Conditions{Power: 800, PowerLimit: 750, Temperature: 61, MemoryTemperature: 88}, s.Sense("0000:c5:00.0"))
}
