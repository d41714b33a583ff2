package doctor

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/internal/linux"
	"zbench/internal/preflight"
	"zbench/test/mutate"
)

// tree makes a file system of names and texts; a name that ends in / is a folder.
func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		if folder, found := strings.CutSuffix(name, "/"); found {
			out[folder] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// instinct is a node with two MI300X and one that this user may not open.
func instinct() map[string]string {
	return map[string]string{
		"dev/kfd": "", "dev/dri/card0": "", "dev/dri/renderD128": "", "dev/dri/renderD129": "", "dev/shm/": "", "tmp/": "",
		"etc/os-release":                                            "NAME=x\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n",
		"etc/group":                                                 "root:x:0:\nvideo:x:44:\nrender:x:110:\nusers:x:100:\n",
		"proc/self/status":                                          "Name:\tzbench\nGid:\t100\t100\t100\t100\nGroups:\t44 100 4711 \n",
		"proc/sys/kernel/osrelease":                                 "6.8.0-45-generic\n",
		"proc/sys/kernel/numa_balancing":                            "1\n",
		"proc/cmdline":                                              "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet\n",
		"sys/class/iommu/ivhd0/":                                    "",
		"proc/self/limits":                                          "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         8388608              8388608              bytes     \nMax open files            1024                 524288               files     \n",
		"proc/sys/net/ipv4/ip_local_port_range":                     "32768\t60999\n",
		"dev/infiniband/uverbs0":                                    "",
		"sys/module/amdgpu/version":                                 "6.12.12\n",
		"sys/class/infiniband/ionic_0/ports/1/state":                "4: ACTIVE\n",
		"sys/class/infiniband/ionic_0/ports/1/rate":                 "400 Gb/sec (4X NDR)\n",
		"sys/class/infiniband/ionic_1/ports/1/state":                "1: DOWN\n",
		"sys/class/infiniband/ionic_1/ports/1/rate":                 "400 Gb/sec (4X NDR)\n",
		"sys/kernel/mm/transparent_hugepage/enabled":                "always madvise [never]\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":      "powersave\n",
		"sys/class/kfd/kfd/topology/nodes/0/properties":             "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n",
		"sys/class/kfd/kfd/topology/nodes/2/properties":             "simd_count 1216\ngfx_target_version 90402\nlocation_id 3072\ndomain 0\n",
		"sys/class/kfd/kfd/topology/nodes/2/name":                   "\n",
		"sys/class/kfd/kfd/topology/nodes/2/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 206141652992\n",
		"sys/class/kfd/kfd/topology/nodes/3/properties":             "gfx_target_version 90010\nlocation_id 49408\ndomain 1\n",
	}
}

func machine(files map[string]string, denied ...string) Machine {
	space := func(folder string) (preflight.Space, error) {
		if _, there := files[strings.TrimPrefix(folder, "/")+"/"]; !there {
			return preflight.Space{}, fs.ErrNotExist
		}
		return preflight.Space{Size: 64 << 20, Free: 64 << 20}, nil
	}
	return Machine{Tree: linux.Tree{FS: tree(files)}, Host: preflight.Host{Space: space}, Access: func(name string) error {
		if slices.Contains(denied, name) {
			return fs.ErrPermission
		}
		return nil
	}}
}

func find(t *testing.T, all []Item, name string) Item {
	t.Helper()
	for _, f := range all {
		if f.Name == name {
			return f
		}
	}
	require.Fail(t, "no finding", "%s among %+v", name, all)
	return Item{}
}

// Every setting that costs something is found, and each has a remedy.
func TestMachineInNeed(t *testing.T) {
	all := machine(instinct(), "/dev/dri/renderD129").Items()
	for name, want := range map[string]struct {
		mark          Mark
		value, remedy string
	}{
		"system":              {Fact, "Ubuntu 24.04.1 LTS, Linux 6.8.0-45-generic", ""},
		"/dev/kfd":            {Good, "can be read and written", ""},
		"/dev/dri/renderD*":   {Good, "1 of 2", ""},
		"/dev/dri/renderD129": {Bad, "permission denied: this user is in the groups users, video, 4711", "usermod -aG render,video"},
		"/dev/nvidia*":        {Fact, "not there", ""},
		"driver amdgpu":       {Fact, "6.12.12", ""},
		"AMD GPU, node 2":     {Fact, "gfx942 at 0000:0c:00.0, 192 GiB", ""},
		"AMD GPU, node 3":     {Fact, "gfx90a at 0001:c1:00.0", ""},
		"RDMA NICs":           {Warn, "1 at 400 Gb/sec; RCCL leaves out ionic_1:1 DOWN", "NCCL_IB_HCA"},
		"NUMA balancing":      {Warn, "on (1)", "sysctl kernel.numa_balancing=0"},
		"IOMMU":               {Warn, "iommu=pt is not", "add iommu=pt"},
		"locked memory":       {Bad, "8 MiB, the kernel's default", "ulimit -l unlimited"},
		"/dev/shm":            {Warn, "64 MiB free of 64 MiB", "--ipc=host"},
		"open files":          {Good, "1024", ""},
		"ports":               {Good, "28232 ports (32768 to 60999)", ""},
		"GPU partitions":      {Good, "2 x whole", ""},
		"CPU cores":           {Fact, "not checked", ""},
		"temporary files":     {Good, "/tmp", ""},
		"huge pages":          {Warn, "transparent: never", "echo madvise"},
		"CPU governor":        {Warn, "powersave", "frequency-set -g performance"},
	} {
		f := find(t, all, name)
		require.Equal(t, want.mark, f.Mark, name)
		require.Contains(t, f.Value, want.value, name)
		require.Contains(t, f.Remedy, want.remedy, name)
	}
	for _, f := range all {
		require.Equal(t, f.Mark == Bad || f.Mark == Warn, f.Remedy != "", "%+v", f)
	}
}

// The same machine as it should be: nothing is complained of.
func TestMachineWell(t *testing.T) {
	files := instinct()
	files["proc/sys/kernel/numa_balancing"] = "0\n"
	files["proc/cmdline"] += " iommu=pt"
	files["proc/self/limits"] = "Max locked memory         unlimited            unlimited            bytes\n"
	files["sys/class/infiniband/ionic_1/ports/1/state"] = "4: ACTIVE\n"
	files["sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never\n"
	files["sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] = "performance\n"
	m := machine(files)
	m.Host.Space = func(string) (preflight.Space, error) { return preflight.Space{Size: 64 << 30, Free: 64 << 30}, nil }
	for _, f := range m.Items() {
		require.Contains(t, []Mark{Good, Fact}, f.Mark, "%+v", f)
		require.Empty(t, f.Remedy, "%+v", f)
	}
}

// What is not there: in a container, without the driver, with NVIDIA's.
func TestMachineNodes(t *testing.T) {
	f := find(t, machine(map[string]string{"sys/module/amdgpu/version": "6.8"}).Items(), "/dev/kfd")
	require.Equal(t, Bad, f.Mark)
	require.Contains(t, f.Remedy, "--device /dev/kfd")
	f = find(t, machine(map[string]string{"dev/kfd": ""}).Items(), "/dev/dri/renderD*")
	require.Equal(t, Bad, f.Mark)
	f = find(t, machine(map[string]string{"dev/kfd": ""}, "/dev/kfd").Items(), "/dev/kfd")
	require.Equal(t, Bad, f.Mark)
	require.Contains(t, f.Value, "(none known)")
	f = find(t, machine(map[string]string{"dev/nvidiactl": ""}).Items(), "/dev/nvidiactl")
	require.Equal(t, Fact, f.Mark, "CUDA's library made it; there is no driver")
	f = find(t, machine(map[string]string{"dev/nvidiactl": "", "proc/driver/nvidia/version": "NVRM version: 570"}).Items(), "/dev/nvidia0")
	require.Contains(t, f.Remedy, "--gpus all")
	f = find(t, machine(nil).Items(), "/dev/shm")
	require.Equal(t, Bad, f.Mark)
	f = find(t, machine(nil).Items(), "temporary files")
	require.Equal(t, Bad, f.Mark)

	all := machine(map[string]string{
		"dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "",
		"proc/driver/nvidia/version":                       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\nGCC version: 12\n",
		"proc/driver/nvidia/gpus/0000:18:00.0/information": "Model: \t\t NVIDIA H200\nIRQ: 1\n",
	}, "/dev/nvidia1").Items()
	require.Equal(t, "570.86.15", find(t, all, "driver nvidia").Value)
	require.Equal(t, "NVIDIA H200 at 0000:18:00.0", find(t, all, "NVIDIA GPU").Value)
	require.Contains(t, find(t, all, "/dev/nvidia*").Value, "1 of 2")
	require.Contains(t, find(t, all, "/dev/nvidia1").Remedy, "cgroup")
}

// The kernel may say anything in its files.
func TestChangedKernelTexts(t *testing.T) {
	var seeds []string
	for _, text := range instinct() {
		seeds = append(seeds, text)
	}
	slices.Sort(seeds)
	mutate.Each(t, 1, 500, append(seeds, "Max locked memory -1 -1 bytes"), func(t *testing.T, text string) {
		files := instinct()
		for name := range files {
			if !strings.HasSuffix(name, "/") {
				files[name] = text
			}
		}
		for _, finding := range machine(files, "/dev/kfd").Items() {
			require.NotEmpty(t, finding.Name)
			require.NotEmpty(t, finding.Mark)
			if finding.Mark == Bad {
				require.NotEmpty(t, finding.Remedy)
			}
		}
	})
}
