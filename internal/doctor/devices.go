package doctor

import (
	"path"
	"strings"

	"zbench/bench/base/unit"
	"zbench/internal/linux"
)

// amdDevices reads the GPUs from the Linux kernel, which shows them without HIP.
func (m Machine) amdDevices() []Item {
	var found []Item
	if version := m.Read("sys/module/amdgpu/version"); version != "" {
		found = append(found, Item{Mark: Fact, Name: "driver amdgpu", Value: version})
	} else if m.Exists("sys/module/amdgpu") {
		found = append(found, Item{Mark: Fact, Name: "driver amdgpu", Value: "the kernel's own"})
	}
	for _, node := range m.Names("sys/class/kfd/kfd/topology/nodes", "*") {
		gpu, ok := linux.ParseKFD(m.Read(path.Join(node, "properties")))
		if !ok {
			continue // a CPU node
		}
		var memory int64
		for _, bank := range m.Names(path.Join(node, "mem_banks"), "*") {
			memory += int64(linux.KFDProperties(m.Read(path.Join(bank, "properties")))["size_in_bytes"])
		}
		value := gpu.Arch + " at " + gpu.PCI
		if name := m.Read(path.Join(node, "name")); name != "" {
			value = name + " " + value
		}
		if memory > 0 {
			value += ", " + unit.Bytes(memory)
		}
		found = append(found, Item{Mark: Fact, Name: "AMD GPU, node " + path.Base(node), Value: value})
	}
	return found
}

// nvidiaDevices reads the facts of NVIDIA's driver.
func (m Machine) nvidiaDevices() []Item {
	var found []Item
	first, _, _ := strings.Cut(m.Read("proc/driver/nvidia/version"), "\n")
	_, version, _ := strings.Cut(first, "Module")
	for field := range strings.FieldsSeq(version) { // the open module's line has "for x86_64" before the version
		if field[0] >= '0' && field[0] <= '9' {
			found = append(found, Item{Mark: Fact, Name: "driver nvidia", Value: field})
			break
		}
	}
	for _, gpu := range m.Names("proc/driver/nvidia/gpus", "*") {
		model := path.Base(gpu)
		for line := range strings.Lines(m.Read(path.Join(gpu, "information"))) {
			if name, ok := strings.CutPrefix(line, "Model:"); ok {
				model = strings.TrimSpace(name) + " at " + path.Base(gpu)
			}
		}
		found = append(found, Item{Mark: Fact, Name: "NVIDIA GPU", Value: model})
	}
	return found
}
