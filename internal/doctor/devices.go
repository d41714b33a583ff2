package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"zbench/bench/unit"
)

// amdDevices reads the GPUs from the kernel, so that they are seen without HIP.
func (m Machine) amdDevices() []Finding {
	var found []Finding
	if version := m.read("sys/module/amdgpu/version"); version != "" {
		found = append(found, Finding{Mark: Fact, Name: "driver amdgpu", Value: version})
	} else if m.exists("sys/module/amdgpu") {
		found = append(found, Finding{Mark: Fact, Name: "driver amdgpu", Value: "the kernel's own"})
	}
	for _, node := range m.names("sys/class/kfd/kfd/topology/nodes", "*") {
		gpu, ok := parseKFD(m.read(path.Join(node, "properties")))
		if !ok {
			continue // a CPU
		}
		var memory int64
		for _, bank := range m.names(path.Join(node, "mem_banks"), "*") {
			memory += kfdProperties(m.read(path.Join(bank, "properties")))["size_in_bytes"]
		}
		value := gpu.arch + " at " + gpu.pci
		if name := m.read(path.Join(node, "name")); name != "" {
			value = name + " " + value
		}
		if memory > 0 {
			value += ", " + unit.Bytes(memory)
		}
		found = append(found, Finding{Mark: Fact, Name: "AMD GPU, node " + path.Base(node), Value: value})
	}
	return found
}

// kfdGPU is a GPU in the kernel's compute topology.
type kfdGPU struct{ arch, pci string }

// kfdProperties reads lines of a name and a number.
func kfdProperties(text string) map[string]int64 {
	values := map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			values[fields[0]] = n
		}
	}
	return values
}

// parseKFD reads a node's properties: gfx_target_version is major·10000 +
// minor·100 + stepping, location_id is bus, device and function of the PCI
// address. A CPU has no target version.
func parseKFD(text string) (kfdGPU, bool) {
	p := kfdProperties(text)
	version := p["gfx_target_version"]
	if version <= 0 {
		return kfdGPU{}, false
	}
	at := p["location_id"]
	return kfdGPU{
		arch: fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100),
		pci:  fmt.Sprintf("%04x:%02x:%02x.%x", p["domain"]&0xffffffff, at>>8&0xff, at>>3&0x1f, at&7),
	}, true
}

// nvidiaDevices reads what NVIDIA's driver tells.
func (m Machine) nvidiaDevices() []Finding {
	var found []Finding
	if first, _, _ := strings.Cut(m.read("proc/driver/nvidia/version"), "\n"); first != "" {
		_, version, _ := strings.Cut(first, "Module")
		if fields := strings.Fields(version); len(fields) > 0 {
			for _, field := range fields { // "for x86_64" stands before it where the module is open
				if field[0] >= '0' && field[0] <= '9' {
					found = append(found, Finding{Mark: Fact, Name: "driver nvidia", Value: field})
					break
				}
			}
		}
	}
	for _, gpu := range m.names("proc/driver/nvidia/gpus", "*") {
		model := path.Base(gpu)
		for line := range strings.Lines(m.read(path.Join(gpu, "information"))) {
			if name, ok := strings.CutPrefix(line, "Model:"); ok {
				model = strings.TrimSpace(name) + " at " + path.Base(gpu)
			}
		}
		found = append(found, Finding{Mark: Fact, Name: "NVIDIA GPU", Value: model})
	}
	return found
}
