package topo

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
)

// stackFiles are properties whose value is one line of a file.
var stackFiles = []struct{ name, file string }{
	{"kernel", "proc/sys/kernel/osrelease"},
	{"amdgpu", "sys/module/amdgpu/version"},
	{"ROCm", "opt/rocm/.info/version"},
	{"NUMA balancing", "proc/sys/kernel/numa_balancing"},
	{"kernel command line", "proc/cmdline"},
	{"BIOS", "sys/class/dmi/id/bios_version"},
	{"board", "sys/class/dmi/id/board_name"},
}

// modules are the drivers of NICs. A driver has a version of its own if it is not part of the
// kernel.
var modules = []string{"ionic", "ionic_rdma", "mlx5_core", "bnxt_en", "bnxt_re"}

// variables matches the environment variables that affect RCCL and HIP. No other variable is read.
var variables = pattern.New(`^(NCCL|RCCL|HSA|HIP|ROCR|IONIC|NET_OPTIONAL|UCX|GPU_MAX_HW_QUEUES|SLURM_TOPOLOGY_ADDR)(_[A-Z0-9_]+)?$`)

// perBoot matches kernel parameters that name a disk or an image, and so differ between nodes.
var perBoot = pattern.New(`^(BOOT_IMAGE|initrd|root|rootflags|resume|ip|BOOTIF|hostname)=`)

// stackOf returns facts about a node's software that should be equal on all nodes.
func stackOf(fsys fs.FS, n *Node, environ []string) []Fact {
	var all []Fact
	add := func(name, value string) {
		if value != "" {
			all = append(all, Fact{name, shortened(value)})
		}
	}
	for _, s := range stackFiles {
		value := text(fsys, s.file)
		if s.name == "kernel command line" {
			value = strings.Join(slices.DeleteFunc(strings.Fields(value), perBoot.MatchString), " ")
		}
		add(s.name, value)
	}
	for _, module := range modules {
		add("module "+module, text(fsys, "sys/module/"+module+"/version"))
	}
	add("GPUs", counted(n.GPUs, func(g GPU) string {
		return strings.TrimSpace(g.Name + " " + strings.Join([]string{g.Compute, g.Memory}, " "))
	}))
	add("NICs", counted(n.physical(), func(c NIC) string {
		return strings.TrimSpace(c.Driver + " " + spelled(c.Negotiated, gigabits))
	}))
	add("NIC firmware", counted(n.physical(), func(c NIC) string { return c.Firmware }))
	for _, v := range slices.Sorted(slices.Values(environ)) {
		if name, value, ok := strings.Cut(v, "="); ok && variables.MatchString(name) {
			add("env "+name, value)
		}
	}
	return all
}

// counted() returns the number of each value, such as "8 × MI300X SPX".
func counted[T any](all []T, value func(T) string) string {
	counts := map[string]int{}
	for _, one := range all {
		if v := value(one); v != "" {
			counts[v]++
		}
	}
	return strings.Join(slice.Map(sortedKeys(counts), func(v string) string { return fmt.Sprintf("%d × %s", counts[v], v) }), ", ")
}
