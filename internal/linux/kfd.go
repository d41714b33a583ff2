package linux

import (
	"fmt"
	"strconv"
	"strings"
)

// KFDGPU is a GPU in the kernel's compute topology.
type KFDGPU struct{ Arch, PCI string }

// KFDProperties reads lines of a name and a number. Numbers have 64 bits without a sign, because
// unique_id and hive_id use all bits.
func KFDProperties(text string) map[string]uint64 {
	values := map[string]uint64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
			values[fields[0]] = n
		}
	}
	return values
}

// KFDArch converts gfx_target_version (major·10000 + minor·100 + stepping) to the compilers'
// spelling, such as gfx942. It returns "" for a CPU, which has no version.
func KFDArch(version uint64) string {
	if version == 0 || version > 1<<31 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// ParseKFD reads the properties of a node of the topology. Its location_id holds bus, device and
// function of the PCI address. The result is false for a CPU.
func ParseKFD(text string) (KFDGPU, bool) {
	p := KFDProperties(text)
	arch := KFDArch(p["gfx_target_version"])
	if arch == "" {
		return KFDGPU{}, false
	}
	at := p["location_id"]
	return KFDGPU{
		Arch: arch,
		PCI:  fmt.Sprintf("%04x:%02x:%02x.%x", p["domain"]&0xffffffff, at>>8&0xff, at>>3&0x1f, at&7),
	}, true
}

// kfdNodes is the folder of the kernel's compute topology.
const kfdNodes = "sys/class/kfd/kfd/topology/nodes"

// Packages counts the GPUs of the compute topology by package. The partitions of one GPU are
// separate nodes with the same unique_id. A GPU without a unique_id is a package of its own.
func (t Tree) Packages() map[string]int {
	count := map[string]int{}
	for _, node := range t.Names(kfdNodes, "*") {
		text := t.Read(node + "/properties")
		gpu, ok := ParseKFD(text)
		if !ok {
			continue
		}
		id := gpu.PCI
		if unique := KFDProperties(text)["unique_id"]; unique != 0 {
			id = strconv.FormatUint(unique, 10)
		}
		count[id]++
	}
	return count
}

// Partitions counts amdgpu's GPUs by their compute and memory mode, such as "SPX/NPS1". A partition
// counts as a GPU.
func (t Tree) Partitions() map[string]int {
	modes := map[string]int{}
	for _, card := range t.Names("sys/class/drm", "card[0-9]*") {
		compute := t.Read(card + "/device/current_compute_partition")
		if compute == "" {
			continue // another vendor's GPU, an older GPU, or a display connector
		}
		if memory := t.Read(card + "/device/current_memory_partition"); memory != "" {
			compute += "/" + memory
		}
		modes[compute]++
	}
	return modes
}
